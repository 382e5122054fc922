//! Runs a query against the index.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use contract::{text, time};
use embed::EmbedError;
use rank::{HybridSearch, RankedHit, SearchQuery, SearchRanking, SemanticScorer};

use super::Index;
use super::query_vectors::{PendingQueryVector, SemanticNeighbors};
use super::snippet;
use super::state::{DocumentBody, DocumentId, InMemoryIndex, IndexDocument, IndexSource, SourceId};
use crate::discover::{Discovery, DiscoveryKind};
use crate::sessions::SessionText;

/// Maximum search attempts, if chunks change between ranking and reading.
const MAX_ATTEMPTS: usize = 3;

/// A query with its filters.
pub(crate) struct ContextQuery<'a> {
    pub(crate) text: &'a str,
    /// If set, only discoveries of this kind are returned.
    pub(crate) kind: Option<DiscoveryKind>,
    pub(crate) module: Option<&'a str>,
    /// Principal of the caller; sessions of other principals are excluded.
    pub(crate) principal: &'a str,
    /// Session of the caller; its own session document is excluded.
    pub(crate) session: &'a str,
    pub(crate) limit: usize,
    /// Deadline for the vector of the query.
    pub(crate) until: Instant,
}

/// Hits of one query.
#[derive(Debug, Default)]
pub(crate) struct SearchHits {
    /// Hits, best first.
    pub(crate) found: Vec<SearchHit>,
    /// Number of matching documents, including those beyond the limit.
    pub(crate) total: usize,
}

/// A matching document, with the content to show.
#[derive(Debug)]
pub(crate) struct SearchHit {
    pub(crate) what: SearchHitContent,
    pub(crate) module: Option<String>,
    /// From 0 to 1.
    pub(crate) score: f32,
    pub(crate) why: Vec<String>,
}

/// Content of a hit.
#[derive(Debug)]
pub(crate) enum SearchHitContent {
    Code { path: Box<str>, lines: Range<u32>, text: String, date: String },
    Discovery(Discovery),
    Session(SessionText),
}

/// Reason why a query failed.
#[derive(Debug)]
pub(crate) enum SearchError {
    /// The query could not be embedded.
    NotEmbedded(Arc<EmbedError>),
    /// The caller cancelled the call.
    Cancelled,
}

impl Index {
    /// Runs a query. Chunks that changed since they were indexed are analyzed again, and the search is repeated.
    pub(crate) fn search(
        &self,
        context_query: &ContextQuery<'_>,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<SearchHits, SearchError> {
        let query = SearchQuery::new(context_query.text);
        let query_vector = self.request_query_vector(context_query.text);
        for attempt in 1.. {
            let (picked, total) =
                self.rank_documents(context_query, &query, query_vector.as_deref(), cancelled)?;
            let (found, stale) = self.read_snippets(picked, &query);
            if stale.is_empty() || attempt == MAX_ATTEMPTS {
                return Ok(SearchHits { found, total });
            }
            self.core.queue.enqueue_files(stale.into_iter().map(|id| (0, id)));
            self.sync.index_waiting_files(cancelled);
        }
        unreachable!("the last attempt returns")
    }

    /// Requests the vector of the query, if there are or will be document vectors to compare it with.
    fn request_query_vector(&self, text: &str) -> Option<Arc<PendingQueryVector>> {
        let embedder = self.query_embedder.as_ref()?;
        let has_vectors =
            self.core.state().vectors.as_ref().is_some_and(|vectors| !vectors.is_empty());
        (has_vectors || self.sync.is_ready()).then(|| embedder.request_vector(text))
    }

    /// Returns the best documents, copied so that they can be shown after the lock is released, and the number of
    /// matches.
    fn rank_documents(
        &self,
        context_query: &ContextQuery<'_>,
        query: &SearchQuery,
        query_vector: Option<&PendingQueryVector>,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<RankedDocument>, usize), SearchError> {
        loop {
            let state = self.core.state();
            let near = match (query_vector, &state.vectors) {
                (Some(query_vector), Some(vectors)) => {
                    Some(SemanticNeighbors { query_vector, vectors, late: Cell::new(false) })
                }
                _ => None,
            };
            let meaning = near.as_ref().map(|near| near as &dyn SemanticScorer);
            let search = HybridSearch { postings: &state.postings, meaning, corpus: &*state };
            let hidden = state.hidden_sessions(context_query.principal, context_query.session);
            let allowed = |number| {
                let id = DocumentId::from(number);
                hidden.binary_search(&id.source()).is_err()
                    && passes_filters(&state, context_query, id)
            };
            let ranking = search.run(query, &allowed, context_query.limit);
            if !near.as_ref().is_some_and(|near| near.late.get()) {
                self.prioritize_embedding(&state, &ranking);
                // Hits without a lexical or semantic reason only fill the list up to the limit.
                let hits = ranking.hits.into_iter().filter(|hit| !hit.why.is_empty());
                let picked = hits.filter_map(|hit| copy_ranked_document(&state, hit)).collect();
                drop(state);
                // The vector is available now, unless there were no vectors to compare it with.
                if let Some(query_vector) = query_vector {
                    let vector = wait_for_query_vector(query_vector, context_query, cancelled)?;
                    self.ensure_dimensions(vector.len());
                }
                return Ok((picked, ranking.total));
            }
            drop(state);
            let query_vector = query_vector.expect("only a requested vector can be late");
            wait_for_query_vector(query_vector, context_query, cancelled)?;
        }
    }

    /// Drops the document vectors if the length of the query's vector shows that the model has changed.
    fn ensure_dimensions(&self, dims: usize) {
        if let Some(embedding) = &self.embedding {
            embedding.ensure_dimensions(dims);
        }
    }

    /// Prioritizes embedding of the documents that the search returned.
    fn prioritize_embedding(&self, state: &InMemoryIndex, ranking: &SearchRanking) {
        let Some(embedding) = &self.embedding else { return };
        let ids = ranking.hits.iter().map(|hit| DocumentId::from(hit.id));
        embedding.prioritize_documents(ids.filter(|id| !state.has_vector(*id)));
    }

    /// Reads the snippets of the hits. Returns the hits, and the files whose content has changed.
    fn read_snippets(
        &self,
        picked: Vec<RankedDocument>,
        query: &SearchQuery,
    ) -> (Vec<SearchHit>, Vec<SourceId>) {
        let mut stale = Vec::new();
        let found = picked
            .into_iter()
            .filter_map(|RankedDocument { source, module, hit, content }| {
                let what = match content {
                    RankedContent::Chunk { path, bytes, lines, digest, date } => {
                        let Some(chunk) =
                            snippet::read_chunk(&self.core.tree, &path, &bytes, digest)
                        else {
                            stale.push(source);
                            return None;
                        };
                        let part = snippet::select_best_part(&chunk, query);
                        let lines = lines.start + part.lines.start..lines.start + part.lines.end;
                        SearchHitContent::Code {
                            path,
                            lines,
                            text: text::escape_hidden(&part.text),
                            date,
                        }
                    }
                    RankedContent::Discovery(discovery) => SearchHitContent::Discovery(discovery),
                    RankedContent::Session(session) => SearchHitContent::Session(session),
                };
                let why = hit.why.iter().map(ToString::to_string).collect();
                Some(SearchHit { what, module, score: hit.score, why })
            })
            .collect();
        (found, stale)
    }
}

/// Waits for the vector of the query until the query's deadline.
fn wait_for_query_vector(
    query_vector: &PendingQueryVector,
    context_query: &ContextQuery<'_>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Arc<[f32]>, SearchError> {
    let began = Instant::now();
    match query_vector.wait_until(&|| cancelled() || Instant::now() >= context_query.until) {
        Some(outcome) => outcome.map_err(SearchError::NotEmbedded),
        None if cancelled() => Err(SearchError::Cancelled),
        None => Err(SearchError::NotEmbedded(Arc::new(EmbedError::Timeout(began.elapsed())))),
    }
}

/// A ranked document, copied out of the state.
struct RankedDocument {
    source: SourceId,
    module: Option<String>,
    hit: RankedHit,
    content: RankedContent,
}

/// Content of a ranked document; the text of a chunk is read later.
enum RankedContent {
    Chunk { path: Box<str>, bytes: Range<u32>, lines: Range<u32>, digest: u64, date: String },
    Discovery(Discovery),
    Session(SessionText),
}

fn copy_ranked_document(state: &InMemoryIndex, hit: RankedHit) -> Option<RankedDocument> {
    let id = DocumentId::from(hit.id);
    let (source, document) = state.document(id)?;
    let module = document_module(source, document).map(str::to_owned);
    let content = match &document.body {
        DocumentBody::Chunk { bytes, lines, .. } => RankedContent::Chunk {
            path: source.path()?.into(),
            bytes: bytes.clone(),
            lines: lines.clone(),
            digest: document.digest,
            date: time::format_system_time(source.file()?.modified()),
        },
        DocumentBody::Discovery(discovery) => RankedContent::Discovery((**discovery).clone()),
        DocumentBody::Session(session) => RankedContent::Session((**session).clone()),
    };
    Some(RankedDocument { source: id.source(), module, hit, content })
}

/// Returns true if a document passes the filters of the query.
fn passes_filters(state: &InMemoryIndex, context_query: &ContextQuery<'_>, id: DocumentId) -> bool {
    if context_query.kind.is_none() && context_query.module.is_none() {
        return true;
    }
    let Some((source, document)) = state.document(id) else { return false };
    context_query.kind.is_none_or(|kind| document.kind() == Some(kind))
        && context_query.module.is_none_or(|wanted| {
            document_module(source, document)
                .is_some_and(|module| module.eq_ignore_ascii_case(wanted))
        })
}

/// Returns the module of a document. A discovery has its own module, or that of its file if it is about that file.
pub(super) fn document_module<'a>(
    source: &'a IndexSource,
    document: &'a IndexDocument,
) -> Option<&'a str> {
    match &document.body {
        DocumentBody::Discovery(discovery) => {
            let own = discovery.module.as_deref();
            own.or_else(|| source.module.as_deref().filter(|_| discovery.is_module_specific()))
        }
        DocumentBody::Chunk { .. } | DocumentBody::Session(_) => source.module.as_deref(),
    }
}

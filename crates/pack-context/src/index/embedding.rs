//! Computes document vectors in the background.
//!
//! Work is done in rounds. A round takes the documents that have no vector, the most useful first: discoveries and
//! sessions, documents that searches returned, recently used files, then sources before tests. It looks them up in the
//! cache, and embeds a few of them only if the cache has none. So a start, a vector computed by another process, and a
//! branch that is checked out again all take the same path. Stopping at any point loses at most one round.
//!
//! Of several processes on one cache, only the one that holds the lock file embeds; the others find its vectors.

mod active_calls;
mod process_lock;
mod queue;
mod rejected_texts;

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use embed::{EmbedError, Embedder};
use parking_lot::Mutex;
use rank::vectors::VectorIndex;
use sha2::{Digest, Sha256};

pub(crate) use self::active_calls::{ActiveCallGuard, ActiveCalls};
use self::process_lock::EmbeddingLock;
use self::rejected_texts::RejectedTexts;
use super::analysis::compute_embedding_key;
use super::cache::ContentKey;
use super::core::IndexCore;
use super::state::{DocumentBody, DocumentId};
use super::{embedding_text, roles, snippet};

/// Documents looked up in one round.
const LOOKUP_BATCH: usize = 2_048;
/// Documents embedded in one round: about a third of a second, during which a call may have to share the processor.
const EMBED_BATCH: usize = 12;
/// Vectors inserted while the state is locked once.
const INSERT_BATCH: usize = 256;

/// Embeds the documents of the index.
pub(crate) struct DocumentEmbedder {
    core: Arc<IndexCore>,
    embedder: Arc<dyn Embedder>,
    /// Key of the model in the cache.
    model: ContentKey,
    round: Mutex<EmbeddingRoundState>,
    preferred: Mutex<VecDeque<DocumentId>>,
    /// Incremented when `preferred` changes.
    preferences: AtomicU64,
    error: Mutex<Option<String>>,
    rejected: RejectedTexts,
    wanted: Mutex<EmbeddableCount>,
}

/// Number of documents that should have a vector, cached per generation of the state and number of rejected texts.
#[derive(Default)]
struct EmbeddableCount {
    generation: u64,
    rejected: usize,
    count: usize,
}

/// State carried from one round to the next. The thread that holds its lock runs the round.
#[derive(Default)]
struct EmbeddingRoundState {
    /// Texts that the cache does not have, as of `version`.
    absent: HashSet<ContentKey>,
    version: Option<i64>,
    /// Texts that cannot be read, as of `generation`.
    unread: HashSet<ContentKey>,
    generation: u64,
    /// Documents without a vector, the most useful first, as of `generation` and `preferences`.
    queue: Option<VecDeque<MissingVector>>,
    preferences: u64,
    /// True if the queue contained every document without a vector when it was filled.
    whole: bool,
    lock: EmbeddingLock,
}

/// Outcome of one embedding round.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EmbeddingRoundOutcome {
    /// Some documents got their vectors.
    Progressed,
    /// There is nothing to do.
    NothingToDo,
    /// Another process holds the embedding lock.
    LockedByOtherProcess,
    Failed,
}

/// A document without a vector.
struct MissingVector {
    id: DocumentId,
    key: ContentKey,
}

impl DocumentEmbedder {
    pub(crate) fn new(core: Arc<IndexCore>, embedder: Arc<dyn Embedder>) -> Arc<Self> {
        let mut model = ContentKey::default();
        model.copy_from_slice(&Sha256::digest(&embedder.model().hash)[..size_of::<ContentKey>()]);
        Arc::new(Self {
            core,
            embedder,
            model,
            round: Mutex::default(),
            preferred: Mutex::default(),
            preferences: AtomicU64::default(),
            error: Mutex::default(),
            rejected: RejectedTexts::default(),
            wanted: Mutex::default(),
        })
    }

    pub(crate) fn model(&self) -> &embed::EmbeddingModel {
        self.embedder.model()
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.embedder.is_remote()
    }

    /// Returns the error of the last attempt, if it failed.
    pub(crate) fn error(&self) -> Option<String> {
        self.error.lock().clone()
    }

    /// Runs one round. With `ignore_lock` it embeds even while another process does, because a caller waits for the
    /// result.
    pub(crate) fn run_round(&self, ignore_lock: bool) -> EmbeddingRoundOutcome {
        let mut round = self.round.lock();
        self.refill_queue(&mut round);
        let queue = round.queue.take().unwrap_or_default();
        let (outcome, queue) = self.process_queue(&mut round, queue, ignore_lock);
        round.queue = Some(queue);
        outcome
    }

    /// Loads cached vectors for all documents that have none. Embeds nothing.
    pub(crate) fn load_cached_vectors(&self, enough: &dyn Fn() -> bool) {
        // Uses its own state: locking `self.round` would wait for a running round.
        let mut round = EmbeddingRoundState::default();
        let missing = self.find_missing(&mut round, usize::MAX);
        for batch in missing.chunks(LOOKUP_BATCH) {
            if enough() {
                break;
            }
            self.insert_cached_vectors(&mut round, batch);
        }
    }

    /// Processes the front of the queue; returns the outcome and the rest of the queue.
    fn process_queue(
        &self,
        round: &mut EmbeddingRoundState,
        mut queue: VecDeque<MissingVector>,
        ignore_lock: bool,
    ) -> (EmbeddingRoundOutcome, VecDeque<MissingVector>) {
        if queue.is_empty() {
            round.lock.release();
            return (EmbeddingRoundOutcome::NothingToDo, queue);
        }
        if self.insert_cached_vectors(round, queue.make_contiguous()) {
            self.remove_embedded(&mut queue);
            return (EmbeddingRoundOutcome::Progressed, queue);
        }
        if !round.lock.try_acquire(&self.core.cache().lock_file()) && !ignore_lock {
            return (EmbeddingRoundOutcome::LockedByOtherProcess, queue);
        }
        let wanted: Vec<&MissingVector> = queue.iter().take(EMBED_BATCH).collect();
        let count = wanted.len();
        let outcome = self.embed_missing(round, &wanted);
        if outcome != EmbeddingRoundOutcome::Failed {
            queue.drain(..count);
        }
        (outcome, queue)
    }

    /// Embeds newly written documents immediately, because the next query may be about them.
    fn embed_documents(&self, documents: &[DocumentId]) {
        // Uses its own state: locking `self.round` would wait for a running round.
        let mut round = EmbeddingRoundState::default();
        let state = self.core.state();
        let missing: Vec<MissingVector> = documents
            .iter()
            .filter(|id| !state.has_vector(**id))
            .filter_map(|id| {
                Some(MissingVector { id: *id, key: state.document(*id)?.1.embedding_key })
            })
            .collect();
        drop(state);
        if !missing.is_empty() && !self.insert_cached_vectors(&mut round, &missing) {
            self.embed_missing(&mut round, &missing.iter().collect::<Vec<_>>());
        }
    }

    /// Embeds documents on a new thread, and waits for it up to `timeout`: a remote endpoint may be slow.
    pub(crate) fn embed_with_timeout(
        self: &Arc<Self>,
        documents: Vec<DocumentId>,
        timeout: Duration,
    ) {
        let (done, is_done) = mpsc::channel::<()>();
        let this = Arc::clone(self);
        let work = move || {
            this.embed_documents(&documents);
            drop(done);
        };
        if thread::Builder::new().name("vouch-written".into()).spawn(work).is_ok() {
            // The channel carries no message: the end of the work closes it.
            let _ = is_done.recv_timeout(timeout);
        }
    }

    /// Drops all vectors if they do not have this length. Such vectors came from another model under the same name,
    /// and cannot be compared with the new ones.
    pub(crate) fn ensure_dimensions(&self, dims: usize) {
        let fits = |vectors: &VectorIndex| vectors.dims() == dims;
        if self.core.state().vectors.as_ref().is_none_or(fits) {
            return;
        }
        self.core.state_mut().remove_all_vectors();
        self.core.cache().delete_vectors(&self.model);
        tracing::warn!(dims, "vector length changed; embedding all documents again");
    }

    /// Returns the number of documents that have a vector, and of those that should. Recounts only if documents
    /// changed.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let state = self.core.state();
        let mut wanted = self.wanted.lock();
        let (generation, rejected) = (state.generation, self.rejected.len());
        if (wanted.generation, wanted.rejected) != (generation, rejected) {
            let documents = state.documents().filter(|(_, source, document)| {
                (!document.is_chunk() || roles::is_embedded_role(source.role))
                    && !self.rejected.contains(&document.embedding_key)
            });
            *wanted = EmbeddableCount { generation, rejected, count: documents.count() };
        }
        let done = state.vectors.as_ref().map_or(0, VectorIndex::len);
        (done.min(wanted.count), wanted.count)
    }

    /// Inserts cached vectors; returns false if the cache has none of these.
    fn insert_cached_vectors(
        &self,
        round: &mut EmbeddingRoundState,
        missing: &[MissingVector],
    ) -> bool {
        let version = self.core.cache().data_version();
        if round.version != version {
            round.version = version;
            round.absent.clear();
        }
        let candidates: Vec<&MissingVector> =
            missing.iter().filter(|missing| !round.absent.contains(&missing.key)).collect();
        if candidates.is_empty() {
            return false;
        }
        let keys: Vec<ContentKey> = candidates.iter().map(|missing| missing.key).collect();
        let rows = self.core.cache().read_vectors(&self.model, &keys);
        let mut found = Vec::new();
        for (missing, row) in candidates.into_iter().zip(rows) {
            match row {
                Some(row) => found.push((missing.id, missing.key, row)),
                None => {
                    round.absent.insert(missing.key);
                }
            }
        }
        self.insert_vectors(found)
    }

    fn embed_missing(
        &self,
        round: &mut EmbeddingRoundState,
        wanted: &[&MissingVector],
    ) -> EmbeddingRoundOutcome {
        let texts = self.read_texts(round, wanted);
        if texts.is_empty() {
            return EmbeddingRoundOutcome::Progressed;
        }
        let rows = match self.rejected.embed_accepted(&*self.embedder, &texts) {
            Ok(rows) => rows,
            Err(error) => {
                self.record_error(Some(&error));
                return EmbeddingRoundOutcome::Failed;
            }
        };
        self.record_error(None);
        if let Some(dims) = rows.first().and_then(|(_, row)| VectorIndex::encoded_dims(row)) {
            self.ensure_dimensions(dims);
        }
        let new_rows: Vec<(ContentKey, Vec<u8>)> =
            rows.iter().map(|(missing, row)| (missing.key, row.clone())).collect();
        self.core.cache().add_vectors(&self.model, &new_rows);
        for (key, _) in &new_rows {
            round.absent.remove(key);
        }
        self.insert_vectors(
            rows.into_iter().map(|(missing, row)| (missing.id, missing.key, row)).collect(),
        );
        EmbeddingRoundOutcome::Progressed
    }

    /// Returns the embedding texts of these documents, without those that cannot be read.
    fn read_texts<'a>(
        &self,
        round: &mut EmbeddingRoundState,
        wanted: &[&'a MissingVector],
    ) -> Vec<(&'a MissingVector, String)> {
        wanted
            .iter()
            .filter_map(|missing| {
                let text = self
                    .read_text(missing.id)
                    .filter(|text| compute_embedding_key(text) == missing.key);
                if text.is_none() {
                    round.unread.insert(missing.key);
                }
                Some((*missing, text?))
            })
            .collect()
    }

    fn read_text(&self, id: DocumentId) -> Option<String> {
        let state = self.core.state();
        let (source, document) = state.document(id)?;
        let (path, bytes, name) = match &document.body {
            DocumentBody::Discovery(discovery) => {
                return Some(embedding_text::format_record(&discovery.searchable_text()));
            }
            DocumentBody::Session(session) => {
                return Some(embedding_text::format_record(&session.text));
            }
            DocumentBody::Chunk { bytes, names, .. } => {
                (source.path()?.to_owned(), bytes.clone(), names.lines().next().map(str::to_owned))
            }
        };
        let digest = document.digest;
        drop(state);
        let body = snippet::read_chunk(&self.core.tree, &path, &bytes, digest)?;
        Some(embedding_text::format_chunk(&path, name.as_deref(), &body))
    }

    /// Inserts the vectors of documents whose text is unchanged. Returns true if any was inserted.
    fn insert_vectors(&self, rows: Vec<(DocumentId, ContentKey, Vec<u8>)>) -> bool {
        let mut any = false;
        for batch in rows.chunks(INSERT_BATCH) {
            let mut state = self.core.state_mut();
            for (id, key, row) in batch {
                let is_current =
                    state.document(*id).is_some_and(|(_, document)| document.embedding_key == *key);
                any |= is_current && state.put_vector(*id, row);
            }
        }
        any
    }

    fn record_error(&self, error: Option<&EmbedError>) {
        let text = error.map(ToString::to_string);
        let mut last = self.error.lock();
        if *last != text {
            if let Some(text) = &text {
                tracing::warn!(error = text, "failed to embed documents; will retry");
            }
            *last = text;
        }
    }
}

//! The compared systems: words alone, meaning alone, the plain sum of both, and the ranking of the product.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use rank::vectors::VectorIndex;
use rank::{
    DocumentCorpus, DocumentFacts, DocumentRole, HybridSearch, PostingIndex, RankDocument,
    SearchQuery, SemanticScorer, TermBag,
};
use source::Language;

use super::collection::QueryCollection;
use super::measure;
use super::vectors::EmbeddingCache;

pub(crate) const SYSTEMS: [SearchSystem; 4] =
    [SearchSystem::Words, SearchSystem::Meaning, SearchSystem::Sum, SearchSystem::Vouchsafe];

/// Number of requested hits, the maximum of the tool; several hits of one document count once.
const HITS: usize = 20;

/// Number of candidates by words and by meaning for the plain sum.
const SUMMED: usize = 100;

#[derive(Clone, Copy)]
pub(crate) enum SearchSystem {
    /// BM25 over identifier-aware terms of the text.
    Words,
    Meaning,
    /// Half BM25 relative to the best, half cosine scaled between the lowest and the best.
    Sum,
    Vouchsafe,
}

impl SearchSystem {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Words => "BM25",
            Self::Meaning => "dense",
            Self::Sum => "plain fusion",
            Self::Vouchsafe => "Vouchsafe",
        }
    }
}

/// An indexed collection.
pub(crate) struct SearchSystems<'a> {
    collection: &'a QueryCollection,
    pieces: Vec<IndexedChunk>,
    plain: PostingIndex,
    postings: PostingIndex,
    vectors: VectorIndex,
    queries: VectorIndex,
}

struct IndexedChunk {
    document: usize,
    role: DocumentRole,
    symbols: String,
    /// Byte range in the document's text.
    bytes: std::ops::Range<usize>,
}

impl<'a> SearchSystems<'a> {
    pub(crate) fn new(
        collection: &'a QueryCollection,
        embeddings: &EmbeddingCache,
    ) -> Result<Self> {
        let pieces: Vec<IndexedChunk> =
            (0..collection.documents.len()).flat_map(|d| cut_chunks(collection, d)).collect();
        let (mut plain, mut postings, mut texts) =
            (PostingIndex::default(), PostingIndex::default(), Vec::new());
        for (id, piece) in pieces.iter().enumerate() {
            let document = &collection.documents[piece.document];
            let text = &document.text[piece.bytes.clone()];
            let symbols: Vec<&str> = piece.symbols.lines().collect();
            let path = collection.is_project.then_some(document.path.as_str());
            let id = u32::try_from(id)?;
            plain.insert(
                id,
                &TermBag::from_document(&RankDocument { text, ..RankDocument::default() }),
            );
            let prose = matches!(piece.role, DocumentRole::Record | DocumentRole::Docs);
            postings.insert(
                id,
                &TermBag::from_document(&RankDocument { text, path, symbols: &symbols, prose }),
            );
            texts.push(match piece.role {
                DocumentRole::Record => embed::text::prepare_prose(text),
                _ => embed::text::prepare_code(
                    path.unwrap_or_default(),
                    symbols.first().copied(),
                    text,
                ),
            });
        }
        let questions: Vec<String> =
            collection.queries.iter().map(|query| query.text.clone()).collect();
        let vectors = embeddings.embed_texts(&collection.name, &texts)?;
        let queries =
            embeddings.embed_texts(&format!("{}.queries", collection.name), &questions)?;
        Ok(Self { collection, pieces, plain, postings, vectors, queries })
    }

    /// Returns the documents that a system finds for a query, best first.
    pub(crate) fn find_documents(&self, system: SearchSystem, query: usize) -> Vec<usize> {
        let near = self.query_vector(query);
        let question = SearchQuery::new(&self.collection.queries[query].text);
        let hits: Vec<u32> = match system {
            SearchSystem::Words => hit_ids(self.plain.search(&question, &|_| true, HITS).hits),
            SearchSystem::Meaning => hit_ids(near.nearest(&|_| true, HITS)),
            SearchSystem::Sum => self.plain_sum(&question, &near),
            SearchSystem::Vouchsafe => {
                self.search(&question, &near).hits.iter().map(|hit| hit.id).collect()
            }
        };
        let mut seen = HashSet::new();
        let documents = hits.into_iter().map(|id| self.pieces[id as usize].document);
        documents.filter(|document| seen.insert(*document)).collect()
    }

    fn search(&self, query: &SearchQuery, near: &QueryVector<'_>) -> rank::SearchRanking {
        HybridSearch { postings: &self.postings, meaning: Some(near), corpus: self }.run(
            query,
            &|_| true,
            HITS,
        )
    }

    fn query_vector(&self, query: usize) -> QueryVector<'_> {
        let query = self.queries.get(query as u32).expect("every query was embedded");
        QueryVector { vectors: &self.vectors, query }
    }

    fn plain_sum(&self, query: &SearchQuery, near: &QueryVector<'_>) -> Vec<u32> {
        let words: BTreeMap<u32, f32> =
            self.plain.search(query, &|_| true, SUMMED).hits.into_iter().collect();
        let best = words.values().copied().fold(f32::MIN_POSITIVE, f32::max);
        let mut cosines: BTreeMap<u32, f32> = near.nearest(&|_| true, SUMMED).into_iter().collect();
        for &id in words.keys() {
            cosines.entry(id).or_insert_with(|| near.similarity(id).unwrap_or_default());
        }
        let least = cosines.values().copied().fold(f32::MAX, f32::min);
        let width = cosines.values().copied().fold(f32::MIN, f32::max) - least;
        let score = |(&id, &cosine): (&u32, &f32)| {
            let words =
                words.get(&id).copied().unwrap_or_else(|| self.plain.score_document(query, id));
            (id, 0.5 * words / best + 0.5 * (cosine - least) / width.max(f32::MIN_POSITIVE))
        };
        let mut all: Vec<(u32, f32)> = cosines.iter().map(score).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        hit_ids(all)
    }

    /// Prints the queries below a score, with their first results and the reasons for these.
    pub(crate) fn print_worst(&self, below: f64) {
        for (index, query) in self.collection.queries.iter().enumerate() {
            let reached = measure::ndcg(
                &self.find_documents(SearchSystem::Vouchsafe, index),
                &query.relevant,
            );
            if reached >= below {
                continue;
            }
            let path = |document: usize| self.collection.documents[document].path.as_str();
            let right: Vec<&str> = query.relevant.iter().map(|&document| path(document)).collect();
            println!("{reached:.2} {} -> {}", query.text, right.join(", "));
            for hit in self
                .search(&SearchQuery::new(&query.text), &self.query_vector(index))
                .hits
                .iter()
                .take(5)
            {
                let piece = &self.pieces[hit.id as usize];
                let why: Vec<String> = hit.why.iter().map(ToString::to_string).collect();
                let name = piece.symbols.lines().next().unwrap_or("-");
                println!(
                    "     {:.2} {} {name} ({})",
                    hit.score,
                    path(piece.document),
                    why.join("; ")
                );
            }
        }
    }
}

/// Cuts a file as the product's index does; a prose text of a data set counts as a record, which stays whole.
fn cut_chunks(collection: &QueryCollection, document: usize) -> Vec<IndexedChunk> {
    let file = &collection.documents[document];
    let language = Language::detect(&file.path, &file.text);
    if !collection.is_project && file.path.ends_with(".md") {
        let bytes = 0..file.text.len();
        return vec![IndexedChunk {
            document,
            role: DocumentRole::Record,
            symbols: String::new(),
            bytes,
        }];
    }
    let role = match source::detect_role(&file.path, &file.text) {
        source::FileRole::Entry | source::FileRole::Core => DocumentRole::Source,
        source::FileRole::Test => DocumentRole::Test,
        source::FileRole::Config => DocumentRole::Config,
        source::FileRole::Docs => DocumentRole::Docs,
        source::FileRole::Generated => DocumentRole::Generated,
    };
    let chunks = source::build_outline(language, &file.text).chunks.into_iter();
    let piece = |chunk: source::Chunk| {
        let mut names: Vec<&str> = Vec::new();
        for name in
            chunk.name.as_deref().into_iter().chain(chunk.defines.iter().map(String::as_str))
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let bytes = chunk.bytes.start as usize..chunk.bytes.end as usize;
        IndexedChunk { document, role, symbols: names.join("\n"), bytes }
    };
    chunks.map(piece).filter(|piece| !file.text[piece.bytes.clone()].trim().is_empty()).collect()
}

impl DocumentCorpus for SearchSystems<'_> {
    fn document_facts(&self, id: u32) -> DocumentFacts<'_> {
        let piece = &self.pieces[id as usize];
        let file = &self.collection.documents[piece.document];
        DocumentFacts {
            file: self.collection.is_project.then_some(piece.document as u32),
            path: self.collection.is_project.then_some(file.path.as_str()),
            role: piece.role,
            symbols: &piece.symbols,
            // Documents with equal content are different answers here, because they are judged separately.
            content: u64::from(id),
            recency: 0.0,
        }
    }
}

struct QueryVector<'a> {
    vectors: &'a VectorIndex,
    query: Vec<f32>,
}

impl SemanticScorer for QueryVector<'_> {
    fn nearest(&self, allowed: &(dyn Fn(u32) -> bool + Sync), k: usize) -> Vec<(u32, f32)> {
        self.vectors.nearest(&self.query, allowed, k)
    }

    fn similarity(&self, id: u32) -> Option<f32> {
        self.vectors.similarity(&self.query, id)
    }
}

fn hit_ids(hits: Vec<(u32, f32)>) -> Vec<u32> {
    hits.into_iter().map(|(id, _)| id).collect()
}

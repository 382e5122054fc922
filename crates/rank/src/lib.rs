//! Ranks documents for a query: BM25 over terms, nearest neighbors over vectors, and reranking for source code.
//!
//! Everything is pure and in memory. A document is a number that the caller assigns, with a [`TermBag`] for its terms
//! and a vector for its meaning. Other facts about a document, such as its file and its definitions, are requested
//! through [`DocumentCorpus`] for the few candidates. This crate reads no files, keeps no text, stores nothing, and has
//! no knowledge of programming languages. Start at [`HybridSearch`].

pub mod bag;
mod corpus;
mod fuse;
mod postings;
mod query;
mod reason;
mod rerank;
mod search;
pub mod terms;
pub mod vectors;

pub use bag::{BagError, RankDocument, TermBag};
pub use corpus::{DocumentCorpus, DocumentFacts, DocumentRole};
pub use postings::PostingIndex;
pub use query::{QueryKind, SearchQuery};
pub use reason::HitReason;
pub use search::{HybridSearch, RankedHit, SearchRanking, SemanticScorer};

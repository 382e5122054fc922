//! Which of many texts answer a query: words, vectors, and what is known of code.
//!
//! Pure and in memory: documents are numbers that the caller gives out, their words a [`Bag`], their meaning a vector.
//! What else is known of a document (its file, what it defines) is asked through [`Corpus`] for the few that may be
//! shown. This crate reads no file, keeps no text and stores nothing; it knows no programming language.

pub mod bag;
mod corpus;
mod fuse;
mod postings;
mod query;
mod rerank;
mod search;
pub mod terms;
pub mod vectors;
mod why;

pub use bag::{Bag, BagError, Document};
pub use corpus::{Corpus, Facts, Role};
pub use postings::Postings;
pub use query::{Kind, Query};
pub use search::{Hit, Meaning, Ranking, Search};
pub use why::Reason;

//! Which files can hold a match: a trigram index that narrows a search, and never decides one.
//!
//! Of each file the index knows the set of its *trigrams*: three neighbouring bytes of one line, letter case folded away
//! (`fold.rs`). From a regular expression a [`Plan`] is derived (`plan.rs`): trigrams that every matching line must
//! have. Files that lack them are left out; all others are searched. Of a long file, which has nearly every trigram, runs
//! of four bytes are known as well. So an answer is the same with and without the index, as long as a set is made of the
//! text that the searcher sees. Where that cannot be said – a file of more than [`MAX_BYTES`], or one in UTF-16, which
//! the searcher decodes – there is no set, and the file is always searched.
//!
//! The index is our own because full-text libraries match terms, while a regular expression here matches lines.
//!
//! `set.rs` makes the sets, `segment.rs` turns sets into lists of files, `index.rs` keeps them as files come and go.

mod fold;
mod index;
mod plan;
mod segment;
mod set;

pub use self::index::Index;
pub use self::plan::Plan;
pub use self::set::{Collector, MAX_BYTES, Set};

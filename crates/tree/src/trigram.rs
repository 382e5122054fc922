//! A trigram index: selects the files that may match a pattern, so that grep can skip the others.
//!
//! For each file, the index stores the set of its *trigrams*: three consecutive bytes of one line, with letter case
//! folded (`fold.rs`). A [`TrigramPlan`] is derived from a regular expression (`plan.rs`): the trigrams that every
//! matching line must contain. Files that lack them are skipped, and all others are searched. A long file contains
//! nearly every trigram, so the index also stores its runs of four bytes.
//!
//! The index never changes the result of a search, provided that a set is built from the text that the searcher sees.
//! A file larger than [`MAX_INDEXED_BYTES`], or one in UTF-16 (which the searcher decodes), has no set and is always
//! searched.
//!
//! The index is our own because full-text libraries match terms, while a regular expression here matches lines.
//!
//! `set.rs` builds the sets, `segment.rs` inverts them into posting lists, and `index.rs` maintains them as files
//! change. Start at [`TrigramIndex`].

mod fold;
mod index;
mod plan;
mod segment;
mod set;

pub use self::index::TrigramIndex;
pub use self::plan::TrigramPlan;
pub use self::set::{MAX_INDEXED_BYTES, TrigramCollector, TrigramSet};

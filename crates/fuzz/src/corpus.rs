//! Sequences on disk, in Echidna's format, so that a corpus can move between the two fuzzers.
//!
//! ```text
//! <folder>/
//!   coverage/                   sequences that reached something new
//!   reproducers/                sequences that break a test, shrunk
//!   reproducers-unshrunk/       the same as they were found
//!   reproducers-optimizations/  each sequence that raised a maximum
//!   foundry/                    reproducers as Foundry tests
//!   .vouch-lock                 held by the campaign that uses the folder
//! ```
//!
//! [`format`] is what one file says, [`folder`] is how files come to be there and stay whole. Which sequences are worth
//! keeping is decided elsewhere.

pub mod folder;
pub mod format;
mod haskell;
mod recorder;
mod value;

pub use folder::{Folder, FolderError, Kind, Loaded, Reason, Saved, Unused};
pub use format::{FormatError, Problem};
pub use recorder::{CorpusRecorder, with_causes};

//! Call sequences on disk, in Echidna's format, so that a corpus can move between the two fuzzers.
//!
//! ```text
//! <folder>/
//!   coverage/                   sequences that reached new coverage
//!   reproducers/                shrunk sequences that break a test
//!   reproducers-unshrunk/       sequences that break a test, as found
//!   reproducers-optimizations/  sequences that raised a maximum
//!   foundry/                    reproducers as Foundry tests
//!   .vouch-lock                 held by the campaign that uses the folder
//! ```
//!
//! [`mod@format`] defines the content of one file; [`folder`] writes files atomically. The campaign decides which sequences
//! to keep.

pub mod folder;
pub mod format;
mod haskell;
mod recorder;
mod value;

pub use folder::{
    CorpusFolder, CorpusFolderError, LoadedCorpus, SavedFile, SequenceKind, SkipReason, SkippedFile,
};
pub use format::{CallProblem, SequenceFormatError};
pub use recorder::CorpusRecorder;

//! A chain in memory: accounts, code, and transactions that run on them, watched.
//!
//! [`Machine`] runs calls on `revm`. Its state is one long journal that is never committed, so that any earlier point of
//! a sequence can be returned to by undoing ([`Machine::mark`], [`Machine::rewind`]); nothing is copied between
//! sequences. While code runs, hooks in the instruction table feed the [`probe::Probe`]: which blocks and branches ran,
//! how near comparisons came to their other outcome, which assertions failed.
//!
//! This module knows nothing of tests, generators or corpora.

mod cheats;
mod code;
mod frames;
mod hits;
mod hooks;
mod machine;
mod probe;
mod reads;
mod signs;
mod trace;

pub use cheats::SUPPORTED;
pub(crate) use cheats::{CHEAT_ERROR, CHEATS};
pub use code::{Codes, Known, Part};
pub use hits::Hits;
pub use machine::{Limits, Machine, Mark, Outcome, Setup, State, Transaction};
pub use probe::{Comparison, Edge, Emitted, Kind, News, Probe};
pub use reads::{Change, Reads};
pub use revm::interpreter::InstructionResult;
pub use signs::Signs;
pub use trace::{Frame, FrameKind};

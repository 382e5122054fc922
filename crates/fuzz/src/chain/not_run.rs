//! Reasons that a test cannot be run.

use std::fmt;

/// Reason that a test was not run. Its result is unknown: it neither failed nor holds.
///
/// It is displayed as a fragment that completes "not run: …".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotRunReason {
    /// `setUp()` failed, for this reason.
    SetUpFailed(String),
    /// It uses a cheat code that is not supported: its signature as `vm.name(types)`, or else its selector.
    UnsupportedCheatcode(String),
    /// It uses a cheat code that the settings do not allow. The text says how to allow it.
    RefusedCheatcode(String),
    /// A table test has no values to be called with, for this reason.
    InvalidFixture(String),
    /// A table test was not called with all rows, or `vm.assume` rejected some.
    RowsLeft { run: u64, rows: u64 },
    /// A call took longer than this, in seconds.
    TimedOut(u64),
    /// It needs the state of a fork, which could not be fetched for this reason.
    ForkUnavailable(String),
    /// It called `vm.skip`, with this reason if it is not empty.
    Skipped(String),
}

impl fmt::Display for NotRunReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetUpFailed(reason) => write!(out, "setUp() failed: {reason}"),
            Self::UnsupportedCheatcode(name) => write!(out, "unsupported cheat code {name}"),
            Self::InvalidFixture(text) | Self::RefusedCheatcode(text) => out.write_str(text),
            Self::RowsLeft { run, rows } => {
                write!(out, "{run} of the {rows} rows of the table were run")
            }
            Self::TimedOut(seconds) => write!(out, "a call took longer than {seconds} s"),
            Self::ForkUnavailable(text) => write!(out, "state of a fork is unavailable: {text}"),
            Self::Skipped(reason) if reason.is_empty() => out.write_str("skipped by vm.skip"),
            Self::Skipped(reason) => write!(out, "skipped by vm.skip: {reason}"),
        }
    }
}

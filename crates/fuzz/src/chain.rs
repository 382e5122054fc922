//! An in-memory EVM chain: accounts, code, and instrumented transactions.
//!
//! [`EvmMachine`] runs calls on `revm`. Its state is one long journal that is never committed. Undoing the journal
//! returns to any earlier point of a sequence ([`EvmMachine::checkpoint`], [`EvmMachine::rewind`]), so no state is copied
//! between sequences. While code runs, hooks in the instruction table feed the [`probe::ExecutionProbe`]. It records
//! covered blocks and branches, how close comparisons came to their other outcome, and failed assertions.
//!
//! State that the journal does not hold is empty, or, on a fork, that of a remote chain (`database`, `forks`). How it is
//! fetched is not known here ([`RemoteState`]).
//!
//! Tests, generators and corpora live outside this module.

mod cheatcodes;
mod code;
mod coverage_hits;
mod database;
mod forks;
mod frames;
mod hooks;
mod incidents;
mod machine;
mod not_run;
mod probe;
mod read_set;
mod remote;
mod trace;

pub(crate) use cheatcodes::{CHEATCODE_ADDRESS, CHEATCODE_ERROR_SELECTOR, CONSOLE_ADDRESS};
pub use cheatcodes::{SUPPORTED_CHEATCODES, list_supported_cheatcodes};
pub use code::{CodePart, CompiledCode, CompiledCodeIndex};
pub use coverage_hits::CoverageHits;
pub use forks::ForkSummary;
pub use incidents::IncidentLog;
pub use machine::{
    CallLimits, ChainCheckpoint, ChainSetup, ChainState, EvmMachine, EvmTransaction,
    TransactionOutcome,
};
pub use not_run::NotRunReason;
pub use probe::{
    BranchEdge, ComparisonKind, ExecutionProbe, NewCoverage, ObservedComparison, WatchedEvent,
};
pub use read_set::{ReadSet, StateChange};
pub use remote::{ForkAccess, RemoteAccount, RemoteBlock, RemoteChains, RemoteError, RemoteState};
pub use revm::interpreter::InstructionResult;
pub use trace::{CallFrame, FrameKind};

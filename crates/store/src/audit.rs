//! The audit log: one JSON line for each call, each bound to the one before, so that no line can be changed, removed,
//! inserted or moved unnoticed.
//!
//! ```text
//! audit.jsonl   {"seq":1,"time":…,"caller":…,…,"prev":"sha256:000…"}
//!               {"seq":2,…,"prev":"sha256:<hash of the bytes of line 1, without its newline>"}
//!               {"seq":3,"time":…,"event":"repaired","tornBytes":17,…,"prev":…}      something happened to the log
//! audit.head    00000000000000000003 sha256:<hash of line 3>                         so that the end is not cut unnoticed
//! ```
//!
//! Any number of processes append to one log, and any may be killed at any moment. A batch of lines is one write
//! under an exclusive lock on the log; the head follows under the same lock. After a kill the log may therefore be ahead
//! of its head, and may end in a torn line, but it is never behind its head. Who next writes finds out and repairs.
//!
//! Someone who can write both files can write a consistent forgery; against that, keep [`Report::last_hash`] elsewhere.
//!
//! Read on in `writer` (queue and thread), `file` (lock, repair, write), `verify` and `stats`.

mod chain;
mod file;
mod head;
mod lines;
mod read;
mod record;
mod stats;
mod verify;
mod writer;

pub use self::read::{Lines, read, tail};
pub use self::record::{Arguments, Entry, Event, Line, Outcome, Record};
pub use self::stats::{ToolStats, stats};
pub use self::verify::{Finding, Kind, Report, verify};
pub use self::writer::AuditLog;

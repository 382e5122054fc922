//! The audit log: one JSON line per call, in a hash chain that reveals changed, removed, inserted and moved lines.
//!
//! ```text
//! audit.jsonl   {"seq":1,"time":…,"caller":…,…,"prev":"sha256:000…"}
//!               {"seq":2,…,"prev":"sha256:<hash of the bytes of line 1, without its newline>"}
//!               {"seq":3,"time":…,"event":"repaired","tornBytes":17,…,"prev":…}      an event of the log itself
//! audit.head    00000000000000000003 sha256:<hash of line 3>                         reveals lines removed from the end
//! ```
//!
//! Any number of processes append to one log, and any of them may be killed at any time. A batch of lines is one write
//! under an exclusive lock on the log. The head is written after it, under the same lock. After a kill the log may
//! therefore be ahead of its head and may end in a torn line, but it is never behind its head. The next writer detects
//! this and repairs the log.
//!
//! An attacker who can write both files can forge a consistent log. To detect that, store
//! [`VerificationReport::last_hash`] in another location.
//!
//! Start at `writer` (queue and thread), `log_file` (lock, repair, write), `verify` and `stats`.

mod chain;
mod head;
mod line_reader;
mod log_file;
mod reader;
mod record;
mod stats;
mod verify;
mod writer;

pub use self::reader::{AuditRecords, read_last_records, read_records};
pub use self::record::{
    AuditApproval, AuditArguments, AuditCall, AuditEntry, AuditLogEvent, AuditOutcome, AuditRecord,
};
pub use self::stats::{ToolStats, compute_tool_stats};
pub use self::verify::{
    VerificationFinding, VerificationFindingKind, VerificationReport, verify_log,
};
pub use self::writer::AuditLog;

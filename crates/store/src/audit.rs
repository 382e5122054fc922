//! The audit log: one JSON line per call, in a keyed chain that reveals changed, removed, inserted and moved lines.
//!
//! ```text
//! audit.jsonl   {"seq":1,"time":…,"event":"chain",…,"prev":…}
//!               {"seq":2,"time":…,"caller":…,…,"prev":"hmac:<key id>:<digest of line 1 under the key>"}
//!               {"seq":3,"intent":"3f9a…",…,"prev":…}             written before a call with side effects runs
//!               {"seq":4,…,"call":"3f9a…","prev":…}               its outcome
//! audit.head    sequence number and hash of the last line, under the key: reveals lines removed from the end
//! audit.000001.jsonl …                                            closed files; the chain continues in the next one
//! <key folder>  keys.json, mark, files of `checkpoint`            outside the project and this folder
//! ```
//!
//! Any number of processes append to one log, and any of them may be killed at any time. A batch of lines is one write
//! under an exclusive lock on the log. The head is written after it, under the same lock. After a kill the log may
//! therefore be ahead of its head and may end in a torn line. After a power failure it may lack lines that were not synced.
//! The next writer detects this, repairs the log and records it.
//!
//! An attacker who has the key can forge a consistent log. Signed checkpoints that are kept elsewhere detect that.
//!
//! Start at `writer` (queue and thread), `log_file` (lock, repair, write), `verify` and `stats`. Writes go through
//! [`disk::Disk`].

mod chain;
mod checkpoint;
mod export;
mod head;
mod key;
mod keyring;
mod line_reader;
mod log_file;
mod log_files;
mod options;
mod reader;
mod record;
mod stats;
mod verify;
mod writer;

pub use self::checkpoint::{
    Checkpoint, CheckpointEvidence, CheckpointKey, CheckpointQueue, CheckpointSigner,
    CheckpointSummary, CheckpointTip, DeliveryLock, SignedCheckpoint, append_checkpoint,
    read_checkpoints, read_log_growth, verify_checkpoints,
};
pub use self::export::OtlpWriter;
pub use self::keyring::{AuditKeyError, AuditKeyLocation};
pub use self::options::{AuditOptions, AuditRotation};
pub use self::reader::{AuditRecords, read_last_records, read_records};
pub use self::record::{
    AuditApproval, AuditArguments, AuditCall, AuditEntry, AuditIntent, AuditLogEvent, AuditOutcome,
    AuditRecord, ChainStart, PreviousFile,
};
pub use self::stats::{ToolStats, compute_tool_stats};
pub use self::verify::{
    VerificationFinding, VerificationFindingKind, VerificationReport, VerifiedLog, verify_log,
};
pub use self::writer::{AuditCounts, AuditLog};

use std::path::Path;

use self::log_file::LogFile;
use crate::StoreError;

/// The ids of the keys before and after a rotation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct KeyRotation {
    pub before: String,
    pub after: String,
}

/// Adds a key and uses it from the next line on. Servers that write to the log continue with it.
pub fn rotate_key(
    path: impl AsRef<Path>,
    options: &AuditOptions,
) -> Result<KeyRotation, StoreError> {
    let mut log = LogFile::open(path.as_ref(), options)?;
    let (before, after) = log.rotate_key()?;
    Ok(KeyRotation { before: before.to_string(), after: after.to_string() })
}

//! The content of an audit record: a call, the intent of one, or an event of the log itself.

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::ApprovalChannel;

/// One call, as passed to [`AuditLog::append`](super::AuditLog::append). The fields are serialized in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditCall {
    #[serde(serialize_with = "serialize_milliseconds")]
    pub time: Timestamp,
    /// Principal of the caller.
    pub caller: String,
    /// Name of the client program, as reported by the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub tool: Option<String>,
    /// Digest of the contract that was enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<AuditArguments>,
    /// The approval that let the call run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<AuditApproval>,
    pub outcome: AuditOutcome,
    /// Error code of a failed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub duration_us: u64,
    pub result_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Number of secrets that were found in the reply, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<u64>,
    /// Id of the intent that was recorded before the tool ran; only for calls with side effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// The intent of a call with side effects, recorded before its tool runs. The record of the call follows it.
///
/// An intent without a call means that the process ended during the call, so its effect is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditIntent {
    /// Id that the record of the call repeats.
    pub intent: String,
    #[serde(serialize_with = "serialize_milliseconds")]
    pub time: Timestamp,
    /// Principal of the caller.
    pub caller: String,
    /// Name of the client program, as reported by the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub tool: String,
    /// Digest of the contract that is enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<AuditArguments>,
    /// The approval that lets the call run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<AuditApproval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditArguments {
    /// Digest under the key of the log, so that a guess of the arguments cannot be checked without the key.
    pub digest: String,
    /// Names, types and sizes of the arguments.
    pub shape: Value,
    /// Argument values, only if the contract allows recording them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Value>,
}

/// The approval of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditApproval {
    pub id: String,
    /// Principal of the approver.
    pub by: String,
    pub channel: ApprovalChannel,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    Ok,
    Error,
    InputRequired,
    /// The caller stopped waiting during a change, which may or may not have been made.
    Unknown,
}

/// An event of the log itself, recorded by the writer that detected it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AuditLogEvent {
    /// A chain begins with this line. It is the first line of a file.
    Chain {
        chain: String,
        /// Id of the key of the next line.
        key: String,
        reason: ChainStart,
        /// Number of the file.
        file: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        previous: Option<PreviousFile>,
    },
    /// The chain continues in a new file with this line.
    File { chain: String, file: u32, previous: PreviousFile },
    /// The following lines use another key.
    Key { key: String },
    /// Files were removed because of their number or age.
    Removed {
        first: u32,
        last: u32,
        /// Sequence number of the last removed line.
        through_seq: u64,
    },
    /// A torn last line, left by a crash, was removed.
    Repaired { torn_bytes: u64, torn_digest: String },
    /// Lines after the newest synced head did not continue the chain: a power failure or a failed sync damaged them. They
    /// were moved to a file of their own.
    Discarded {
        bytes: u64,
        /// Sequence number of the last line before them.
        after_seq: u64,
        digest: String,
        /// Name of the file that contains them.
        file: String,
    },
    /// Records were dropped because the queue was full while the log could not be written.
    Lost { records: u64 },
    /// The head did not match the last line. Either the lines after the preceding line were removed, or the preceding
    /// line was changed.
    HeadMismatch {
        head_seq: u64,
        head_hash: String,
        /// Sequence number of the last line that was found. Earlier versions did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_seq: Option<u64>,
    },
    /// The head file was missing or had been changed, so lines may have been removed before this one.
    HeadMissing,
    /// The copy of the head in the key folder was missing or had been changed.
    MarkMissing,
    /// Lines that had not been synced to the disk are missing, by a power failure or because they were removed.
    Unsynced { head_seq: u64, last_seq: u64 },
}

impl AuditLogEvent {
    /// Returns the number of the file that the event begins, and the file before it. Returns `None` for other events.
    pub(super) fn begun_file(&self) -> Option<(u32, Option<&PreviousFile>)> {
        match self {
            Self::Chain { file, previous, .. } => Some((*file, previous.as_ref())),
            Self::File { file, previous, .. } => Some((*file, Some(previous))),
            _ => None,
        }
    }
}

/// The reason for which a chain begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChainStart {
    /// The log is new.
    New,
    /// The lines before were written by an earlier version, without a key.
    Unkeyed,
    /// The key of the lines before is lost.
    KeyLost,
}

/// The file before the one that begins with an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousFile {
    pub file: u32,
    /// Sequence number of its last line.
    pub seq: u64,
    pub bytes: u64,
    /// SHA-256 of its content, which can be checked without the key.
    pub sha256: String,
}

/// A call, an intent or an event of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AuditEntry {
    Call(AuditCall),
    Intent(AuditIntent),
    Event {
        #[serde(serialize_with = "serialize_milliseconds")]
        time: Timestamp,
        #[serde(flatten)]
        event: AuditLogEvent,
    },
}

impl AuditEntry {
    pub fn time(&self) -> Timestamp {
        match self {
            Self::Call(record) => record.time,
            Self::Intent(intent) => intent.time,
            Self::Event { time, .. } => *time,
        }
    }

    /// Returns an entry for an event that happened now.
    pub(super) fn event_now(event: AuditLogEvent) -> Self {
        Self::Event { time: Timestamp::now(), event }
    }
}

/// One line of the log. It serializes to the same bytes that are in the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRecord {
    pub seq: u64,
    #[serde(flatten)]
    pub entry: AuditEntry,
    pub prev: String,
}

impl AuditRecord {
    /// Returns `None` if the line is not an audit record.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct EnvelopeFields {
            seq: u64,
            event: Option<String>,
            intent: Option<String>,
            prev: String,
        }
        #[derive(Deserialize)]
        struct EventFields {
            time: Timestamp,
            #[serde(flatten)]
            event: AuditLogEvent,
        }
        let EnvelopeFields { seq, event, intent, prev } = serde_json::from_slice(bytes).ok()?;
        let entry = if event.is_some() {
            let EventFields { time, event } = serde_json::from_slice(bytes).ok()?;
            AuditEntry::Event { time, event }
        } else if intent.is_some() {
            AuditEntry::Intent(serde_json::from_slice(bytes).ok()?)
        } else {
            AuditEntry::Call(serde_json::from_slice(bytes).ok()?)
        };
        Some(Self { seq, entry, prev })
    }
}

fn serialize_milliseconds<S: Serializer>(
    time: &Timestamp,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

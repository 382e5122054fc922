//! What a line says: a call, or something that happened to the log itself.

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// One call, as the caller of [`AuditLog::append`](super::AuditLog::append) gives it. The fields are on the wire in
/// this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    #[serde(serialize_with = "milliseconds")]
    pub time: Timestamp,
    /// Who called.
    pub caller: String,
    /// The program the call came through, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub tool: Option<String>,
    /// Digest of the contract that was enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arguments>,
    pub outcome: Outcome,
    /// Why it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub duration_us: u64,
    pub result_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    pub digest: String,
    /// Names, types and sizes.
    pub shape: Value,
    /// Only where the contract lets values be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    Error,
    InputRequired,
    /// A change was under way when the caller stopped waiting: it may have been made.
    Unknown,
}

/// Something that happened to the log, put on record by the writer that noticed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// A crash had left a torn last line, which was cut.
    Repaired { torn_bytes: u64, torn_digest: String },
    /// The log could not be written for so long that this many records were dropped.
    Lost { records: u64 },
    /// The head knew of another last line: what stood after the line before this one had been removed, or that line
    /// had been changed.
    HeadMismatch { head_seq: u64, head_hash: String },
    /// The head was gone, so nobody can tell whether lines were missing here.
    HeadMissing,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every entry is a call; a box would cost each one"
)]
pub enum Entry {
    Call(Record),
    Event {
        #[serde(serialize_with = "milliseconds")]
        time: Timestamp,
        #[serde(flatten)]
        event: Event,
    },
}

impl Entry {
    pub fn time(&self) -> Timestamp {
        match self {
            Self::Call(record) => record.time,
            Self::Event { time, .. } => *time,
        }
    }

    pub(super) fn now(event: Event) -> Self {
        Self::Event { time: Timestamp::now(), event }
    }
}

/// A line as it stands in the log; it serialises to the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub seq: u64,
    #[serde(flatten)]
    pub entry: Entry,
    pub prev: String,
}

impl Line {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Frame {
            seq: u64,
            event: Option<String>,
            prev: String,
        }
        #[derive(Deserialize)]
        struct Happened {
            time: Timestamp,
            #[serde(flatten)]
            event: Event,
        }
        let Frame { seq, event, prev } = serde_json::from_slice(bytes).ok()?;
        let entry = if event.is_some() {
            let Happened { time, event } = serde_json::from_slice(bytes).ok()?;
            Entry::Event { time, event }
        } else {
            Entry::Call(serde_json::from_slice(bytes).ok()?)
        };
        Some(Self { seq, entry, prev })
    }
}

fn milliseconds<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

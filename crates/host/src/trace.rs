//! The trace of an ask: one line for each gate that was reached, with its verdict.
//!
//! A line contains names, reasons, digests and shapes. It never contains the query, and contains argument values only
//! if the contract of the tool allows it (`auditValues`). This module creates, parses and renders lines; the caller
//! stores them.

mod render;
mod shape;

use std::time::Instant;

use contract::Contract;
use contract::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gate::AskGate;
use crate::json::shorten_text;
pub use render::render_trace;

/// Maximum characters of a detail.
const MAX_DETAIL: usize = 600;
/// Crockford's base 32, also used for approval ids.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_LENGTH: usize = 10;

/// The verdict of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateVerdict {
    Pass,
    Stop,
}

/// The trace line of one gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskTraceLine {
    /// Id of the ask, shared by all its lines.
    pub ask: String,
    pub time: String,
    pub gate: u8,
    pub name: String,
    pub verdict: GateVerdict,
    pub detail: String,
    pub elapsed_us: u64,
    /// `server/tool`, once a gate has determined it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<TraceArguments>,
}

/// The arguments in a trace line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceArguments {
    pub digest: String,
    /// Names, types and sizes.
    pub shape: Value,
    /// Present only if the contract allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Value>,
}

/// The trace of one ask, in progress or complete.
#[derive(Debug)]
pub struct AskTrace {
    id: String,
    lines: Vec<AskTraceLine>,
    last: Instant,
    tool: Option<String>,
}

impl AskTrace {
    pub(crate) fn start() -> Self {
        Self { id: generate_id(), lines: Vec::new(), last: Instant::now(), tool: None }
    }

    /// Returns the id of the ask.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn lines(&self) -> &[AskTraceLine] {
        &self.lines
    }

    /// Returns one JSON line for each gate, each with a line break, ready to be appended to a file.
    pub fn to_jsonl(&self) -> String {
        self.lines
            .iter()
            .map(|line| serde_json::to_string(line).expect("a line always serializes") + "\n")
            .collect()
    }

    /// Sets the tool of the following lines.
    pub(crate) fn set_tool(&mut self, server: &str, tool: &str) {
        self.tool = Some(shorten_text(&format!("{server}/{tool}"), 200));
    }

    pub(crate) fn record_pass(&mut self, gate: AskGate, detail: &str) {
        self.push_line(gate, GateVerdict::Pass, detail, None);
    }

    pub(crate) fn record_stop(&mut self, gate: AskGate, detail: &str) {
        self.push_line(gate, GateVerdict::Stop, detail, None);
    }

    pub(crate) fn record_pass_with_arguments(
        &mut self,
        gate: AskGate,
        detail: &str,
        contract: &Contract,
        arguments: &Map<String, Value>,
    ) {
        let values = || Value::Object(arguments.clone());
        let arguments = TraceArguments {
            digest: ::contract::sha256_value_digest(&values()),
            shape: shape::describe_arguments(arguments),
            values: contract.constraints.audit_values.then(values),
        };
        self.push_line(gate, GateVerdict::Pass, detail, Some(arguments));
    }

    fn push_line(
        &mut self,
        gate: AskGate,
        verdict: GateVerdict,
        detail: &str,
        arguments: Option<TraceArguments>,
    ) {
        let now = Instant::now();
        let elapsed = now.duration_since(std::mem::replace(&mut self.last, now));
        let detail = shorten_text(detail, MAX_DETAIL);
        tracing::debug!(ask = self.id, gate = gate.number(), ?verdict, detail, "gate");
        self.lines.push(AskTraceLine {
            ask: self.id.clone(),
            time: contract::time::now_rfc3339(),
            gate: gate.number(),
            name: gate.name().to_owned(),
            verdict,
            detail,
            elapsed_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
            tool: self.tool.clone(),
            arguments,
        });
    }
}

/// Trace lines that were read from a file.
#[derive(Debug, Default, PartialEq)]
pub struct ParsedTrace {
    pub lines: Vec<AskTraceLine>,
    /// Number of invalid lines. A killed process can leave an incomplete one.
    pub unreadable: usize,
}

/// Parses a trace file.
pub fn parse_trace(text: &str) -> ParsedTrace {
    let mut parsed = ParsedTrace::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(line) => parsed.lines.push(line),
            Err(_) => parsed.unreadable += 1,
        }
    }
    parsed
}

/// Returns an id of 50 random bits.
///
/// Falls back to the time if the system has no random source, because ids need not be secret.
fn generate_id() -> String {
    let mut bytes = [0; ID_LENGTH];
    if getrandom::fill(&mut bytes).is_err() {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = time.map_or(0, |time| time.as_nanos()).to_le_bytes();
        bytes.copy_from_slice(&nanos[..ID_LENGTH]);
    }
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

/// Puts untrusted text of a trace file on one line.
fn format_one_line(text: &str) -> String {
    one_line(text)
}

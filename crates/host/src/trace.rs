//! The trace of an ask: one line for each gate it came to, and what that gate decided.
//!
//! A line holds names, reasons, digests and shapes. It holds no query, and no argument values unless the contract of
//! the tool allows them (`auditValues`). Where lines are kept is the caller's; this module makes, reads and shows them.

mod render;
mod shape;

use std::time::Instant;

use contract::Contract;
use contract::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gate::Gate;
use crate::json::shortened;
pub use render::render;

/// Of a reason, a line keeps this much.
const MAX_DETAIL: usize = 600;
/// Crockford's base 32, as the ids of approvals have it.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ID_LENGTH: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Stop,
}

/// What one gate decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Which ask; the lines of one share it.
    pub ask: String,
    pub time: String,
    pub gate: u8,
    pub name: String,
    pub verdict: Verdict,
    pub detail: String,
    pub elapsed_us: u64,
    /// `server/tool`, from the gate on that knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arguments>,
}

/// What a line says of arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    pub digest: String,
    /// Names, types and sizes.
    pub shape: Value,
    /// Only where the contract allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Value>,
}

/// The lines of one ask, as they come.
#[derive(Debug)]
pub struct Trace {
    id: String,
    lines: Vec<Line>,
    last: Instant,
    tool: Option<String>,
}

impl Trace {
    pub(crate) fn begin() -> Self {
        Self { id: id(), lines: Vec::new(), last: Instant::now(), tool: None }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// One JSON line for each gate, each with its line break, ready to be appended to a file.
    pub fn to_jsonl(&self) -> String {
        self.lines
            .iter()
            .map(|line| serde_json::to_string(line).expect("a line always serialises") + "\n")
            .collect()
    }

    pub(crate) fn about(&mut self, server: &str, tool: &str) {
        self.tool = Some(shortened(&format!("{server}/{tool}"), 200));
    }

    pub(crate) fn pass(&mut self, gate: Gate, detail: &str) {
        self.add(gate, Verdict::Pass, detail, None);
    }

    pub(crate) fn stop(&mut self, gate: Gate, detail: &str) {
        self.add(gate, Verdict::Stop, detail, None);
    }

    pub(crate) fn pass_with(
        &mut self,
        gate: Gate,
        detail: &str,
        contract: &Contract,
        arguments: &Map<String, Value>,
    ) {
        let values = || Value::Object(arguments.clone());
        let described = Arguments {
            digest: ::contract::sha256_of_value(&values()),
            shape: shape::of(arguments),
            values: contract.constraints.audit_values.then(values),
        };
        self.add(gate, Verdict::Pass, detail, Some(described));
    }

    fn add(&mut self, gate: Gate, verdict: Verdict, detail: &str, arguments: Option<Arguments>) {
        let now = Instant::now();
        let elapsed = now.duration_since(std::mem::replace(&mut self.last, now));
        let detail = shortened(detail, MAX_DETAIL);
        tracing::debug!(ask = self.id, gate = gate.number(), ?verdict, detail, "gate");
        self.lines.push(Line {
            ask: self.id.clone(),
            time: contract::time::now(),
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

/// Lines that were kept.
#[derive(Debug, Default, PartialEq)]
pub struct Kept {
    pub lines: Vec<Line>,
    /// Lines that could not be read: a process that was killed leaves a torn one.
    pub unreadable: usize,
}

/// Reads a file of lines.
pub fn parse(text: &str) -> Kept {
    let mut kept = Kept::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(line) => kept.lines.push(line),
            Err(_) => kept.unreadable += 1,
        }
    }
    kept
}

/// Fifty random bits. Without the system's source of them the time does: ids name traces and open nothing.
fn id() -> String {
    let mut bytes = [0; ID_LENGTH];
    if getrandom::fill(&mut bytes).is_err() {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = time.map_or(0, |time| time.as_nanos()).to_le_bytes();
        bytes.copy_from_slice(&nanos[..ID_LENGTH]);
    }
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

/// Text of a file that anybody may have written, on one line.
fn clean(text: &str) -> String {
    one_line(text)
}

//! Drafts overlays from real answers.
//!
//! [`SampleSet`] collects calls of one tool, [`infer_schema`] infers the schema that accepts their shape, and
//! [`draft_overlay`] builds an overlay from it that a person edits and commits. Nothing is inferred that no sample
//! shows; gaps in the samples are listed as notes.

mod draft;
mod infer;
mod shape;
mod trial;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use draft::{DraftOverlay, draft_overlay};
pub use infer::{InferredSchema, infer_schema};
pub use trial::{TrialCall, TrialScope, lacks_contract, may_call_unasked, plan_trial_calls};

/// Maximum samples per tool. More rarely add information.
const MAX_SAMPLES: usize = 64;
/// Maximum total size of the answers of one tool.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The answer of a sampled call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleAnswer {
    /// Its `structuredContent`.
    Structured(Value),
    /// Its text blocks, in order.
    Text(Vec<String>),
}

/// A call with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSample {
    pub input: Value,
    pub answer: SampleAnswer,
}

/// Samples of one tool, without duplicates and bounded in number and size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleSet {
    all: Vec<CallSample>,
    bytes: usize,
}

impl SampleSet {
    /// Adds an MCP tool result (`content`, `structuredContent`, `isError`).
    ///
    /// Returns false if it was not added: an error, an answer without text, a duplicate, or over the limits.
    pub fn add_result(&mut self, input: Value, result: &Value) -> bool {
        if result.get("isError") == Some(&Value::Bool(true)) {
            return false;
        }
        let answer = match result.get("structuredContent").filter(|value| !value.is_null()) {
            Some(structured) => SampleAnswer::Structured(structured.clone()),
            None => {
                let blocks = result.get("content").and_then(Value::as_array);
                let texts: Vec<String> = blocks
                    .into_iter()
                    .flatten()
                    .filter(|block| block.get("type").is_some_and(|kind| kind == "text"))
                    .filter_map(|block| Some(block.get("text")?.as_str()?.to_owned()))
                    .collect();
                if texts.is_empty() {
                    return false;
                }
                SampleAnswer::Text(texts)
            }
        };
        self.push(CallSample { input, answer })
    }

    /// Adds a sample. Returns false for a duplicate, or if the limits are reached.
    pub fn push(&mut self, sample: CallSample) -> bool {
        let size = match &sample.answer {
            SampleAnswer::Structured(value) => value.to_string().len(),
            SampleAnswer::Text(texts) => texts.iter().map(String::len).sum(),
        };
        let is_room = self.all.len() < MAX_SAMPLES && self.bytes + size <= MAX_BYTES;
        if !is_room || self.all.contains(&sample) {
            return false;
        }
        self.bytes += size;
        self.all.push(sample);
        true
    }

    pub fn as_slice(&self) -> &[CallSample] {
        &self.all
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

//! Drafts an overlay from real answers.
//!
//! [`Samples`] collects calls of one tool, [`infer`] makes the schema that accepts exactly their shape, [`draft`] makes an
//! overlay of it that a person edits and commits. Nothing is guessed that a sample does not show; what the samples leave
//! open is said in words.

mod draft;
mod infer;
mod shape;
mod trial;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use draft::{Draft, draft};
pub use infer::{Inferred, infer};
pub use trial::{TrialCall, TrialScope, lacks_contract, may_call_unasked, plan_trial_calls};

/// Calls that one tool is learned from; more teach nothing new.
const MAX_SAMPLES: usize = 64;
/// Text of all answers together.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Its `structuredContent`.
    Structured(Value),
    /// Its text blocks, in order.
    Text(Vec<String>),
}

/// One call with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub input: Value,
    pub answer: Answer,
}

/// Calls of one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    all: Vec<Sample>,
    bytes: usize,
}

impl Samples {
    /// Takes an MCP tool result (`content`, `structuredContent`, `isError`). False if it teaches nothing: an error, an
    /// answer without text, a repetition, or one too many.
    pub fn add(&mut self, input: Value, result: &Value) -> bool {
        if result.get("isError") == Some(&Value::Bool(true)) {
            return false;
        }
        let answer = match result.get("structuredContent").filter(|value| !value.is_null()) {
            Some(structured) => Answer::Structured(structured.clone()),
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
                Answer::Text(texts)
            }
        };
        self.push(Sample { input, answer })
    }

    pub fn push(&mut self, sample: Sample) -> bool {
        let size = match &sample.answer {
            Answer::Structured(value) => value.to_string().len(),
            Answer::Text(texts) => texts.iter().map(String::len).sum(),
        };
        let is_room = self.all.len() < MAX_SAMPLES && self.bytes + size <= MAX_BYTES;
        if !is_room || self.all.contains(&sample) {
            return false;
        }
        self.bytes += size;
        self.all.push(sample);
        true
    }

    pub fn all(&self) -> &[Sample] {
        &self.all
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

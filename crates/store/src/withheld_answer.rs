//! Withheld answers: answers that were not passed on to their caller, stored so that people can review them.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

/// Maximum bytes stored of one answer; the rest is cut off.
pub const MAX_WITHHELD_ANSWER_BYTES: usize = 1024 * 1024;
/// Maximum number of stored answers. The oldest are deleted first.
pub const MAX_WITHHELD_ANSWERS: usize = 1000;
/// Maximum bytes of all stored answers together. The oldest are deleted first.
pub const MAX_WITHHELD_ANSWERS_TOTAL_BYTES: usize = 64 * 1024 * 1024;

/// A withheld answer to be stored with [`Store::save_withheld_answer`](crate::Store::save_withheld_answer).
#[derive(Clone, Debug)]
pub struct NewWithheldAnswer {
    pub principal: String,
    pub tool: String,
    pub contract_digest: String,
    pub arguments_digest: String,
    /// The violated rule and its location in the answer.
    pub violation: String,
    /// The unmodified answer. This is untrusted text.
    pub raw: Arc<str>,
}

/// A stored withheld answer, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WithheldAnswer {
    pub id: String,
    pub kept_at: Timestamp,
    pub principal: String,
    pub tool: String,
    pub contract_digest: String,
    pub arguments_digest: String,
    pub violation: String,
    /// Size of the whole answer, before it was cut.
    pub bytes: u64,
    /// True if the answer was longer than [`MAX_WITHHELD_ANSWER_BYTES`], so its end is missing.
    pub is_cut: bool,
}

/// A stored withheld answer with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RawWithheldAnswer {
    #[serde(flatten)]
    pub answer: WithheldAnswer,
    /// Untrusted text; not escaped for a terminal.
    pub raw: String,
}

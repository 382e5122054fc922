//! An answer that was withheld from its caller, kept so that a person can look at what came.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

/// What is kept of one answer; the rest is cut off.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// The newest answers that are kept.
pub const MAX_ANSWERS: usize = 1000;
/// What all of them may take. The oldest go first.
pub const MAX_ANSWERS_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, Debug)]
pub struct NewAnswer {
    pub principal: String,
    pub tool: String,
    pub contract_digest: String,
    pub arguments_digest: String,
    /// Which rule was broken, and where.
    pub violation: String,
    /// The answer as it came, a stranger's text.
    pub raw: Arc<str>,
}

/// What is known of a kept answer without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptAnswer {
    pub id: String,
    pub kept_at: Timestamp,
    pub principal: String,
    pub tool: String,
    pub contract_digest: String,
    pub arguments_digest: String,
    pub violation: String,
    /// Of the answer as it came.
    pub bytes: u64,
    /// The answer was longer than [`MAX_ANSWER_BYTES`], so its end is missing.
    pub is_cut: bool,
}

/// A kept answer with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RawAnswer {
    #[serde(flatten)]
    pub answer: KeptAnswer,
    /// Not made safe for a terminal.
    pub raw: String,
}

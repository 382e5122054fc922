//! Gate 5: every bullet of a summary quotes evidence verbatim from the validated output.
//!
//! A summary is exactly one JSON object. A summarizer has no tools, and a plan in its response is not a summary. Each
//! quote is located by JSON pointer and byte span. A bullet without a location is rejected on its own; a summary in
//! which every bullet is rejected fails as a whole.

mod extract;
mod ground;
mod summarizer;

use contract::text::is_hidden;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json::{JsonError, parse_single_object, shorten_name, shorten_text};
use crate::typed::ValidatedOutput;
pub use extract::ExtractiveSummarizer;
pub use ground::{EvidenceLocation, GroundingError};
pub use summarizer::{SummarizeError, Summarizer, SummaryFailure};

/// Maximum bullets of a summary.
pub(crate) const MAX_BULLETS: usize = 20;
/// Maximum characters of a claim.
pub(crate) const MAX_CLAIM: usize = 500;

/// A claim with the quote that supports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryBullet {
    pub claim: String,
    pub evidence: String,
    pub place: EvidenceLocation,
}

/// A rejected bullet, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectedBullet {
    /// Number in the summary, starting at 1.
    pub number: usize,
    /// The claim, bounded and on one line.
    pub claim: String,
    pub reason: String,
}

/// The grounded bullets and the rejected ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroundedSummary {
    pub bullets: Vec<SummaryBullet>,
    pub rejected: Vec<RejectedBullet>,
}

/// The reason why a text is not a valid summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("expected an object of type `summary`")]
    NotASummary,
    #[error("unknown key `{0}` in the summary")]
    UnknownKey(String),
    #[error("`bullets` must be a list of 1 to {MAX_BULLETS} bullets")]
    Bullets,
    #[error("none of {} bullets is grounded; the first: {}", .0.len(), first_reason(.0))]
    NothingGrounded(Vec<RejectedBullet>),
}

fn first_reason(rejected: &[RejectedBullet]) -> &str {
    rejected.first().map_or("", |rejected| rejected.reason.as_str())
}

/// The reason why a bullet is rejected.
#[derive(Debug, thiserror::Error)]
enum BulletError {
    #[error("a bullet must be an object with exactly two strings, `claim` and `evidence`")]
    Form,
    #[error("the claim must be one line of 1 to {MAX_CLAIM} characters")]
    Claim,
    #[error("the claim contains an invisible character")]
    Hidden,
    #[error(transparent)]
    Ungrounded(#[from] GroundingError),
}

/// Parses a summary and returns the bullets whose evidence occurs in the output.
///
/// Errors if the text is not a summary or no bullet is grounded.
pub fn check_summary(
    text: &str,
    output: &ValidatedOutput,
) -> Result<GroundedSummary, SummaryError> {
    let mut object = parse_single_object(text)?;
    if object.shift_remove("type") != Some("summary".into()) {
        return Err(SummaryError::NotASummary);
    }
    let Some(Value::Array(given)) = object.shift_remove("bullets") else {
        return Err(SummaryError::Bullets);
    };
    if let Some(key) = object.keys().next() {
        return Err(SummaryError::UnknownKey(shorten_name(key)));
    }
    if given.is_empty() || given.len() > MAX_BULLETS {
        return Err(SummaryError::Bullets);
    }
    let mut summary = GroundedSummary { bullets: Vec::new(), rejected: Vec::new() };
    for (index, bullet) in given.into_iter().enumerate() {
        let claim = bullet.get("claim").and_then(Value::as_str).unwrap_or_default();
        let claim = shorten_text(claim, MAX_CLAIM);
        match parse_bullet(bullet, output.value()) {
            Ok(bullet) => summary.bullets.push(bullet),
            Err(error) => {
                let reason = error.to_string();
                summary.rejected.push(RejectedBullet { number: index + 1, claim, reason });
            }
        }
    }
    if summary.bullets.is_empty() {
        return Err(SummaryError::NothingGrounded(summary.rejected));
    }
    Ok(summary)
}

fn parse_bullet(bullet: Value, output: &Value) -> Result<SummaryBullet, BulletError> {
    let Value::Object(mut bullet) = bullet else { return Err(BulletError::Form) };
    let claim = take_text(&mut bullet, "claim")?;
    let evidence = take_text(&mut bullet, "evidence")?;
    if !bullet.is_empty() {
        return Err(BulletError::Form);
    }
    if claim.trim().is_empty() || claim.chars().count() > MAX_CLAIM || claim.contains(['\n', '\t'])
    {
        return Err(BulletError::Claim);
    }
    if claim.chars().any(is_hidden) {
        return Err(BulletError::Hidden);
    }
    let place = ground::locate_evidence(&evidence, output)?;
    Ok(SummaryBullet { claim, evidence, place })
}

fn take_text(bullet: &mut Map<String, Value>, key: &str) -> Result<String, BulletError> {
    match bullet.shift_remove(key) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(BulletError::Form),
    }
}

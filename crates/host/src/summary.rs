//! Gate 5: every bullet of a summary quotes evidence that is a verbatim piece of the validated output.
//!
//! A summary is read as one JSON object and nothing else, so a summariser can do nothing but summarise: it has no tools, and a plan in
//! its answer is not a summary. Each quote is located by JSON pointer and byte span. A bullet without
//! such a place is rejected by itself; a summary without any other fails as a whole.

mod extract;
mod ground;
mod summarizer;

use contract::text::is_hidden;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::json::{JsonError, one_object, short, shortened};
use crate::typed::Validated;
pub use extract::Extractive;
pub use ground::{Place, Ungrounded};
pub use summarizer::{NoSummary, SummarizeError, Summarizer};

/// Longer is no summary.
pub(crate) const MAX_BULLETS: usize = 20;
pub(crate) const MAX_CLAIM: usize = 500;

/// A statement with the quote it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bullet {
    pub claim: String,
    pub evidence: String,
    pub place: Place,
}

/// A bullet that does not count, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// Its number in the summary, from 1.
    pub number: usize,
    /// What it claimed, bounded and on one line, for the person who wonders.
    pub claim: String,
    pub reason: String,
}

/// The bullets that are grounded, and those that were rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub bullets: Vec<Bullet>,
    pub rejected: Vec<Rejected>,
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("the answer is not of the type `summary`")]
    NotASummary,
    #[error("`{0}` has no place in a summary")]
    UnknownKey(String),
    #[error("`bullets` must be a list of 1 to {MAX_BULLETS} bullets")]
    Bullets,
    #[error("none of {} bullets is grounded; the first: {}", .0.len(), first(.0))]
    NothingGrounded(Vec<Rejected>),
}

fn first(rejected: &[Rejected]) -> &str {
    rejected.first().map_or("", |rejected| rejected.reason.as_str())
}

#[derive(Debug, thiserror::Error)]
enum BulletError {
    #[error("a bullet is an object with `claim` and `evidence`, both texts, and nothing else")]
    Form,
    #[error("the claim must be one line of 1 to {MAX_CLAIM} characters")]
    Claim,
    #[error("the claim holds an invisible character")]
    Hidden,
    #[error(transparent)]
    Ungrounded(#[from] Ungrounded),
}

/// Reads a summary and keeps the bullets whose evidence stands in the output.
pub fn check(text: &str, output: &Validated) -> Result<Summary, SummaryError> {
    let mut object = one_object(text)?;
    if object.shift_remove("type") != Some("summary".into()) {
        return Err(SummaryError::NotASummary);
    }
    let Some(Value::Array(given)) = object.shift_remove("bullets") else {
        return Err(SummaryError::Bullets);
    };
    if let Some(key) = object.keys().next() {
        return Err(SummaryError::UnknownKey(short(key)));
    }
    if given.is_empty() || given.len() > MAX_BULLETS {
        return Err(SummaryError::Bullets);
    }
    let mut summary = Summary { bullets: Vec::new(), rejected: Vec::new() };
    for (index, bullet) in given.into_iter().enumerate() {
        let claim = bullet.get("claim").and_then(Value::as_str).unwrap_or_default();
        let claim = shortened(claim, MAX_CLAIM);
        match read(bullet, output.value()) {
            Ok(bullet) => summary.bullets.push(bullet),
            Err(error) => {
                let reason = error.to_string();
                summary.rejected.push(Rejected { number: index + 1, claim, reason });
            }
        }
    }
    if summary.bullets.is_empty() {
        return Err(SummaryError::NothingGrounded(summary.rejected));
    }
    Ok(summary)
}

fn read(bullet: Value, output: &Value) -> Result<Bullet, BulletError> {
    let Value::Object(mut bullet) = bullet else { return Err(BulletError::Form) };
    let claim = take(&mut bullet, "claim")?;
    let evidence = take(&mut bullet, "evidence")?;
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
    let place = ground::locate(&evidence, output)?;
    Ok(Bullet { claim, evidence, place })
}

fn take(bullet: &mut Map<String, Value>, key: &str) -> Result<String, BulletError> {
    match bullet.shift_remove(key) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(BulletError::Form),
    }
}

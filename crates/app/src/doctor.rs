//! The checks of `vouch doctor`: configuration, folder, store, record, index, model, port and token.
//!
//! Nothing is changed. Start at [`run_checks`].

mod checks;
mod context;
mod probe;
mod upstreams;

use serde::Serialize;

pub use checks::run_checks;

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    /// It works, but something should be changed.
    Warn,
    Fail,
}

/// One line of the report.
#[derive(Debug, Serialize)]
pub struct Check {
    pub check: &'static str,
    pub verdict: Verdict,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Check {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, message: message.into(), fix: None }
    }

    fn warn(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Warn, message: message.into(), fix: Some(fix.into()) }
    }

    fn fail(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Fail, message: message.into(), fix: Some(fix.into()) }
    }
}

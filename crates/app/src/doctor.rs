//! The checks of `vouch doctor`: configuration, root, tools, state, audit log, index, upstreams, token and port.
//!
//! The checks change nothing. Start at [`run_checks`].

mod checks;
mod context;
mod probe;
mod upstreams;

use serde::Serialize;

pub use checks::run_checks;

/// The verdict of a doctor check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DoctorVerdict {
    Ok,
    /// Works, but should be changed.
    Warn,
    Fail,
}

/// The result of one check, printed as one line of the report.
#[derive(Debug, Serialize)]
pub struct DoctorCheck {
    pub check: &'static str,
    pub verdict: DoctorVerdict,
    pub message: String,
    /// Suggested fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl DoctorCheck {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, verdict: DoctorVerdict::Ok, message: message.into(), fix: None }
    }

    fn warn(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, verdict: DoctorVerdict::Warn, message: message.into(), fix: Some(fix.into()) }
    }

    fn fail(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, verdict: DoctorVerdict::Fail, message: message.into(), fix: Some(fix.into()) }
    }
}

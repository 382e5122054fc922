//! The interface of operator rules, which decide if a call may run and if its caller may receive the result.
//!
//! The pipeline of the crate `runtime` calls a policy; the crate `rules` implements it with rules in CEL.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::Caller;

/// Decides about calls and their results. It runs on the threads that serve connections, so it must be fast.
pub trait CallPolicy: Send + Sync {
    /// Decides if this call may run. The arguments satisfy the schema, and defaults are filled in.
    fn on_call(&self, subject: &PolicySubject<'_>) -> PolicyVerdict;

    /// Decides if the caller may receive this result: the validated structured content, or `{"content": […]}` if the
    /// contract has no output schema. Results cannot be approved, so [`PolicyVerdict::Approve`] withholds one. An answer
    /// with `is_error` is not a result and is not passed here.
    fn on_result(&self, subject: &PolicySubject<'_>, result: &Value) -> PolicyVerdict;
}

/// The parts of a call that rules can read.
#[derive(Clone, Copy, Debug)]
pub struct PolicySubject<'a> {
    /// The name in the catalog.
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub caller: &'a Caller,
    pub annotations: &'a Map<String, Value>,
}

/// A decision on a call or a result, with the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
    Allow,
    Deny {
        rule: Arc<str>,
        /// Safe to display to the caller: it names the rule and types of values, never a value.
        reason: Option<String>,
    },
    /// A person must approve the call, even if the contract requires no approval.
    Approve {
        rule: Arc<str>,
    },
}

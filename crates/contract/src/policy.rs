//! Rules that an operator adds to the contracts: whether a call may run, and whether its caller may have the result.
//!
//! This module owns the question and the answer. The pipeline of the crate `runtime` asks; the crate `rules` answers with
//! rules in CEL.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::Caller;

/// Rules on what goes in and what comes out. It is asked on the threads that serve connections, so it must be quick.
pub trait CallPolicy: Send + Sync {
    /// Decides whether this call may run. The arguments have passed the schema, and defaults are filled in.
    fn on_call(&self, subject: &PolicySubject<'_>) -> PolicyVerdict;

    /// Decides whether the caller may have this result: the validated structured content, or `{"content": […]}` where a
    /// contract has no output schema. People are not asked about results, so [`PolicyVerdict::Approve`] withholds one. An
    /// answer by which the tool reports a failure is not a result.
    fn on_result(&self, subject: &PolicySubject<'_>, result: &Value) -> PolicyVerdict;
}

/// A call of a tool, as rules see it.
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
        /// Safe to show to the caller: it names the rule and kinds of values, never a value.
        reason: Option<String>,
    },
    /// A person must agree, whatever the contract says.
    Approve {
        rule: Arc<str>,
    },
}

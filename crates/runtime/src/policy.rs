//! What an operator adds to the contracts: rules on calls and results, and who may call which tool.
//!
//! This crate only asks; how rules are written is the business of whoever gives the [`Policy`].

use contract::{Caller, Code, ToolError};
use serde_json::{Map, Value};

/// Rules on what goes in and what comes out. It is asked on the threads that serve connections, so it must be quick.
pub trait Policy: Send + Sync {
    /// Whether this call may run. The arguments have passed the schema, and defaults are filled in.
    fn on_call(&self, subject: &Judged<'_>) -> Verdict;

    /// Whether the caller may have this result: the validated structured content, or `{"content": […]}` where a contract
    /// has no output schema. Nobody is asked about a result, so [`Verdict::Approve`] withholds it. An answer by which the
    /// tool says that it failed is no result.
    fn on_result(&self, subject: &Judged<'_>, result: &Value) -> Verdict;
}

/// A call of a tool, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub caller: &'a Caller,
    pub annotations: &'a Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny {
        rule: String,
        reason: String,
    },
    /// A person must agree, whatever the contract says.
    Approve {
        rule: String,
    },
}

impl Verdict {
    pub(crate) fn denied(what: &str, rule: String, reason: &str) -> ToolError {
        let message = match reason {
            "" => format!("the rule `{rule}` denies this {what}"),
            reason => format!("the rule `{rule}` denies this {what}: {reason}"),
        };
        ToolError::new(Code::AccessDenied, message).with("rule", rule)
    }
}

/// Which tools a client may call. The others do not exist for it.
pub trait ToolFilter: Send + Sync {
    fn allows(&self, tool: &str) -> bool;
}

impl<F: Fn(&str) -> bool + Send + Sync> ToolFilter for F {
    fn allows(&self, tool: &str) -> bool {
        self(tool)
    }
}

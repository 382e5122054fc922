//! The last stage, which always runs: metrics and one audit line for every call, refused and abandoned ones too.

use std::sync::Arc;
use std::time::Instant;

use contract::{CallContext, Code, Contract, Output, SideEffects, ToolError};
use serde_json::Value;
use store::NewAnswer;
use store::audit::{Arguments, Outcome, Record};

use super::Pipeline;
use super::answer::{Withheld, output_size};
use crate::audit::describe;
use crate::call::{Call, Question, Reply};

/// Characters of what is said of a withheld answer: it holds names that the answer chose.
const MAX_VIOLATION: usize = 1000;

/// Collects what happens to a call. If the caller goes away the ledger is dropped, which cancels the work and still
/// leaves the line.
pub(super) struct Ledger<'a> {
    pipeline: &'a Pipeline,
    started: Instant,
    caller: contract::Caller,
    tool: String,
    trace: Option<String>,
    contract: Option<Arc<Contract>>,
    arguments: Option<Arguments>,
    ctx: Option<CallContext>,
    /// The tool was started: from here on something may have changed, whatever the reply says.
    began: bool,
    /// The tool has run; what came of it may go no further.
    answered: bool,
    /// What really happened, where the caller is told something else.
    refused_as: Option<Code>,
    state: String,
    /// The line is with the log; there is no second one, even if the caller goes away while it is written.
    recorded: bool,
    open: bool,
}

impl<'a> Ledger<'a> {
    pub(super) fn open(pipeline: &'a Pipeline, call: &Call, trace: Option<String>) -> Self {
        pipeline.metrics.begin();
        Self {
            pipeline,
            started: Instant::now(),
            caller: call.caller.clone(),
            tool: call.subject.name().to_owned(),
            trace,
            contract: None,
            arguments: None,
            ctx: None,
            began: false,
            answered: false,
            refused_as: None,
            state: String::new(),
            recorded: false,
            open: true,
        }
    }

    pub(super) fn resolved(&mut self, contract: &Arc<Contract>) {
        self.contract = Some(Arc::clone(contract));
    }

    pub(super) fn arguments(&mut self, arguments: &Value, digest: &str) {
        self.arguments =
            arguments.as_object().map(|arguments| describe(arguments, digest.to_owned()));
    }

    /// Arguments that passed the schema, for contracts that allow their values in the log.
    pub(super) fn validated(&mut self, values: &Value) {
        if self.contract.as_ref().is_some_and(|contract| contract.constraints.audit_values)
            && let Some(arguments) = &mut self.arguments
        {
            arguments.values = Some(values.clone());
        }
    }

    pub(super) fn running(&mut self, ctx: &CallContext) {
        self.ctx = Some(ctx.clone());
    }

    /// An answer came, whatever becomes of it: so the tool has run.
    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    pub(super) fn began(&mut self) {
        self.began = true;
    }

    pub(super) fn refused_as(&mut self, code: Code) {
        self.refused_as = Some(code);
    }

    pub(super) fn seal(&mut self, state: String) {
        self.state = state;
    }

    /// Keeps an answer for people, and tells the caller under which name they find it.
    pub(super) async fn withhold(&mut self, withheld: Withheld) -> ToolError {
        let Withheld { mut error, violation, raw } = withheld;
        let contract = self.contract.as_ref().map(|contract| contract.digest().to_owned());
        let arguments = self.arguments.as_ref().map(|arguments| arguments.digest.clone());
        let answer = NewAnswer {
            principal: self.caller.principal.to_string(),
            tool: self.tool.clone(),
            contract_digest: contract.unwrap_or_default(),
            arguments_digest: arguments.unwrap_or_default(),
            violation: violation.chars().take(MAX_VIOLATION).collect(),
            raw,
        };
        error.details.entry("tool").or_insert_with(|| self.tool.as_str().into());
        match self.pipeline.store.keep_answer(answer).await {
            Ok(id) => {
                let hint = format!("a person can look at it with: vouch calls show {id}");
                error.with("callId", id).with("hint", hint)
            }
            Err(cause) => {
                tracing::error!(%cause, tool = self.tool, "a withheld answer could not be kept");
                error
            }
        }
    }

    /// The reply to a call that waits for answers, with the state sealed for it.
    pub(super) fn suspended(&mut self, questions: Vec<Question>) -> Reply {
        Reply::InputRequired { questions, state: std::mem::take(&mut self.state) }
    }

    /// Writes the line and gives the reply back. A call that changed something is answered only once its line is on
    /// disk; a call that only read is not made to wait for that.
    pub(super) async fn close(mut self, reply: Reply) -> Reply {
        let record = self.record(&reply);
        self.recorded = true;
        if self.changes() && record.outcome != Outcome::Error {
            if let Err(error) = self.pipeline.audit.append_durable(record).await {
                tracing::error!(%error, "a change was made but its audit line is not on disk");
            }
        } else {
            self.pipeline.audit.append(record);
        }
        self.end(reply.code());
        reply
    }

    fn changes(&self) -> bool {
        let effects = self.contract.as_ref().map(|contract| contract.constraints.side_effects);
        effects.is_some_and(|effects| effects != SideEffects::None)
    }

    fn is_uncertain(&self, error: &ToolError) -> bool {
        let may_have_run = error.details.get("mayHaveRun") == Some(&true.into());
        let nobody_waited = matches!(error.code, Code::Cancelled | Code::ExecutionTimeout);
        self.answered || may_have_run || nobody_waited
    }

    /// Only now does the call no longer count as in flight: a server that shuts down waits for its line, too.
    fn end(&mut self, code: Option<Code>) {
        self.open = false;
        let known = self.contract.as_ref().map_or("(unknown)", |contract| contract.name.as_str());
        let code = self.refused_as.or(code);
        self.pipeline.metrics.end(known, code, self.started.elapsed());
        self.pipeline.idle.notify_waiters();
    }

    fn record(&mut self, reply: &Reply) -> Record {
        let duration = self.started.elapsed();
        let code = self.refused_as.or_else(|| reply.code());
        if let Some(code) = code {
            tracing::debug!(%code, ?duration, "refused or failed");
        }
        Record {
            time: jiff::Timestamp::now(),
            caller: self.caller.principal.to_string(),
            client: self.caller.client.as_deref().map(short),
            tool: Some(short(&self.tool)),
            contract: self.contract.as_ref().map(|contract| contract.digest().to_owned()),
            arguments: self.arguments.take(),
            outcome: match reply {
                Reply::Done(output) if output.is_error => Outcome::Error,
                Reply::Done(_) => Outcome::Ok,
                Reply::InputRequired { .. } => Outcome::InputRequired,
                // Nobody waited for the end of it, or nobody can tell from the answer: so nobody knows.
                Reply::Failed(error)
                    if self.began && self.changes() && self.is_uncertain(error) =>
                {
                    Outcome::Unknown
                }
                Reply::Failed(_) | Reply::Refused(_) => Outcome::Error,
            },
            code: code.map(|code| code.as_str().to_owned()),
            duration_us: u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            result_bytes: match reply {
                Reply::Done(output) => size(output),
                _ => 0,
            },
            trace: self.trace.take(),
        }
    }
}

impl Drop for Ledger<'_> {
    fn drop(&mut self) {
        // Work that outlives its answer (a time limit, a caller that went away) is told to stop.
        if let Some(ctx) = &self.ctx {
            ctx.cancel();
        }
        if !self.open {
            return;
        }
        if !self.recorded {
            let gone = contract::ToolError::new(Code::Cancelled, "the caller went away");
            let record = self.record(&Reply::Failed(gone));
            self.pipeline.audit.append(record);
        }
        self.end(Some(Code::Cancelled));
    }
}

fn size(output: &Output) -> u64 {
    u64::try_from(output_size(output)).unwrap_or(u64::MAX)
}

/// Names come from strangers; a line of the log stays short.
fn short(text: &str) -> String {
    contract::text::one_line(&text.chars().take(128).collect::<String>())
}

/// The line of a request that never reached a tool.
pub(super) fn door_record(principal: &str, code: Code) -> Record {
    Record {
        time: jiff::Timestamp::now(),
        caller: principal.to_owned(),
        client: None,
        tool: None,
        contract: None,
        arguments: None,
        outcome: Outcome::Error,
        code: Some(code.as_str().to_owned()),
        duration_us: 0,
        result_bytes: 0,
        trace: None,
    }
}

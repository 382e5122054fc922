//! The last stage, which always runs: metrics and one audit record for every call, including refused and abandoned
//! ones. A call with side effects also leaves its intent in the audit log, before its tool runs.

use std::sync::Arc;
use std::time::Instant;

use contract::{CallContext, Contract, ErrorCode, SideEffects, ToolError, ToolOutput};
use serde_json::Value;
use store::NewWithheldAnswer;
use store::audit::{AuditApproval, AuditArguments, AuditCall, AuditIntent, AuditOutcome};

use super::Pipeline;
use super::answer::{WithheldAnswer, output_size};
use super::errors::audit_unavailable_error;
use crate::audit::describe_arguments;
use crate::call::{ElicitationRequest, ToolCall, ToolReply};

/// Maximum characters of a violation. It contains names chosen by the answer.
const MAX_VIOLATION: usize = 1000;

/// Collects the facts of a call for its audit record and metrics.
///
/// If the caller disconnects, the value is dropped, which cancels the work and still writes the audit record.
pub(super) struct CallRecord<'a> {
    pipeline: &'a Pipeline,
    started: Instant,
    caller: contract::Caller,
    tool: String,
    trace: Option<String>,
    contract: Option<Arc<Contract>>,
    arguments: Option<AuditArguments>,
    /// Digest of the arguments without a key, for withheld answers. It is not in the audit log.
    arguments_digest: String,
    /// Id of the intent in the audit log.
    intent: Option<String>,
    approval: Option<AuditApproval>,
    ctx: Option<CallContext>,
    /// The tool was started, so side effects may have happened regardless of the reply.
    began: bool,
    /// The tool has answered, even if the answer is withheld.
    answered: bool,
    /// The real code, if the caller receives a different one.
    refused_as: Option<ErrorCode>,
    state: String,
    /// Number of secrets that the reply contained.
    secrets: u64,
    /// The record has been handed to the audit log. It prevents a second one if the caller disconnects during the
    /// write.
    recorded: bool,
    open: bool,
}

impl<'a> CallRecord<'a> {
    /// Starts a record and counts the call as in flight.
    pub(super) fn start(pipeline: &'a Pipeline, call: &ToolCall, trace: Option<String>) -> Self {
        pipeline.metrics.record_start();
        Self {
            pipeline,
            started: Instant::now(),
            caller: call.caller.clone(),
            tool: call.subject.name().to_owned(),
            trace,
            contract: None,
            arguments: None,
            arguments_digest: String::new(),
            intent: None,
            approval: None,
            ctx: None,
            began: false,
            answered: false,
            refused_as: None,
            state: String::new(),
            secrets: 0,
            recorded: false,
            open: true,
        }
    }

    pub(super) fn set_contract(&mut self, contract: &Arc<Contract>) {
        self.contract = Some(Arc::clone(contract));
    }

    pub(super) fn set_arguments(&mut self, arguments: &Value, digest: &str) {
        digest.clone_into(&mut self.arguments_digest);
        let keyed = self.pipeline.audit.blind_digest(digest);
        self.arguments =
            arguments.as_object().map(|arguments| describe_arguments(arguments, keyed));
    }

    /// Adds the validated arguments, if the contract allows values in the audit log.
    pub(super) fn set_argument_values(&mut self, values: &Value) {
        if self.contract.as_ref().is_some_and(|contract| contract.constraints.audit_values)
            && let Some(arguments) = &mut self.arguments
        {
            arguments.values = Some(values.clone());
        }
    }

    /// Notes the approval that lets the call run.
    pub(super) fn set_approval(&mut self, approval: Option<AuditApproval>) {
        self.approval = approval;
    }

    pub(super) fn set_context(&mut self, ctx: &CallContext) {
        self.ctx = Some(ctx.clone());
    }

    /// Notes that the tool has answered, and therefore has run.
    pub(super) fn mark_answered(&mut self) {
        self.answered = true;
    }

    /// Notes that the tool is started. If it has side effects, its intent is in the audit log afterwards; if that fails, the
    /// call is refused.
    pub(super) async fn mark_started(&mut self) -> Result<(), ToolError> {
        if self.has_side_effects() {
            self.write_intent().await.map_err(|error| {
                tracing::error!(%error, "failed to write the intent of a call with side effects");
                audit_unavailable_error()
            })?;
        }
        self.began = true;
        Ok(())
    }

    async fn write_intent(&mut self) -> Result<(), store::StoreError> {
        let audit = &self.pipeline.audit;
        let id = audit.new_call_id()?;
        // Noted before the write, so that the record of a call that is abandoned meanwhile names its intent.
        self.intent = Some(id.clone());
        let intent = AuditIntent {
            intent: id,
            time: jiff::Timestamp::now(),
            caller: self.caller.principal.to_string(),
            client: self.caller.client.as_deref().map(shorten_name),
            tool: shorten_name(&self.tool),
            contract: self.contract.as_ref().map(|contract| contract.digest().to_owned()),
            arguments: self.arguments.clone(),
            approval: self.approval.clone(),
            trace: self.trace.clone(),
        };
        audit.append_intent(intent).await
    }

    pub(super) fn set_refusal_code(&mut self, code: ErrorCode) {
        self.refused_as = Some(code);
    }

    pub(super) fn set_sealed_state(&mut self, state: String) {
        self.state = state;
    }

    pub(super) fn contract(&self) -> Option<&Arc<Contract>> {
        self.contract.as_ref()
    }

    /// Counts the secrets that the reply contained, by rule.
    pub(super) fn set_secrets(&mut self, hits: &[(&'static str, u64)]) {
        let tool = self.contract.as_ref().map_or("(unknown)", |contract| contract.name.as_str());
        for (rule, count) in hits {
            self.pipeline.metrics.record_secrets(tool, rule, *count);
            self.secrets += count;
        }
        if self.secrets > 0 {
            tracing::warn!(tool, count = self.secrets, "the reply contained secrets");
        }
    }

    /// Stores a withheld answer for people. Returns the error for the caller, with the id under which it is stored.
    pub(super) async fn store_withheld(&mut self, withheld: WithheldAnswer) -> ToolError {
        let WithheldAnswer { mut error, violation, raw } = withheld;
        let contract = self.contract.as_ref().map(|contract| contract.digest().to_owned());
        let answer = NewWithheldAnswer {
            principal: self.caller.principal.to_string(),
            tool: self.tool.clone(),
            contract_digest: contract.unwrap_or_default(),
            arguments_digest: self.arguments_digest.clone(),
            violation: violation.chars().take(MAX_VIOLATION).collect(),
            raw,
        };
        error.details.entry("tool").or_insert_with(|| self.tool.as_str().into());
        match self.pipeline.store.save_withheld_answer(answer).await {
            Ok(id) => {
                let hint = format!("a person can inspect it with `vouch calls show {id}`");
                error.with_detail("callId", id).with_detail("hint", hint)
            }
            Err(cause) => {
                tracing::error!(%cause, tool = self.tool, "failed to store a withheld answer");
                error
            }
        }
    }

    /// Returns the reply to a call that requires input, with the sealed state.
    pub(super) fn take_input_required(&mut self, requests: Vec<ElicitationRequest>) -> ToolReply {
        ToolReply::InputRequired { elicitations: requests, state: std::mem::take(&mut self.state) }
    }

    /// Writes the audit record and returns the reply. A call with side effects returns only once its record is on disk;
    /// a read-only call does not wait for that.
    pub(super) async fn finish(mut self, reply: ToolReply) -> ToolReply {
        let record = self.build_audit_record(&reply);
        self.recorded = true;
        let is_change = self.began || record.outcome != AuditOutcome::Error;
        if self.has_side_effects() && is_change {
            if let Err(error) = self.pipeline.audit.append_durable(record).await {
                // The effect has happened, so the reply stays. The intent is open until the log has written the record, and
                // further changes are refused until then.
                tracing::error!(%error, "failed to write the audit record of a call with side effects");
            }
        } else {
            self.pipeline.audit.append(record);
        }
        self.record_end(reply.code());
        reply
    }

    fn has_side_effects(&self) -> bool {
        let effects = self.contract.as_ref().map(|contract| contract.constraints.side_effects);
        effects.is_some_and(|effects| effects != SideEffects::None)
    }

    /// Returns true if the tool may have run although the call failed.
    fn is_uncertain(&self, error: &ToolError) -> bool {
        let may_have_run = error.details.get("mayHaveRun") == Some(&true.into());
        let was_abandoned =
            matches!(error.code, ErrorCode::Cancelled | ErrorCode::ExecutionTimeout);
        self.answered || may_have_run || was_abandoned
    }

    /// Ends the call in the metrics. The call counts as in flight until here, so a shutdown waits for its audit record.
    fn record_end(&mut self, code: Option<ErrorCode>) {
        self.open = false;
        let known = self.contract.as_ref().map_or("(unknown)", |contract| contract.name.as_str());
        let code = self.refused_as.or(code);
        self.pipeline.metrics.record_end(known, code, self.started.elapsed());
        self.pipeline.idle.notify_waiters();
    }

    fn build_audit_record(&mut self, reply: &ToolReply) -> AuditCall {
        let duration = self.started.elapsed();
        let code = self.refused_as.or_else(|| reply.code());
        if let Some(code) = code {
            tracing::debug!(%code, ?duration, "refused or failed");
        }
        AuditCall {
            time: jiff::Timestamp::now(),
            caller: self.caller.principal.to_string(),
            client: self.caller.client.as_deref().map(shorten_name),
            tool: Some(shorten_name(&self.tool)),
            contract: self.contract.as_ref().map(|contract| contract.digest().to_owned()),
            arguments: self.arguments.take(),
            approval: self.approval.take(),
            outcome: match reply {
                ToolReply::Done(output) if output.is_error => AuditOutcome::Error,
                ToolReply::Done(_) => AuditOutcome::Ok,
                ToolReply::InputRequired { .. } => AuditOutcome::InputRequired,
                // The call was abandoned, or its answer does not say if the side effect happened.
                ToolReply::Failed(error)
                    if self.began && self.has_side_effects() && self.is_uncertain(error) =>
                {
                    AuditOutcome::Unknown
                }
                ToolReply::Failed(_) | ToolReply::Refused(_) => AuditOutcome::Error,
            },
            code: code.map(|code| code.as_str().to_owned()),
            duration_us: u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            result_bytes: match reply {
                ToolReply::Done(output) => result_size(output),
                _ => 0,
            },
            trace: self.trace.take(),
            secrets: (self.secrets > 0).then_some(self.secrets),
            call: self.intent.take(),
        }
    }
}

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        // Cancel work that outlives its reply, after a time limit or a disconnect.
        if let Some(ctx) = &self.ctx {
            ctx.cancel();
        }
        if !self.open {
            return;
        }
        if !self.recorded {
            let gone = contract::ToolError::new(ErrorCode::Cancelled, "the caller disconnected");
            let record = self.build_audit_record(&ToolReply::Failed(gone));
            self.pipeline.audit.append(record);
        }
        self.record_end(Some(ErrorCode::Cancelled));
    }
}

fn result_size(output: &ToolOutput) -> u64 {
    u64::try_from(output_size(output)).unwrap_or(u64::MAX)
}

/// Returns the text shortened and on one line. Names are untrusted.
fn shorten_name(text: &str) -> String {
    contract::text::one_line(&text.chars().take(128).collect::<String>())
}

/// Returns the audit record of a request that never reached a tool.
pub(super) fn build_refusal_record(principal: &str, code: ErrorCode) -> AuditCall {
    AuditCall {
        time: jiff::Timestamp::now(),
        caller: principal.to_owned(),
        client: None,
        tool: None,
        contract: None,
        arguments: None,
        approval: None,
        outcome: AuditOutcome::Error,
        code: Some(code.as_str().to_owned()),
        duration_us: 0,
        result_bytes: 0,
        trace: None,
        secrets: None,
        call: None,
    }
}

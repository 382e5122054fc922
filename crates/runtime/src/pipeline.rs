//! The pipeline: the stages that every call passes, in order, for any caller and any invoker.
//!
//! Start at [`Pipeline::call`]. `answer` checks the output, `output_screen` removes secrets from what leaves, `call_record`
//! writes audit and metrics, and `live_catalog` holds the served catalog.

mod answer;
mod call_record;
mod errors;
mod health;
mod live_catalog;
mod output_screen;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, CallPolicy, ErrorCode, PolicySubject, PolicyVerdict, SideEffects, ToolError,
    ToolOutput, sha256_value_digest,
};
use parking_lot::RwLock;
use serde_json::Value;
use store::Store;
use store::audit::{AuditApproval, AuditLog};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tracing::Instrument;

use crate::approval::{self, ApprovalMode, ApprovalRequest};
use crate::call::{
    CallInterruption, CallOrigin, CallSubject, ElicitationChannel, RoundInput, ToolCall, ToolReply,
};
use crate::catalog::{Catalog, CatalogEntry};
use crate::elicitation::ElicitationBroker;
use crate::limits::{RateClock, RateLimit};
use crate::metrics::Metrics;
use crate::policy::{ClientPolicy, ResourceFilter, ToolFilter, rule_denial_error};
use crate::seal::{RoundState, StateBinding, StateSealer};
use crate::trace::TraceParent;
use answer::{AnswerRejection, WithheldAnswer};
use call_record::CallRecord;
pub(crate) use errors::unknown_tool;
use errors::{
    audit_unavailable_error, cancelled_error, hidden_subject, timeout_error, unknown_subject,
};
use live_catalog::LiveCatalog;
pub use output_screen::SecretOutputMode;

/// Name of the key that seals request states, in the store.
const STATE_KEY: &str = "request-state";
/// Maximum time limit; longer limits are capped so that deadlines do not overflow.
const MAX_TIME_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// Extra time for a side effect that is under way at its time limit: enough for one append with its sync.
const SIDE_EFFECT_GRACE: Duration = Duration::from_secs(2);
/// Maximum audit records per minute and caller for requests refused before they become calls. It keeps a flood of such
/// requests from filling the disk.
const REFUSAL_RECORDS_PER_MINUTE: u32 = 600;

/// Settings of the operator.
pub struct PipelineOptions {
    /// Approval settings by tool name, overriding the contract. A tool without an entry follows its contract.
    pub approve: HashMap<String, ApprovalMode>,
    /// No client is asked for an approval: another principal decides on all of them.
    pub queue_approvals: bool,
    /// Lifetime of a queued approval and of a sealed state.
    pub approval_lifetime: Duration,
    /// Maximum time to wait for a connected user's answer.
    pub elicitation_timeout: Duration,
    /// The catalog may change while it is served ([`Pipeline::publish`]), so clients are offered change notifications.
    pub live: bool,
    /// Time for which a client may cache a listing.
    pub list_ttl: Duration,
    /// Rules on tool calls and on their results.
    pub policy: Option<Arc<dyn CallPolicy>>,
    /// Handling of secrets in replies.
    pub output_secrets: SecretOutputMode,
    /// What clients may do, by principal. A principal without an entry may call every tool and read every resource.
    pub clients: HashMap<String, ClientPolicy>,
    /// Clock of the rate limits.
    pub rate_clock: RateClock,
}

impl Default for PipelineOptions {
    fn default() -> Self {
        Self {
            approve: HashMap::new(),
            queue_approvals: false,
            approval_lifetime: Duration::from_secs(15 * 60),
            elicitation_timeout: Duration::from_secs(5 * 60),
            live: false,
            list_ttl: Duration::from_secs(60),
            policy: None,
            clients: HashMap::new(),
            output_secrets: SecretOutputMode::default(),
            rate_clock: RateClock::default(),
        }
    }
}

/// Runs calls against the served catalog and enforces contracts, limits, rules and approvals.
pub struct Pipeline {
    live: LiveCatalog,
    options: RwLock<Arc<PipelineOptions>>,
    store: Arc<dyn Store>,
    audit: AuditLog,
    metrics: Metrics,
    seal: StateSealer,
    refusal_records: RateLimit,
    idle: Notify,
}

impl Pipeline {
    /// Creates a pipeline that serves `catalog`. Errors if the store cannot provide the sealing key.
    pub async fn new(
        catalog: Catalog,
        store: Arc<dyn Store>,
        audit: AuditLog,
        options: PipelineOptions,
    ) -> Result<Arc<Self>, store::StoreError> {
        let key = store.get_or_create_secret(STATE_KEY).await?;
        let seal = StateSealer::new(key, Arc::clone(&store), options.approval_lifetime);
        Ok(Arc::new(Self {
            live: LiveCatalog::new(catalog, options.rate_clock.clone()),
            store,
            metrics: Metrics::new(audit.counts()),
            audit,
            seal,
            refusal_records: RateLimit::per_minute(REFUSAL_RECORDS_PER_MINUTE, &options.rate_clock),
            options: RwLock::new(Arc::new(options)),
            idle: Notify::new(),
        }))
    }

    /// Returns the catalog that is served now. The returned catalog does not change when another one is published.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.live.catalog()
    }

    /// Replaces the served catalog.
    ///
    /// Calls in flight finish with the entry they resolved. A tool that keeps its name and rate keeps its callers' used
    /// quota. Subscribers are notified unless the new catalog has the same names and digests.
    pub fn publish(&self, catalog: Catalog) {
        self.live.publish(catalog);
    }

    /// Returns a receiver of a counter that grows with every published change.
    pub fn catalog_changes(&self) -> watch::Receiver<u64> {
        self.live.changes()
    }

    /// Replaces the operator's settings. Calls in flight finish with those that they started with, except for approvals
    /// that they have yet to ask for.
    pub fn replace_options(&self, options: PipelineOptions) {
        *self.options.write() = Arc::new(options);
    }

    /// Returns the filter of tools that this client may call, or `None` if it may call all tools.
    pub fn tool_filter(&self, principal: &str) -> Option<Arc<dyn ToolFilter>> {
        self.options.read().clients.get(principal)?.tools.clone()
    }

    /// Returns the filter of resources that this client may read, or `None` if it may read all resources.
    fn resource_filter(&self, principal: &str) -> Option<Arc<dyn ResourceFilter>> {
        self.options.read().clients.get(principal)?.resources.clone()
    }

    /// Returns true if the client may read the resource, or use the template. It does not check that it exists.
    pub(crate) fn may_read(&self, principal: &str, uri: &str) -> bool {
        self.resource_filter(principal).is_none_or(|filter| filter.allows_address(uri))
    }

    /// Returns true if the client may call the tool. It does not check that the tool exists.
    pub(crate) fn may_call(&self, principal: &str, tool: &str) -> bool {
        self.tool_filter(principal).is_none_or(|filter| filter.allows(tool))
    }

    /// Returns the operator's settings that apply now.
    pub(crate) fn options(&self) -> Arc<PipelineOptions> {
        Arc::clone(&self.options.read())
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Waits until no call is in flight, then flushes the audit log to disk.
    pub async fn drain(&self) {
        loop {
            let idle = self.idle.notified();
            if self.metrics.in_flight() == 0 {
                break;
            }
            idle.await;
        }
        if let Err(error) = self.audit.flush().await {
            tracing::error!(%error, "failed to flush the audit log");
        }
    }

    /// Records a request that was refused before it became a call. Audit records are rate-limited; metrics are not.
    pub(crate) fn record_refused_request(&self, principal: &str, code: ErrorCode) {
        if self.refusal_records.try_acquire(&principal.into()).is_ok() {
            self.audit.append(call_record::build_refusal_record(principal, code));
        }
        self.metrics.record_start();
        self.metrics.record_end("(door)", Some(code), Duration::ZERO);
    }

    /// Runs one call through all stages and returns its reply. This is the only way to run a tool.
    pub async fn call(&self, call: ToolCall) -> ToolReply {
        let trace = call.traceparent.as_deref().and_then(TraceParent::parse);
        let span = tracing::info_span!(
            "call",
            otel.name = %call.subject.name(),
            tool = %call.subject.name(),
            caller = %call.caller.principal,
            trace_id = tracing::field::Empty,
        );
        if let Some(trace) = &trace {
            span.record("trace_id", trace.trace_id());
            trace.adopt(&span);
        }
        let mut record = CallRecord::start(self, &call, trace.map(|trace| trace.trace_id()));
        async {
            let reply = match self.run_stages(call, &mut record).await {
                Ok(output) => ToolReply::Done(output),
                Err(
                    CallInterruption::Fail(error) | CallInterruption::InvalidAnswer { error, .. },
                ) => ToolReply::Failed(error),
                Err(CallInterruption::Refuse(refusal)) => ToolReply::Refused(refusal),
                Err(CallInterruption::Elicit { elicitations: requests, .. }) => {
                    record.take_input_required(requests)
                }
            };
            let reply = self.screen_reply(reply, &mut record).await;
            record.finish(reply).await
        }
        .instrument(span)
        .await
    }

    async fn run_stages(
        &self,
        call: ToolCall,
        record: &mut CallRecord<'_>,
    ) -> Result<ToolOutput, CallInterruption> {
        let Some(entry) = self.live.resolve(&call.subject) else {
            return Err(unknown_subject(&call).into());
        };
        let entry = &*entry;
        if !self.is_allowed(&call) {
            // Same reply as for an unknown tool, so that the caller cannot discover tools it may not call.
            record.set_refusal_code(ErrorCode::AccessDenied);
            return Err(hidden_subject(&call).into());
        }
        let contract = &entry.contract;
        record.set_contract(contract);
        let given = Value::Object(call.arguments);
        let arguments_digest = sha256_value_digest(&given);
        record.set_arguments(&given, &arguments_digest);
        let arguments = validate_input(entry, given)?;
        record.set_argument_values(&arguments);
        check_rate_limit(entry, &call.caller)?;
        if !self.audit.is_healthy() && contract.constraints.side_effects != SideEffects::None {
            return Err(audit_unavailable_error().into());
        }
        let options = self.options();
        let policy = options.policy.as_deref();
        let policy = policy.filter(|_| matches!(call.subject, CallSubject::Tool(_)));
        let rule = match policy {
            Some(policy) => {
                apply_call_rules(policy, &build_policy_input(entry, &call.caller, &arguments))?
            }
            None => None,
        };
        // The tool takes ownership of the arguments, and the result rules need them later.
        let policy_arguments = policy.map(|_| arguments.clone());

        let binding = StateBinding {
            principal: &call.caller.principal,
            tool: &contract.name,
            contract: contract.digest(),
            arguments: &arguments_digest,
        };
        let broker = self.open_round(call.channel, &binding).await?;
        let _end_guard = broker.end_guard();
        let mode = options.output_secrets;
        let ctx = build_context(&call.caller, call.progress, call.traceparent, mode);
        record.set_context(&ctx);
        let work = async {
            let request = ApprovalRequest {
                caller: &call.caller,
                contract,
                arguments: &arguments,
                arguments_digest: &arguments_digest,
                rule: rule.as_deref(),
                lifetime: options.approval_lifetime,
            };
            let approval = self.approve_call(&request, &broker, call.origin).await?;
            record.set_approval(approval);
            record.mark_started().await?;
            run_with_timeout(entry, arguments, &broker, &ctx).await
        };
        let output = tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(cancelled_error().into()),
            output = work => output,
        };
        if matches!(output, Ok(_) | Err(CallInterruption::InvalidAnswer { .. })) {
            record.mark_answered();
        }
        let answer = match output {
            Ok(output) => answer::check_answer(entry, output).and_then(|output| {
                let (Some(policy), Some(arguments)) = (policy, &policy_arguments) else {
                    return Ok(output);
                };
                answer::apply_result_rules(
                    policy,
                    &build_policy_input(entry, &call.caller, arguments),
                    output,
                )
            }),
            Err(CallInterruption::InvalidAnswer { error, raw }) => {
                Err(WithheldAnswer::from_error(error, raw).into())
            }
            Err(CallInterruption::Elicit { elicitations: requests, carry }) => {
                let round = broker.build_next_round(&requests, carry);
                record.set_sealed_state(self.seal.seal(&binding, round).await?);
                return Err(CallInterruption::Elicit { elicitations: requests, carry: None });
            }
            Err(stop) => return Err(stop),
        };
        match answer {
            Ok(output) => Ok(output),
            Err(AnswerRejection::Failed(error)) => Err(error.into()),
            Err(AnswerRejection::Withheld(withheld)) => {
                Err(record.store_withheld(*withheld).await.into())
            }
        }
    }

    /// Opens the state sealed by an earlier round of this call, if any, and returns the broker for this round.
    async fn open_round(
        &self,
        channel: ElicitationChannel,
        binding: &StateBinding<'_>,
    ) -> Result<ElicitationBroker, CallInterruption> {
        let past = match &channel {
            ElicitationChannel::MultiRound(RoundInput { state: Some(state), .. }) => {
                self.seal.open(binding, state).await?
            }
            _ => RoundState::default(),
        };
        let options = self.options();
        let channel = output_screen::screen_channel(options.output_secrets, channel);
        Ok(ElicitationBroker::new(channel, past, options.elicitation_timeout))
    }

    /// Returns true if the caller may run this call.
    fn is_allowed(&self, call: &ToolCall) -> bool {
        match &call.subject {
            CallSubject::Tool(name) => self.may_call(&call.caller.principal, name),
            CallSubject::Resource => {
                let uri = call.arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
                self.may_read(&call.caller.principal, uri)
            }
        }
    }

    /// Obtains the approval if the call needs one.
    async fn approve_call(
        &self,
        request: &ApprovalRequest<'_>,
        broker: &ElicitationBroker,
        origin: CallOrigin,
    ) -> Result<Option<AuditApproval>, CallInterruption> {
        let options = self.options();
        let mode = options.approve.get(&request.contract.name).copied();
        if !approval::is_required(mode, request.contract, request.rule)? {
            return Ok(None);
        }
        let client = options.clients.get(&*request.caller.principal);
        let client = client.and_then(|client| client.approval);
        let route = approval::choose_route(options.queue_approvals, mode, client, origin);
        approval::approve_call(request, broker, &*self.store, route).await.map(Some)
    }
}

fn build_policy_input<'a>(
    entry: &'a CatalogEntry,
    caller: &'a contract::Caller,
    arguments: &'a Value,
) -> PolicySubject<'a> {
    let contract = &entry.contract;
    PolicySubject { tool: &contract.name, arguments, caller, annotations: &contract.annotations }
}

/// Returns the rule that requires a person's approval, if any. Errors if a rule denies the call.
fn apply_call_rules(
    policy: &dyn CallPolicy,
    subject: &PolicySubject<'_>,
) -> Result<Option<Arc<str>>, ToolError> {
    match policy.on_call(subject) {
        PolicyVerdict::Allow => Ok(None),
        PolicyVerdict::Approve { rule } => Ok(Some(rule)),
        PolicyVerdict::Deny { rule, reason } => {
            Err(rule_denial_error("call", &rule, reason.as_deref()))
        }
    }
}

/// Checks size and schema, and returns the arguments with defaults filled in.
fn validate_input(entry: &CatalogEntry, mut arguments: Value) -> Result<Value, ToolError> {
    let contract = &entry.contract;
    let limit = contract.constraints.max_input_bytes;
    let size = json_size(&arguments);
    if size > limit {
        return Err(ToolError::new(
            ErrorCode::TooLarge,
            format!("the arguments are {size} bytes, over the limit of {limit}"),
        )
        .with_detail("limit", limit)
        .with_detail("size", size));
    }
    contract.input.fill_defaults(&mut arguments);
    if let Err(violation) = contract.input.validate(&arguments) {
        return Err(entry.invoker.reword(&violation).unwrap_or_else(|| {
            ToolError::new(ErrorCode::InvalidInput, violation.message.clone())
                .with_detail("field", violation.field())
                .with_detail("rule", violation.keyword.clone())
        }));
    }
    entry.invoker.check(&arguments)?;
    Ok(arguments)
}

fn check_rate_limit(entry: &CatalogEntry, caller: &contract::Caller) -> Result<(), ToolError> {
    entry.rate_limit().try_acquire(&caller.principal).map_err(|wait| {
        let limit = entry.contract.constraints.rate_per_minute;
        // Rounded up, so that a caller that waits exactly this long is admitted.
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        ToolError::new(
            ErrorCode::RateLimited,
            format!(
                "rate limit of {limit} calls per minute exceeded for `{}`; retry in {wait} ms",
                entry.contract.name
            ),
        )
        .with_detail("limit", limit)
        .with_detail("retryAfterMs", wait)
    })
}

fn build_context(
    caller: &contract::Caller,
    progress: Option<Arc<dyn Fn(contract::Progress) + Send + Sync>>,
    traceparent: Option<String>,
    mode: SecretOutputMode,
) -> CallContext {
    let mut ctx = CallContext::new(caller.clone());
    ctx.traceparent = traceparent.filter(|text| TraceParent::parse(text).is_some()).map(Into::into);
    match progress {
        Some(sink) => ctx.with_progress(move |progress| {
            sink(output_screen::screen_progress(mode, progress));
        }),
        None => ctx,
    }
}

/// Runs the invoker within the contract's time limit. Time spent waiting for a user does not count. When the limit has
/// passed, the call is cancelled and an error is returned.
async fn run_with_timeout(
    entry: &CatalogEntry,
    arguments: Value,
    broker: &ElicitationBroker,
    ctx: &CallContext,
) -> Result<ToolOutput, CallInterruption> {
    let limit = entry.contract.constraints.timeout.min(MAX_TIME_LIMIT);
    let start = Instant::now();
    let already_waited = broker.total_wait();
    let mut run = entry.invoker.invoke(arguments, broker, ctx);
    loop {
        let deadline = start + limit + (broker.total_wait() - already_waited);
        match tokio::time::timeout_at(deadline, &mut run).await {
            Ok(result) => return result,
            Err(_) if start.elapsed() < limit + (broker.total_wait() - already_waited) => {}
            Err(_) => {
                ctx.cancel();
                // A side effect under way cannot be undone, so a late answer is better than a wrong one.
                if entry.contract.constraints.side_effects != SideEffects::None
                    && let Ok(Ok(output)) = tokio::time::timeout(SIDE_EFFECT_GRACE, run).await
                {
                    return Ok(output);
                }
                return Err(timeout_error(entry, limit).into());
            }
        }
    }
}

/// Returns the length of a value's JSON text in bytes, without allocating it.
pub(crate) fn json_size(value: &Value) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCounter(0);
    serde_json::to_writer(&mut count, value).expect("counting never fails");
    count.0
}

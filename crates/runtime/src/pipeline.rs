//! The pipeline: every stage that a call passes, in order, whoever calls and whatever runs it.

mod answer;
mod finish;
mod live;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{
    CallContext, CallPolicy, Code, Output, PolicySubject, PolicyVerdict, SideEffects, ToolError,
    sha256_of_value,
};
use serde_json::Value;
use store::Store;
use store::audit::AuditLog;
use tokio::sync::{Notify, watch};
use tracing::Instrument;

use crate::approval;
use crate::call::{Call, Person, Reply, Rounds, Stop, Subject};
use crate::catalog::{Catalog, Entry};
use crate::inquiry::Inquiry;
use crate::limits::RateLimit;
use crate::metrics::Metrics;
use crate::policy::{ToolFilter, denied};
use crate::seal::{Binding, Round, Seal};
use crate::trace::TraceParent;
use answer::{Flaw, Withheld};
use finish::Ledger;
use live::Live;

/// Longer limits count as this one: a clock cannot be set to the end of time.
const LONGEST_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a change that is under way at its time limit may take to finish: one append with its sync.
const CHANGE_GRACE: Duration = Duration::from_secs(2);
/// Requests turned away at the door that leave a line each, a minute and caller; a flood of them must not fill the disk.
const DOOR_LINES_PER_MINUTE: u32 = 600;

/// What happens to a tool whose contract wants a person's approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approve {
    /// Ask for each call.
    #[default]
    Ask,
    /// Every call counts as approved.
    Always,
    /// No call is approved.
    Never,
}

/// What an operator may set.
pub struct PipelineOptions {
    /// By tool name, for tools that differ from `Ask`. A tool that needs no approval by contract can be given one.
    pub approve: HashMap<String, Approve>,
    /// How long a queued approval or a sealed state can be used.
    pub approval_lifetime: Duration,
    /// How long a connected person may think.
    pub patience: Duration,
    /// The catalog may change while it is served ([`Pipeline::publish`]): clients are promised to be told.
    pub live: bool,
    /// How long a client may keep a listing without asking again.
    pub list_ttl: Duration,
    /// Rules on calls of tools and on their results.
    pub policy: Option<Arc<dyn CallPolicy>>,
    /// By principal, the tools that a client may call; one that is not in here may call every tool. Resources are not
    /// concerned.
    pub clients: HashMap<String, Arc<dyn ToolFilter>>,
}

impl Default for PipelineOptions {
    fn default() -> Self {
        Self {
            approve: HashMap::new(),
            approval_lifetime: Duration::from_secs(15 * 60),
            patience: Duration::from_secs(5 * 60),
            live: false,
            list_ttl: Duration::from_secs(60),
            policy: None,
            clients: HashMap::new(),
        }
    }
}

pub struct Pipeline {
    live: Live,
    options: PipelineOptions,
    store: Arc<dyn Store>,
    audit: AuditLog,
    metrics: Metrics,
    seal: Seal,
    door_lines: RateLimit,
    idle: Notify,
}

impl Pipeline {
    pub async fn new(
        catalog: Catalog,
        store: Arc<dyn Store>,
        audit: AuditLog,
        options: PipelineOptions,
    ) -> Result<Arc<Self>, store::StoreError> {
        let key = store.secret("request-state").await?;
        let seal = Seal::new(key, Arc::clone(&store), options.approval_lifetime);
        Ok(Arc::new(Self {
            live: Live::new(catalog),
            options,
            store,
            audit,
            metrics: Metrics::default(),
            seal,
            door_lines: RateLimit::per_minute(DOOR_LINES_PER_MINUTE),
            idle: Notify::new(),
        }))
    }

    /// The catalog that is served now. Whoever keeps it keeps what it was at this moment.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.live.catalog()
    }

    /// Serves another catalog from now on. Calls in flight end as they began; a tool that keeps its name and its rate
    /// keeps what its callers have used of it. Who listens is told, if there is something to tell: a catalog with the
    /// same names and digests is no change.
    pub fn publish(&self, catalog: Catalog) {
        self.live.publish(catalog);
    }

    /// A number that grows with every published change.
    pub fn catalog_changes(&self) -> watch::Receiver<u64> {
        self.live.changes()
    }

    /// Which tools this client may call; None where it may call all.
    pub fn filter(&self, principal: &str) -> Option<&dyn ToolFilter> {
        self.options.clients.get(principal).map(|filter| &**filter)
    }

    /// Whether the tool exists for this client, if it exists at all.
    pub(crate) fn may_call(&self, principal: &str, tool: &str) -> bool {
        self.filter(principal).is_none_or(|filter| filter.allows(tool))
    }

    pub(crate) fn options(&self) -> &PipelineOptions {
        &self.options
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Waits until no call is in flight, then until the audit log is on disk.
    pub async fn drain(&self) {
        loop {
            let idle = self.idle.notified();
            if self.metrics.in_flight() == 0 {
                break;
            }
            idle.await;
        }
        if let Err(error) = self.audit.flush().await {
            tracing::error!(%error, "the audit log could not be written out");
        }
    }

    /// Records a request that was turned away before it became a call. A flood is counted, not written out.
    pub(crate) fn refused_at_door(&self, principal: &str, code: Code) {
        if self.door_lines.take(&principal.into()).is_ok() {
            self.audit.append(finish::door_record(principal, code));
        }
        self.metrics.begin();
        self.metrics.end("(door)", Some(code), Duration::ZERO);
    }

    /// The one way to a tool.
    pub async fn call(&self, call: Call) -> Reply {
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
        let mut ledger = Ledger::open(self, &call, trace.map(|trace| trace.trace_id()));
        async {
            let reply = match self.stages(call, &mut ledger).await {
                Ok(output) => Reply::Done(output),
                Err(Stop::Fail(error) | Stop::Broken { error, .. }) => Reply::Failed(error),
                Err(Stop::Refuse(refusal)) => Reply::Refused(refusal),
                Err(Stop::Ask { questions, .. }) => ledger.suspended(questions),
            };
            ledger.close(reply).await
        }
        .instrument(span)
        .await
    }

    async fn stages(&self, call: Call, ledger: &mut Ledger<'_>) -> Result<Output, Stop> {
        let Some(entry) = self.live.resolve(&call.subject) else {
            return Err(unknown(&call).into());
        };
        let entry = &*entry;
        if !self.is_open_to(&call) {
            // No different from a tool that is not there: its name is none of the caller's business.
            ledger.refused_as(Code::AccessDenied);
            return Err(unknown(&call).into());
        }
        let contract = &entry.contract;
        ledger.resolved(contract);
        let given = Value::Object(call.arguments);
        let arguments_digest = sha256_of_value(&given);
        ledger.arguments(&given, &arguments_digest);
        let arguments = validate_input(entry, given)?;
        ledger.validated(&arguments);
        take_rate(entry, &call.caller)?;
        if !self.audit.is_healthy() && contract.constraints.side_effects != SideEffects::None {
            return Err(unaudited().into());
        }
        let policy = self.options.policy.as_deref();
        let policy = policy.filter(|_| matches!(call.subject, Subject::Tool(_)));
        let rule = match policy {
            Some(policy) => judge_call(policy, &judged(entry, &call.caller, &arguments))?,
            None => None,
        };
        // They are gone once the tool has them.
        let judged_arguments = policy.map(|_| arguments.clone());

        let binding = Binding {
            principal: &call.caller.principal,
            tool: &contract.name,
            contract: contract.digest(),
            arguments: &arguments_digest,
        };
        let inquiry = self.open_round(call.person, &binding).await?;
        let _asking = inquiry.until_dropped();
        let ctx = context(&call.caller, call.progress, call.traceparent);
        ledger.running(&ctx);
        let work = async {
            let request = approval::Request {
                caller: &call.caller,
                contract,
                arguments: &arguments,
                arguments_digest: &arguments_digest,
                rule: rule.as_deref(),
            };
            self.approve(&request, &inquiry).await?;
            ledger.began();
            run_in_time(entry, arguments, &inquiry, &ctx).await
        };
        let output = tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(cancelled().into()),
            output = work => output,
        };
        if matches!(output, Ok(_) | Err(Stop::Broken { .. })) {
            ledger.answered();
        }
        let answer = match output {
            Ok(output) => answer::check(entry, output).and_then(|output| {
                let (Some(policy), Some(arguments)) = (policy, &judged_arguments) else {
                    return Ok(output);
                };
                answer::judge(policy, &judged(entry, &call.caller, arguments), output)
            }),
            Err(Stop::Broken { error, raw }) => Err(Withheld::because(error, raw).into()),
            Err(Stop::Ask { questions, carry }) => {
                ledger.seal(self.seal.close(&binding, inquiry.next_round(&questions, carry))?);
                return Err(Stop::Ask { questions, carry: None });
            }
            Err(stop) => return Err(stop),
        };
        match answer {
            Ok(output) => Ok(output),
            Err(Flaw::Failed(error)) => Err(error.into()),
            Err(Flaw::Withheld(withheld)) => Err(ledger.withhold(*withheld).await.into()),
        }
    }

    /// Opens what an earlier round of this call sealed.
    async fn open_round(&self, person: Person, binding: &Binding<'_>) -> Result<Inquiry, Stop> {
        let past = match &person {
            Person::Rounds(Rounds { state: Some(state), .. }) => {
                self.seal.open(binding, state).await?
            }
            _ => Round::default(),
        };
        Ok(Inquiry::new(person, past, self.options.patience))
    }

    fn is_open_to(&self, call: &Call) -> bool {
        match &call.subject {
            Subject::Tool(name) => self.may_call(&call.caller.principal, name),
            Subject::Resource => true,
        }
    }

    async fn approve(
        &self,
        request: &approval::Request<'_>,
        inquiry: &Inquiry,
    ) -> Result<(), Stop> {
        let contract = request.contract;
        match self.options.approve.get(&contract.name) {
            Some(Approve::Never) => {
                return Err(ToolError::new(
                    Code::ApprovalDenied,
                    format!("`{}` is switched off by policy (approve = \"never\")", contract.name),
                )
                .with("retry", false)
                .into());
            }
            Some(Approve::Ask) => {}
            // A rule is about this very call, so it goes before what holds for the tool.
            _ if request.rule.is_some() => {}
            Some(Approve::Always) => return Ok(()),
            None if contract.constraints.approval => {}
            None => return Ok(()),
        }
        approval::approve(request, inquiry, &*self.store, self.options.approval_lifetime).await
    }
}

fn judged<'a>(
    entry: &'a Entry,
    caller: &'a contract::Caller,
    arguments: &'a Value,
) -> PolicySubject<'a> {
    let contract = &entry.contract;
    PolicySubject { tool: &contract.name, arguments, caller, annotations: &contract.annotations }
}

/// The rule that wants a person's approval, if one does.
fn judge_call(
    policy: &dyn CallPolicy,
    subject: &PolicySubject<'_>,
) -> Result<Option<Arc<str>>, ToolError> {
    match policy.on_call(subject) {
        PolicyVerdict::Allow => Ok(None),
        PolicyVerdict::Approve { rule } => Ok(Some(rule)),
        PolicyVerdict::Deny { rule, reason } => Err(denied("call", &rule, reason.as_deref())),
    }
}

fn validate_input(entry: &Entry, mut arguments: Value) -> Result<Value, ToolError> {
    let contract = &entry.contract;
    let limit = contract.constraints.max_input_bytes;
    let size = json_size(&arguments);
    if size > limit {
        return Err(ToolError::new(
            Code::TooLarge,
            format!("the arguments have {size} bytes, over the limit of {limit}"),
        )
        .with("limit", limit)
        .with("size", size));
    }
    contract.input.fill_defaults(&mut arguments);
    if let Err(violation) = contract.input.validate(&arguments) {
        return Err(entry.invoker.reword(&violation).unwrap_or_else(|| {
            ToolError::new(Code::InvalidInput, violation.message.clone())
                .with("field", violation.field())
                .with("rule", violation.keyword.clone())
        }));
    }
    entry.invoker.check(&arguments)?;
    Ok(arguments)
}

fn take_rate(entry: &Entry, caller: &contract::Caller) -> Result<(), ToolError> {
    entry.rate().take(&caller.principal).map_err(|wait| {
        let limit = entry.contract.constraints.rate_per_minute;
        // Rounded up: a caller that waits exactly this long is let in.
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        ToolError::new(
            Code::RateLimited,
            format!("over {limit} calls a minute to `{}`; wait {wait} ms", entry.contract.name),
        )
        .with("limit", limit)
        .with("retryAfterMs", wait)
    })
}

fn context(
    caller: &contract::Caller,
    progress: Option<Arc<dyn Fn(contract::Progress) + Send + Sync>>,
    traceparent: Option<String>,
) -> CallContext {
    let mut ctx = CallContext::new(caller.clone());
    ctx.traceparent = traceparent.filter(|text| TraceParent::parse(text).is_some()).map(Into::into);
    match progress {
        Some(sink) => ctx.with_progress(move |progress| sink(progress)),
        None => ctx,
    }
}

/// The time limit stops the caller's wait and tells the work to stop. Time that a person took does not count.
async fn run_in_time(
    entry: &Entry,
    arguments: Value,
    inquiry: &Inquiry,
    ctx: &CallContext,
) -> Result<Output, Stop> {
    let limit = entry.contract.constraints.timeout.min(LONGEST_LIMIT);
    let start = Instant::now();
    let already_waited = inquiry.waited();
    let mut run = entry.invoker.invoke(arguments, inquiry, ctx);
    loop {
        let deadline = start + limit + (inquiry.waited() - already_waited);
        match tokio::time::timeout_at(deadline.into(), &mut run).await {
            Ok(result) => return result,
            Err(_) if start.elapsed() < limit + (inquiry.waited() - already_waited) => {}
            Err(_) => {
                ctx.cancel();
                // A change that was under way cannot be taken back; better a late answer than a wrong one.
                if entry.contract.constraints.side_effects != SideEffects::None
                    && let Ok(Ok(output)) = tokio::time::timeout(CHANGE_GRACE, run).await
                {
                    return Ok(output);
                }
                return Err(overdue(entry, limit).into());
            }
        }
    }
}

fn overdue(entry: &Entry, limit: Duration) -> ToolError {
    let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let message = format!("`{}` took longer than its limit of {limit} ms", entry.contract.name);
    ToolError::new(Code::ExecutionTimeout, message).with("limitMs", limit)
}

/// Bytes of a value's JSON text, without writing it.
pub(crate) fn json_size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("counting never fails");
    count.0
}

fn unknown(call: &Call) -> ToolError {
    match &call.subject {
        Subject::Tool(name) => unknown_tool(name),
        Subject::Resource => ToolError::new(Code::NotFound, "this server offers no resources"),
    }
}

pub(crate) fn unknown_tool(name: &str) -> ToolError {
    let name: String = contract::text::one_line(&name.chars().take(128).collect::<String>());
    ToolError::new(Code::ToolNotFound, format!("there is no tool `{name}`")).with("tool", name)
}

fn cancelled() -> ToolError {
    ToolError::new(Code::Cancelled, "the call was cancelled")
}

fn unaudited() -> ToolError {
    ToolError::new(
        Code::InternalError,
        "the audit log cannot be written, so nothing is changed now",
    )
}

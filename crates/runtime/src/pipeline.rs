//! The pipeline: every stage that a call passes, in order, whoever calls and whatever runs it.

mod finish;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{CallContext, Code, Content, Output, SideEffects, ToolError, sha256_of_value};
use serde_json::Value;
use store::Store;
use store::audit::AuditLog;
use tokio::sync::Notify;
use tracing::Instrument;

use crate::approval;
use crate::call::{Call, Person, Reply, Rounds, Stop, Subject};
use crate::catalog::{Catalog, Entry};
use crate::inquiry::Inquiry;
use crate::limits::RateLimit;
use crate::metrics::Metrics;
use crate::seal::{Binding, Round, Seal};
use crate::trace::TraceParent;
use finish::Ledger;

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
}

impl Default for PipelineOptions {
    fn default() -> Self {
        Self {
            approve: HashMap::new(),
            approval_lifetime: Duration::from_secs(15 * 60),
            patience: Duration::from_secs(5 * 60),
        }
    }
}

pub struct Pipeline {
    catalog: Catalog,
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
            catalog,
            options,
            store,
            audit,
            metrics: Metrics::default(),
            seal,
            door_lines: RateLimit::per_minute(DOOR_LINES_PER_MINUTE),
            idle: Notify::new(),
        }))
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
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
                Err(Stop::Fail(error)) => Reply::Failed(error),
                Err(Stop::Refuse(refusal)) => Reply::Refused(refusal),
                Err(Stop::Ask(questions)) => ledger.suspended(questions),
            };
            ledger.close(reply).await
        }
        .instrument(span)
        .await
    }

    async fn stages(&self, call: Call, ledger: &mut Ledger<'_>) -> Result<Output, Stop> {
        let Some(entry) = self.catalog.resolve(&call.subject) else {
            return Err(unknown(&call).into());
        };
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

        let binding = Binding {
            principal: &call.caller.principal,
            tool: &contract.name,
            contract: contract.digest(),
            arguments: &arguments_digest,
        };
        let inquiry = self.open_round(call.person, &binding).await?;
        let ctx = context(&call.caller, call.progress);
        ledger.running(&ctx);
        let work = async {
            self.approve(entry, &call.caller, &arguments, &arguments_digest, &inquiry).await?;
            ledger.began();
            run_in_time(entry, arguments, &inquiry, &ctx).await
        };
        let output = tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(cancelled().into()),
            output = work => output,
        };
        match output {
            Ok(output) => finish_output(entry, output).map_err(Stop::Fail),
            Err(Stop::Ask(questions)) => {
                ledger.seal(self.seal.close(&binding, inquiry.next_round(&questions))?);
                Err(Stop::Ask(questions))
            }
            Err(stop) => Err(stop),
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

    async fn approve(
        &self,
        entry: &Entry,
        caller: &contract::Caller,
        arguments: &Value,
        arguments_digest: &str,
        inquiry: &Inquiry,
    ) -> Result<(), Stop> {
        let contract = &*entry.contract;
        match self.options.approve.get(&contract.name) {
            Some(Approve::Always) => return Ok(()),
            Some(Approve::Never) => {
                return Err(ToolError::new(
                    Code::ApprovalDenied,
                    format!("`{}` is switched off by policy (approve = \"never\")", contract.name),
                )
                .with("retry", false)
                .into());
            }
            Some(Approve::Ask) => {}
            None if contract.constraints.approval => {}
            None => return Ok(()),
        }
        let request = approval::Request { caller, contract, arguments, arguments_digest };
        approval::approve(&request, inquiry, &*self.store, self.options.approval_lifetime).await
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
    entry.rate.take(&caller.principal).map_err(|wait| {
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
) -> CallContext {
    let ctx = CallContext::new(caller.clone());
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

/// Checks the answer against the contract and its size, and writes the text that clients show.
fn finish_output(entry: &Entry, mut output: Output) -> Result<Output, ToolError> {
    let contract = &entry.contract;
    if let Some(schema) = &contract.output {
        let violation = match &output.structured {
            Some(value) => schema.validate(value).err().map(|violation| violation.message),
            None => Some("structured content is missing".to_owned()),
        };
        if let Some(violation) = violation {
            // Ours to mend: the caller could do nothing with the details.
            tracing::error!(
                tool = contract.name,
                violation,
                "a tool broke its own output contract"
            );
            return Err(defect());
        }
    }
    if let (Some(value), true) = (&output.structured, output.content.is_empty()) {
        // Not `to_string`, which goes through the formatter and takes twice as long.
        let text = serde_json::to_string(value).expect("a JSON value always serialises");
        output.content.push(Content::Text(text));
    }
    let (size, limit) = (output_size(&output), contract.constraints.max_output_bytes);
    if size > limit {
        return Err(ToolError::new(
            Code::TooLarge,
            format!("the result has {size} bytes, over the limit of {limit}; ask for less"),
        )
        .with("limit", limit)
        .with("size", size));
    }
    Ok(output)
}

fn output_size(output: &Output) -> usize {
    output
        .content
        .iter()
        .map(|content| match content {
            Content::Text(text) => text.len(),
            Content::Block(block) => json_size(block),
        })
        .sum()
}

/// Bytes of a value's JSON text, without writing it.
fn json_size(value: &Value) -> usize {
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

fn defect() -> ToolError {
    ToolError::new(
        Code::InternalError,
        "the tool's answer broke its contract; the server's log has the cause",
    )
}

//! One query through all gates.
//!
//! [`answer_query`] is the only entry point. It has no loop, no second plan and no second call. Any failure ends the ask
//! with a reason, and each gate that was reached adds a line to the trace.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::{Caller, ToolError, ToolOutput};
use runtime::{ElicitationChannel, Pipeline};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::gate::AskGate;
use crate::gate::allow::check_allowed;
use crate::gate::answer::{AnswerError, AnswerVerdict, RawAnswer, check_answer};
use crate::gate::input::InputPolicy;
use crate::gate::plan::{self, PlannedCall, QueryPlan};
use crate::gate::resolve::resolve_call;
use crate::gate::single_call::SingleCall;
use crate::gate::vetted_call::VettedCall;
use crate::offer::{EffectiveAllowlist, LiveToolSource, ToolOffer};
use crate::planner::Planner;
use crate::reason::{PlanningFailure, StopReason};
use crate::summary::{self, GroundedSummary, SummarizeError, Summarizer, SummaryFailure};
use crate::trace::AskTrace;
use crate::typed::{OutputParsers, ParsedOutput, ValidatedOutput};

static NO_PARSERS: LazyLock<OutputParsers> = LazyLock::new(OutputParsers::default);

/// Everything that is needed to answer a query.
pub struct AskContext<'a> {
    pub policy: InputPolicy,
    /// Source of the live tools; used only after the input policy has accepted the query.
    pub discover: &'a dyn LiveToolSource,
    pub planner: &'a dyn Planner,
    /// Runs the tool call.
    pub pipeline: &'a Pipeline,
    pub parsers: &'a OutputParsers,
    /// `None` for no summary.
    pub summarizer: Option<&'a dyn Summarizer>,
    pub caller: Caller,
    /// The person who is asked for approval.
    pub person: ElicitationChannel,
    pub cancel: CancellationToken,
}

impl<'a> AskContext<'a> {
    /// Creates a context for the command line: no forbidden patterns, registered types, summary or approver.
    pub fn new(
        pipeline: &'a Pipeline,
        discover: &'a dyn LiveToolSource,
        planner: &'a dyn Planner,
    ) -> Self {
        Self {
            policy: InputPolicy::default(),
            discover,
            planner,
            pipeline,
            parsers: &NO_PARSERS,
            summarizer: None,
            caller: Caller::new("cli"),
            person: ElicitationChannel::Unavailable,
            cancel: CancellationToken::new(),
        }
    }
}

/// The outcome of a query, with its trace.
#[derive(Debug)]
pub struct TracedOutcome {
    pub trace: AskTrace,
    pub outcome: AskOutcome,
}

/// The outcome of a query.
#[derive(Debug)]
pub enum AskOutcome {
    /// A gate before the call stopped the query; no tool was called.
    Stopped(StopReason),
    /// The planner or the discovery of tools failed; no tool was called.
    PlanningFailed(PlanningFailure),
    /// The planner needs more information; untrusted text, without hidden characters.
    NeedsMoreInfo {
        question: String,
    },
    /// The planner found no suitable tool; untrusted text, without hidden characters.
    NoTool {
        reason: String,
    },
    /// The pipeline or the tool refused the call or failed; there is no answer.
    ToolFailed {
        offer: ToolOffer,
        error: ToolError,
    },
    /// The answer breaks its contract. It is shown to the person and never to a model.
    Withheld {
        offer: ToolOffer,
        raw: RawAnswer,
        violation: AnswerError,
    },
    Answered(Box<AskAnswer>),
}

/// An answer that satisfies its contract.
#[derive(Debug)]
pub struct AskAnswer {
    pub offer: ToolOffer,
    /// The planned arguments; the pipeline adds declared defaults.
    pub arguments: Map<String, Value>,
    pub output: ToolOutput,
    pub value: ValidatedOutput,
    pub parsed: ParsedOutput,
    /// `None` if no summary was requested.
    pub summary: Option<Result<GroundedSummary, SummaryFailure>>,
}

/// Answers a query with at most one tool call.
///
/// Returns the trace together with the outcome; failures are outcomes, not errors.
pub async fn answer_query(query: &str, desk: &AskContext<'_>) -> TracedOutcome {
    let made = AtomicUsize::new(0);
    let mut trace = AskTrace::start();
    let outcome = match run_gates(query, desk, &made, &mut trace).await {
        Ok(answered) => AskOutcome::Answered(Box::new(answered)),
        Err(outcome) => *outcome,
    };
    match made.load(Ordering::Relaxed) {
        0 => trace.record_pass(AskGate::SingleCall, "no call was made"),
        1 => trace.record_pass(AskGate::SingleCall, "one call was made"),
        calls => trace.record_stop(AskGate::SingleCall, &format!("{calls} calls were made")),
    }
    TracedOutcome { trace, outcome }
}

async fn run_gates(
    query: &str,
    desk: &AskContext<'_>,
    made: &AtomicUsize,
    trace: &mut AskTrace,
) -> Result<AskAnswer, Box<AskOutcome>> {
    let size = query.chars().count();
    match desk.policy.check_query(query) {
        Ok(()) => trace.record_pass(AskGate::Input, &format!("a query of {size} characters")),
        Err(error) => return Err(record_stop(trace, error)),
    }
    let allowlist = match desk.discover.discover().await {
        Ok(allowlist) => allowlist,
        Err(error) => {
            return Err(record_planning_failure(trace, PlanningFailure::Discovery(error)));
        }
    };
    let planned = request_plan(query, desk, allowlist.offers(), trace).await?;
    let vetted = vet_call(&allowlist, planned, trace)?;
    let arguments = vetted.arguments().clone();
    let call = SingleCall {
        pipeline: desk.pipeline,
        caller: desk.caller.clone(),
        person: desk.person.clone(),
        cancel: desk.cancel.clone(),
        made,
    };
    let (offer, reply) = call.make(vetted).await;
    let (output, value, parsed) = match check_answer(&offer, reply, desk.parsers) {
        AnswerVerdict::Accepted { output, value, parsed } => (output, value, parsed),
        AnswerVerdict::Withheld { raw, violation } => {
            trace.record_stop(AskGate::Answer, &format!("withheld: {violation}"));
            return Err(Box::new(AskOutcome::Withheld { offer, raw, violation }));
        }
        AnswerVerdict::Failed(error) => {
            // Only the code is traced, because the message may repeat the arguments.
            trace.record_stop(AskGate::Answer, &format!("no answer: {}", error.code));
            return Err(Box::new(AskOutcome::ToolFailed { offer, error }));
        }
    };
    trace
        .record_pass(AskGate::Answer, &format!("the answer matches {}", describe_parsing(&parsed)));
    let summary = match desk.summarizer {
        Some(summarizer) => Some(summarize_answer(query, desk, summarizer, &value, trace).await),
        None => None,
    };
    Ok(AskAnswer { offer, arguments, output, value, parsed, summary })
}

/// Requests a plan and parses it (gate 1).
async fn request_plan(
    query: &str,
    desk: &AskContext<'_>,
    offers: &[ToolOffer],
    trace: &mut AskTrace,
) -> Result<PlannedCall, Box<AskOutcome>> {
    if offers.is_empty() {
        return Err(record_stop(trace, StopReason::NothingAllowed));
    }
    let text = tokio::select! {
        biased;
        () = desk.cancel.cancelled() => return Err(record_stop(trace, StopReason::Cancelled)),
        text = desk.planner.plan(query, offers) => text,
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return Err(record_planning_failure(trace, PlanningFailure::Planner(error))),
    };
    match plan::parse_plan(&text) {
        Ok(QueryPlan::Call(call)) => {
            trace.record_pass(
                AskGate::Plan,
                &format!("one call, chosen from {} tools", offers.len()),
            );
            Ok(call)
        }
        // The planner's text is not traced, because it may repeat the query.
        Ok(QueryPlan::NeedsMoreInfo { question }) => {
            trace.record_pass(AskGate::Plan, "the planner asks for more information");
            Err(Box::new(AskOutcome::NeedsMoreInfo { question }))
        }
        Ok(QueryPlan::NoTool { reason }) => {
            trace.record_pass(AskGate::Plan, "the planner found no suitable tool");
            Err(Box::new(AskOutcome::NoTool { reason }))
        }
        Err(fault) => Err(record_stop(trace, fault)),
    }
}

/// Resolves the planned call and checks that it is allowed (gates 2 and 3).
fn vet_call(
    allowlist: &EffectiveAllowlist,
    call: PlannedCall,
    trace: &mut AskTrace,
) -> Result<VettedCall, Box<AskOutcome>> {
    trace.set_tool(&call.server, &call.tool);
    let resolved = match resolve_call(allowlist, call) {
        Ok(resolved) => resolved,
        Err(error) => return Err(record_stop(trace, error)),
    };
    match resolved.contract() {
        Some(contract) => {
            let detail = "the tool exists and its arguments are valid";
            trace.record_pass_with_arguments(
                AskGate::Resolve,
                detail,
                contract,
                resolved.arguments(),
            );
        }
        None => trace.record_pass(AskGate::Resolve, "the tool exists"),
    }
    match check_allowed(resolved) {
        Ok(vetted) => {
            let digest = vetted.offer().contract.digest();
            trace.record_pass(AskGate::Allow, &format!("allowed under the contract {digest}"));
            Ok(vetted)
        }
        Err(error) => Err(record_stop(trace, error)),
    }
}

/// Requests a summary and checks that it is grounded (gate 5).
async fn summarize_answer(
    query: &str,
    desk: &AskContext<'_>,
    summarizer: &dyn Summarizer,
    value: &ValidatedOutput,
    trace: &mut AskTrace,
) -> Result<GroundedSummary, SummaryFailure> {
    let text = tokio::select! {
        biased;
        () = desk.cancel.cancelled() => Err(SummarizeError::Other("cancelled".into())),
        text = summarizer.summarize(query, value) => text,
    };
    let text = text.map_err(SummaryFailure::from);
    let checked = text.and_then(|text| Ok(summary::check_summary(&text, value)?));
    match &checked {
        Ok(summary) => {
            let (kept, lost) = (summary.bullets.len(), summary.rejected.len());
            trace.record_pass(
                AskGate::Summary,
                &format!("{kept} bullets grounded, {lost} rejected"),
            );
        }
        Err(error) => trace.record_stop(AskGate::Summary, &error.to_string()),
    }
    checked
}

/// Records the stop in the trace and returns its outcome.
fn record_stop(trace: &mut AskTrace, reason: impl Into<StopReason>) -> Box<AskOutcome> {
    let reason = reason.into();
    trace.record_stop(reason.gate(), &reason.to_string());
    Box::new(AskOutcome::Stopped(reason))
}

/// Records the failure in the trace and returns its outcome.
fn record_planning_failure(trace: &mut AskTrace, breakdown: PlanningFailure) -> Box<AskOutcome> {
    trace.record_stop(breakdown.gate(), &breakdown.to_string());
    Box::new(AskOutcome::PlanningFailed(breakdown))
}

fn describe_parsing(parsed: &ParsedOutput) -> String {
    match parsed {
        ParsedOutput::Registered { type_name, .. } => format!("its schema and {type_name}"),
        ParsedOutput::Schema(_) => "its schema".to_owned(),
    }
}

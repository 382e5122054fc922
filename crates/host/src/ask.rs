//! One query through all gates.
//!
//! [`ask()`] is the only way in, and it is straight: no loop, no second plan, no second call. Whatever goes wrong ends the ask
//! with a reason, and each gate leaves its line in the trace.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::{Caller, Output, ToolError};
use runtime::{Person, Pipeline};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;
use crate::gate::allow::allow;
use crate::gate::answer::{AnswerError, Judged, Raw, judge};
use crate::gate::input::InputPolicy;
use crate::gate::once::SingleCall;
use crate::gate::plan::{self, Plan, PlannedCall};
use crate::gate::resolve::resolve;
use crate::gate::vetted::Vetted;
use crate::offer::{Allowlist, Discover, Offer};
use crate::planner::Planner;
use crate::reason::{Breakdown, StopReason};
use crate::summary::{self, NoSummary, SummarizeError, Summarizer, Summary};
use crate::trace::Trace;
use crate::typed::{Parsed, Parsers, Validated};

static NO_PARSERS: LazyLock<Parsers> = LazyLock::new(Parsers::default);

/// All that answering a query takes.
pub struct Desk<'a> {
    pub policy: InputPolicy,
    /// Where the live tools come from; not asked before the policy has passed the query.
    pub discover: &'a dyn Discover,
    pub planner: &'a dyn Planner,
    /// The one way to a tool.
    pub pipeline: &'a Pipeline,
    pub parsers: &'a Parsers,
    /// Without one there is no summary.
    pub summarizer: Option<&'a dyn Summarizer>,
    pub caller: Caller,
    /// How the person who asks is reached for an approval.
    pub person: Person,
    pub cancel: CancellationToken,
}

impl<'a> Desk<'a> {
    /// A desk for the command line: no forbidden patterns, no registered types, no summary, nobody to approve.
    pub fn new(
        pipeline: &'a Pipeline,
        discover: &'a dyn Discover,
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
            person: Person::Absent,
            cancel: CancellationToken::new(),
        }
    }
}

/// What became of a query.
#[derive(Debug)]
pub struct Asked {
    pub trace: Trace,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    /// A gate before the call said no; nothing was called.
    Stopped(StopReason),
    /// The planner or the servers failed; nothing was called, and no gate had a say.
    BrokeDown(Breakdown),
    /// The planner wants to know something first; untrusted text, without hidden characters.
    NeedsMoreInfo {
        question: String,
    },
    /// The planner knows no tool for it; untrusted text, without hidden characters.
    NoTool {
        reason: String,
    },
    /// The pipeline or the tool refused or failed: there is no answer.
    Failed {
        offer: Offer,
        error: ToolError,
    },
    /// There is an answer that breaks its contract. It is for the person to look at, never for a model.
    Withheld {
        offer: Offer,
        raw: Raw,
        violation: AnswerError,
    },
    Answered(Box<Answered>),
}

/// An answer that kept its contract.
#[derive(Debug)]
pub struct Answered {
    pub offer: Offer,
    /// As they were planned; declared defaults are filled in by the pipeline.
    pub arguments: Map<String, Value>,
    pub output: Output,
    pub value: Validated,
    pub parsed: Parsed,
    /// None where no summary was wanted.
    pub summary: Option<Result<Summary, NoSummary>>,
}

/// Answers a query with at most one tool call.
pub async fn ask(query: &str, desk: &Desk<'_>) -> Asked {
    let made = AtomicUsize::new(0);
    let mut trace = Trace::begin();
    let outcome = match through_the_gates(query, desk, &made, &mut trace).await {
        Ok(answered) => Outcome::Answered(Box::new(answered)),
        Err(outcome) => *outcome,
    };
    match made.load(Ordering::Relaxed) {
        0 => trace.pass(Gate::Once, "no call was made"),
        1 => trace.pass(Gate::Once, "one call was made"),
        calls => trace.stop(Gate::Once, &format!("{calls} calls were made")),
    }
    Asked { trace, outcome }
}

async fn through_the_gates(
    query: &str,
    desk: &Desk<'_>,
    made: &AtomicUsize,
    trace: &mut Trace,
) -> Result<Answered, Box<Outcome>> {
    let size = query.chars().count();
    match desk.policy.judge(query) {
        Ok(()) => trace.pass(Gate::Input, &format!("a query of {size} characters")),
        Err(error) => return Err(stopped(trace, error)),
    }
    let allowlist = match desk.discover.discover().await {
        Ok(allowlist) => allowlist,
        Err(error) => return Err(broke_down(trace, Breakdown::Discovery(error))),
    };
    let planned = planned(query, desk, allowlist.offers(), trace).await?;
    let vetted = vetted(&allowlist, planned, trace)?;
    let arguments = vetted.arguments().clone();
    let call = SingleCall {
        pipeline: desk.pipeline,
        caller: desk.caller.clone(),
        person: desk.person.clone(),
        cancel: desk.cancel.clone(),
        made,
    };
    let (offer, reply) = call.make(vetted).await;
    let (output, value, parsed) = match judge(&offer, reply, desk.parsers) {
        Judged::Kept { output, value, parsed } => (output, value, parsed),
        Judged::Withheld { raw, violation } => {
            trace.stop(Gate::Answer, &format!("withheld: {violation}"));
            return Err(Box::new(Outcome::Withheld { offer, raw, violation }));
        }
        Judged::Failed(error) => {
            // Only the code: what a tool says may repeat the arguments.
            trace.stop(Gate::Answer, &format!("no answer: {}", error.code));
            return Err(Box::new(Outcome::Failed { offer, error }));
        }
    };
    trace.pass(Gate::Answer, &format!("the answer fits {}", how(&parsed)));
    let summary = match desk.summarizer {
        Some(summarizer) => Some(summarised(query, desk, summarizer, &value, trace).await),
        None => None,
    };
    Ok(Answered { offer, arguments, output, value, parsed, summary })
}

/// Asks the planner and reads what it says.
async fn planned(
    query: &str,
    desk: &Desk<'_>,
    offers: &[Offer],
    trace: &mut Trace,
) -> Result<PlannedCall, Box<Outcome>> {
    if offers.is_empty() {
        return Err(stopped(trace, StopReason::NothingAllowed));
    }
    let text = tokio::select! {
        biased;
        () = desk.cancel.cancelled() => return Err(stopped(trace, StopReason::Cancelled)),
        text = desk.planner.plan(query, offers) => text,
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return Err(broke_down(trace, Breakdown::Planner(error))),
    };
    match plan::read(&text) {
        Ok(Plan::Call(call)) => {
            trace.pass(Gate::Plan, &format!("one call, chosen from {} tools", offers.len()));
            Ok(call)
        }
        // What the planner says may repeat the query.
        Ok(Plan::NeedsMoreInfo { question }) => {
            trace.pass(Gate::Plan, "the planner asks for more information");
            Err(Box::new(Outcome::NeedsMoreInfo { question }))
        }
        Ok(Plan::NoTool { reason }) => {
            trace.pass(Gate::Plan, "the planner says that no tool fits");
            Err(Box::new(Outcome::NoTool { reason }))
        }
        Err(fault) => Err(stopped(trace, fault)),
    }
}

/// Gates 2 and 3.
fn vetted(
    allowlist: &Allowlist,
    call: PlannedCall,
    trace: &mut Trace,
) -> Result<Vetted, Box<Outcome>> {
    trace.about(&call.server, &call.tool);
    let resolved = match resolve(allowlist, call) {
        Ok(resolved) => resolved,
        Err(error) => return Err(stopped(trace, error)),
    };
    match resolved.contract() {
        Some(contract) => {
            let detail = "it exists, and its arguments fit";
            trace.pass_with(Gate::Resolve, detail, contract, resolved.arguments());
        }
        None => trace.pass(Gate::Resolve, "it exists"),
    }
    match allow(resolved) {
        Ok(vetted) => {
            let digest = vetted.offer().contract.digest();
            trace.pass(Gate::Allow, &format!("allowed under the contract {digest}"));
            Ok(vetted)
        }
        Err(error) => Err(stopped(trace, error)),
    }
}

async fn summarised(
    query: &str,
    desk: &Desk<'_>,
    summarizer: &dyn Summarizer,
    value: &Validated,
    trace: &mut Trace,
) -> Result<Summary, NoSummary> {
    let written = tokio::select! {
        biased;
        () = desk.cancel.cancelled() => Err(SummarizeError::Other("cancelled".into())),
        written = summarizer.summarize(query, value) => written,
    };
    let written = written.map_err(NoSummary::from);
    let checked = written.and_then(|text| Ok(summary::check(&text, value)?));
    match &checked {
        Ok(summary) => {
            let (kept, lost) = (summary.bullets.len(), summary.rejected.len());
            trace.pass(Gate::Summary, &format!("{kept} bullets grounded, {lost} rejected"));
        }
        Err(error) => trace.stop(Gate::Summary, &error.to_string()),
    }
    checked
}

fn stopped(trace: &mut Trace, reason: impl Into<StopReason>) -> Box<Outcome> {
    let reason = reason.into();
    trace.stop(reason.gate(), &reason.to_string());
    Box::new(Outcome::Stopped(reason))
}

fn broke_down(trace: &mut Trace, breakdown: Breakdown) -> Box<Outcome> {
    trace.stop(breakdown.gate(), &breakdown.to_string());
    Box::new(Outcome::BrokeDown(breakdown))
}

fn how(parsed: &Parsed) -> String {
    match parsed {
        Parsed::Typed { type_name, .. } => format!("its schema and {type_name}"),
        Parsed::Shape(_) => "its schema".to_owned(),
    }
}

//! Calls from which is learned. They go the one way that every call goes.

use std::sync::Arc;

use admit::{Admission, Judged, State};
use app::config::Settings;
use app::project::{self, Project};
use app::upstreams::{self, catalog_name};
use contract::text::one_line;
use contract::{Caller, SideEffects};
use runtime::{Abilities, Call, Person, Reply};
use serde_json::{Map, Value};

use super::{Planned, lacks_contract};
use crate::commands::Context;
use crate::commands::call::terminal;
use crate::report::{Failure, Result};

/// Calls with examples, for one tool.
const MAX_EXAMPLES: usize = 8;

/// Makes the calls; gives what was admitted, and whether a call that somebody asked for failed. Answers are recorded.
pub(super) async fn play(
    ctx: &Context,
    settings: &Arc<Settings>,
    options: gateway::Options,
    calls: &[Planned],
    check: impl Fn(&Admission) -> Result,
    tools: &[String],
) -> Result<(Arc<Admission>, bool)> {
    let (gateway, Project { pipeline, .. }) = project::with_upstreams(settings, options).await?;
    gateway.survey().await;
    let view = gateway.upstreams().first().map(|upstream| upstream.view());
    let played = async {
        let view = view.ok_or_else(|| Failure::new("there is no such upstream"))?;
        let admission = view.admission.clone().ok_or_else(|| {
            let why = view.failure.clone().unwrap_or_default();
            Failure::new(format!("the server could not be asked for its tools: {why}"))
        })?;
        check(&admission)?;
        gateway.publish(&pipeline);
        upstreams::check(&ctx.app, settings, &gateway, &pipeline.catalog())?;
        let examples = examples(&admission, tools, calls);
        let mut failed = false;
        for planned in calls.iter().chain(&examples) {
            let name = catalog_name(settings, &admission.upstream, &planned.tool);
            let mut call = Call::new(name, planned.arguments.clone(), Caller::new("cli"));
            if let Some(ask) = terminal(ctx) {
                let abilities = Abilities { elicitation: true, ..Abilities::default() };
                call.person = Person::Connected { abilities, ask };
            }
            if let Some(why) = failure(&pipeline.call(call).await) {
                let shown = one_line(&planned.tool);
                ctx.ui.note(format_args!("a call of {shown} failed: {}", one_line(&why)));
                failed |= planned.is_asked_for;
            }
        }
        Ok((admission, failed))
    };
    let played = played.await;
    pipeline.drain().await;
    gateway.close().await;
    played
}

/// Why nothing was learned. An answer in breach of a contract is still an answer: the contract may be what is wrong.
fn failure(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Done(output) => output.failure().map(|error| error.to_string()),
        Reply::Failed(error) if error.code == contract::Code::ContractViolation => None,
        Reply::Failed(error) => Some(error.to_string()),
        Reply::Refused(_) | Reply::InputRequired { .. } => {
            Some("it asks for more than can be answered here".to_owned())
        }
    }
}

/// Examples of tools that only read, where nothing else is wrong with them than a missing contract.
fn examples(admission: &Admission, tools: &[String], calls: &[Planned]) -> Vec<Planned> {
    let is_wanted = |tool: &&Judged| match (tools.is_empty(), calls.is_empty()) {
        (false, _) => tools.contains(&tool.name),
        (true, false) => false,
        (true, true) => lacks_contract(tool),
    };
    admission
        .tools
        .iter()
        .filter(|tool| is_harmless(tool))
        .filter(is_wanted)
        .flat_map(|tool| {
            inputs(tool).into_iter().map(|arguments| Planned {
                tool: tool.name.clone(),
                arguments,
                is_asked_for: false,
            })
        })
        .collect()
}

fn is_harmless(tool: &Judged) -> bool {
    let reads = tool.definition.constraints.as_ref();
    let reads = reads.is_some_and(|limits| limits.side_effects == SideEffects::None);
    // A tool whose words hide something or give orders, or that is not what it was, is called by a person or not at all.
    let is_suspect = |rule| ["C022", "C023", "C024"].contains(&rule);
    let is_suspect = tool.reasons.iter().any(|reason| is_suspect(reason.rule));
    reads && tool.runs() && tool.state != State::Quarantined && !is_suspect
}

/// What its author or the operator gave as an example, and nothing at all where nothing is required.
fn inputs(tool: &Judged) -> Vec<Map<String, Value>> {
    let schema = tool.definition.input_schema.as_ref();
    let of_schema = schema.and_then(|schema| schema.get("examples")).and_then(Value::as_array);
    let given = tool.definition.examples.iter().map(|example| &example.input);
    let given = given.chain(of_schema.into_iter().flatten()).filter_map(Value::as_object);
    let mut inputs: Vec<Map<String, Value>> = Vec::new();
    for input in given.take(MAX_EXAMPLES) {
        if !inputs.contains(input) {
            inputs.push(input.clone());
        }
    }
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    if inputs.is_empty() && required.is_none_or(Vec::is_empty) {
        inputs.push(Map::new());
    }
    inputs
}

//! Calls from which is learned. They go the one way that every call goes.

use std::sync::Arc;

use admit::Admission;
use admit::learn::{TrialCall, TrialScope, plan_trial_calls};
use app::config::Settings;
use app::project::{self, Project};
use app::upstreams::{self, catalog_name};
use contract::Caller;
use contract::text::one_line;
use runtime::{Abilities, Call, Person, Reply};

use super::Planned;
use crate::commands::Context;
use crate::commands::call::terminal;
use crate::report::{Failure, Result};

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

/// The calls that need nobody's word: those of the named tools, else of all that lack a contract.
fn examples(admission: &Admission, tools: &[String], calls: &[Planned]) -> Vec<Planned> {
    let scope = match (tools.is_empty(), calls.is_empty()) {
        (false, _) => TrialScope::Named(tools),
        (true, false) => TrialScope::None,
        (true, true) => TrialScope::LackingContract,
    };
    let calls = plan_trial_calls(admission, scope).into_iter();
    calls
        .map(|TrialCall { tool, arguments }| Planned { tool, arguments, is_asked_for: false })
        .collect()
}

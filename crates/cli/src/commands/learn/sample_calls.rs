//! The calls of `vouch learn` that produce samples. They go through the pipeline like any other call.

use std::sync::Arc;

use admit::Admission;
use admit::learn::{TrialCall, TrialScope, plan_trial_calls};
use app::config::Settings;
use app::project::{self, AssembledProject};
use app::upstreams::{self, catalog_name};
use contract::Caller;
use contract::text::one_line;
use runtime::{CallOrigin, ClientCapabilities, ElicitationChannel, ToolCall, ToolReply};

use super::SampleCall;
use crate::commands::CommandContext;
use crate::commands::call::terminal_prompt;
use crate::report::{Failure, Result};

/// Makes the calls, whose answers the gateway records as samples.
///
/// Returns the admission of the upstream, and true if a call of `--call` failed.
pub(super) async fn make_sample_calls(
    ctx: &CommandContext,
    settings: &Arc<Settings>,
    options: gateway::GatewayOptions,
    calls: &[SampleCall],
    check: impl Fn(&Admission) -> Result,
    tools: &[String],
) -> Result<(Arc<Admission>, bool)> {
    let (gateway, AssembledProject { pipeline, .. }) =
        project::assemble_with_upstreams(settings, options).await?;
    gateway.inspect_upstreams().await;
    let view = gateway.upstreams().first().map(|upstream| upstream.snapshot());
    let calls_made = async {
        let view = view.ok_or_else(|| Failure::new("the upstream is not configured"))?;
        let admission = view.admission.clone().ok_or_else(|| {
            let why = view.failure.clone().unwrap_or_default();
            Failure::new(format!("failed to list the server's tools: {why}"))
        })?;
        check(&admission)?;
        gateway.publish_catalog(&pipeline);
        upstreams::check_against_tools(&ctx.app, settings, &gateway, &pipeline.catalog())?;
        let examples = plan_example_calls(&admission, tools, calls);
        let mut failed = false;
        for planned in calls.iter().chain(&examples) {
            let name = catalog_name(settings, &admission.upstream, &planned.tool);
            let mut call = ToolCall::new(name, planned.arguments.clone(), Caller::new("cli"));
            call.origin = CallOrigin::Local;
            if let Some(ask) = terminal_prompt(ctx) {
                let abilities =
                    ClientCapabilities { elicitation: true, ..ClientCapabilities::default() };
                call.channel =
                    ElicitationChannel::Connected { capabilities: abilities, handler: ask };
            }
            if let Some(why) = call_failure(&pipeline.call(call).await) {
                let tool = one_line(&planned.tool);
                ctx.ui.print_note(format_args!("call to {tool} failed: {}", one_line(&why)));
                failed |= planned.is_requested;
            }
        }
        Ok((admission, failed))
    };
    let result = calls_made.await;
    pipeline.drain().await;
    gateway.close().await;
    result
}

/// Returns the reason if a call produced no sample. An answer that breaks a contract is a sample, because the contract
/// may be wrong.
fn call_failure(reply: &ToolReply) -> Option<String> {
    match reply {
        ToolReply::Done(output) => output.to_tool_error().map(|error| error.to_string()),
        ToolReply::Failed(error) if error.code == contract::ErrorCode::ContractViolation => None,
        ToolReply::Failed(error) => Some(error.to_string()),
        ToolReply::Refused(_) | ToolReply::InputRequired { .. } => {
            Some("the tool requires input that a terminal cannot provide".to_owned())
        }
    }
}

/// Returns example calls that need no `--call`: for the named tools, else for all tools that lack a contract.
fn plan_example_calls(
    admission: &Admission,
    tools: &[String],
    calls: &[SampleCall],
) -> Vec<SampleCall> {
    let scope = match (tools.is_empty(), calls.is_empty()) {
        (false, _) => TrialScope::Named(tools),
        (true, false) => TrialScope::None,
        (true, true) => TrialScope::LackingContract,
    };
    let calls = plan_trial_calls(admission, scope).into_iter();
    calls
        .map(|TrialCall { tool, arguments }| SampleCall { tool, arguments, is_requested: false })
        .collect()
}

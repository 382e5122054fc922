//! State of `vouch ask`, opened once for all queries: the pipeline, the gateway, the planner and the store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use app::ask::{ASK_PRINCIPAL, PlannerAndSummarizer, ToolDiscovery};
use app::config::Settings;
use app::project::{self, AssembledProject};
use app::traces::TraceFiles;
use app::upstreams::{self, ResolvedUpstreams};
use contract::Caller;
use gateway::Gateway;
use host::{AskContext, OutputParsers, answer_query};
use runtime::{ClientCapabilities, ElicitationChannel, Pipeline};
use store::Store;
use tokio_util::sync::CancellationToken;

use super::outcome::AskReport;
use super::{json, print};
use crate::commands::{CommandContext, call};
use crate::exit::ExitStatus;
use crate::report::{Result, print_failure};

/// Everything that is needed to answer queries.
pub(super) struct AskSession<'a> {
    pub(super) ctx: &'a CommandContext,
    pub(super) settings: &'a Arc<Settings>,
    pipeline: Arc<Pipeline>,
    gateway: Option<Arc<Gateway>>,
    own: BTreeSet<String>,
    checked: AtomicBool,
    planner_and_summarizer: PlannerAndSummarizer,
    summarize: bool,
    store: Arc<dyn Store>,
    parsers: OutputParsers,
}

impl<'a> AskSession<'a> {
    /// Opens a session. Upstream servers are not started and models are not called yet.
    pub(super) async fn open(
        ctx: &'a CommandContext,
        settings: &'a Arc<Settings>,
        planner_and_summarizer: PlannerAndSummarizer,
        summarize: bool,
    ) -> Result<Self> {
        let (gateway, project) = match gateway_options(ctx, settings)? {
            Some(options) => {
                let (gateway, project) =
                    project::assemble_with_upstreams(settings, options).await?;
                (Some(gateway), project)
            }
            None => {
                let project = project::assemble_project(settings).await?;
                upstreams::check_rules(&ctx.app, settings, &project.pipeline.catalog(), &[])?;
                (None, project)
            }
        };
        let AssembledProject { pipeline, slots, .. } = project;
        for slot in slots {
            slot.set_failed(
                "no campaign runs in this process; use `vouch call --url` to reach one",
            );
        }
        let (_, store) = project::open_store(settings)?;
        let own = pipeline.catalog().names().map(str::to_owned).collect();
        let checked = AtomicBool::new(false);
        let parsers = OutputParsers::default();
        Ok(Self {
            ctx,
            settings,
            pipeline,
            gateway,
            own,
            checked,
            planner_and_summarizer,
            summarize,
            store,
            parsers,
        })
    }

    /// Answers one query, prints the result and stores the trace. Returns the exit status.
    pub(super) async fn answer_query(&self, query: &str, as_json: bool) -> Result<ExitStatus> {
        let cancel = CancellationToken::new();
        let waiting = tokio::spawn(cancel_on_interrupt(cancel.clone()));
        let finder = ToolDiscovery {
            app: &self.ctx.app,
            settings: self.settings,
            pipeline: &self.pipeline,
            gateway: self.gateway.as_ref(),
            project_tools: &self.own,
            is_checked: &self.checked,
            cancel: cancel.clone(),
        };
        let ask_context = AskContext {
            policy: self.settings.ask.policy.clone(),
            discover: &finder,
            planner: &*self.planner_and_summarizer.planner,
            pipeline: &self.pipeline,
            parsers: &self.parsers,
            summarizer: self.summarize.then_some(&*self.planner_and_summarizer.summarizer),
            caller: Caller::new(ASK_PRINCIPAL),
            person: local_person(self.ctx),
            cancel: cancel.clone(),
        };
        let asked = answer_query(query, &ask_context).await;
        waiting.abort();
        if let Err(failure) = TraceFiles::in_project(self.settings).append_trace(&asked.trace) {
            // A trace that cannot be stored must not hide the answer.
            print_failure(self.ctx.ui, &failure);
        }
        let report = AskReport::from_asked(asked, &*self.store).await;
        let exit =
            if cancel.is_cancelled() { ExitStatus::Interrupted } else { report.exit_status() };
        if as_json {
            json::print_json(self.ctx, &report)?;
        } else {
            print::print_report(self.ctx, &report)?;
        }
        Ok(exit)
    }

    /// Waits until all calls are recorded, then stops the upstream servers.
    pub(super) async fn close(&self) {
        self.pipeline.drain().await;
        if let Some(gateway) = &self.gateway {
            gateway.close().await;
        }
    }
}

/// Returns the options of the gateway, or `None` if no upstream is enabled.
fn gateway_options(
    ctx: &CommandContext,
    settings: &Arc<Settings>,
) -> Result<Option<gateway::GatewayOptions>> {
    if !settings.upstreams.iter().any(|upstream| upstream.enabled) {
        return Ok(None);
    }
    let ResolvedUpstreams { options, unresolved } =
        upstreams::resolve_upstreams(&ctx.app, settings, &[])?;
    for error in unresolved {
        // An upstream without its secret does not prevent the use of the others.
        ctx.ui.print_note(format_args!("warning: {error}: {}", error.source));
    }
    Ok(Some(options))
}

fn local_person(ctx: &CommandContext) -> ElicitationChannel {
    match call::terminal_prompt(ctx) {
        Some(ask) => {
            let abilities =
                ClientCapabilities { elicitation: true, ..ClientCapabilities::default() };
            ElicitationChannel::Connected { capabilities: abilities, handler: ask }
        }
        None => ElicitationChannel::Unavailable,
    }
}

async fn cancel_on_interrupt(cancel: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        cancel.cancel();
    }
}

//! All that answering takes, made once: the pipeline, the other servers, who plans, and where traces go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use app::ask::{Finder, Minds, PRINCIPAL};
use app::config::Settings;
use app::project::{self, Project};
use app::traces::Traces;
use app::upstreams::{self, Lowered};
use contract::Caller;
use gateway::Gateway;
use host::{Desk, Parsers, ask};
use runtime::{Abilities, Person, Pipeline};
use store::Store;
use tokio_util::sync::CancellationToken;

use super::outcome::Told;
use super::{json, print};
use crate::commands::{Context, call};
use crate::exit::Exit;
use crate::report::{Result, print_failure};

pub(super) struct Office<'a> {
    pub(super) ctx: &'a Context,
    pub(super) settings: &'a Arc<Settings>,
    pipeline: Arc<Pipeline>,
    gateway: Option<Arc<Gateway>>,
    own: BTreeSet<String>,
    checked: AtomicBool,
    minds: Minds,
    summarize: bool,
    store: Arc<dyn Store>,
    parsers: Parsers,
}

impl<'a> Office<'a> {
    /// Makes everything ready. Nobody is asked and nothing is started yet.
    pub(super) async fn open(
        ctx: &'a Context,
        settings: &'a Arc<Settings>,
        minds: Minds,
        summarize: bool,
    ) -> Result<Self> {
        let (gateway, project) = match others(ctx, settings)? {
            Some(options) => {
                let (gateway, project) = project::with_upstreams(settings, options).await?;
                (Some(gateway), project)
            }
            None => {
                let project = project::project(settings).await?;
                upstreams::rules(&ctx.app, settings, &project.pipeline.catalog(), &[])?;
                (None, project)
            }
        };
        let Project { pipeline, seats, .. } = project;
        for seat in seats {
            seat.prepare_failed("none runs here; `vouch call --url` reaches one that does");
        }
        let (_, store) = project::store(settings)?;
        let own = pipeline.catalog().names().map(str::to_owned).collect();
        let checked = AtomicBool::new(false);
        let parsers = Parsers::default();
        Ok(Self {
            ctx,
            settings,
            pipeline,
            gateway,
            own,
            checked,
            minds,
            summarize,
            store,
            parsers,
        })
    }

    /// Answers one query, prints what came of it and keeps its trace.
    pub(super) async fn answer(&self, query: &str, as_json: bool) -> Result<Exit> {
        let cancel = CancellationToken::new();
        let waiting = tokio::spawn(interrupted(cancel.clone()));
        let finder = Finder {
            app: &self.ctx.app,
            settings: self.settings,
            pipeline: &self.pipeline,
            gateway: self.gateway.as_ref(),
            own: &self.own,
            checked: &self.checked,
            cancel: cancel.clone(),
        };
        let desk = Desk {
            policy: self.settings.ask.policy.clone(),
            discover: &finder,
            planner: &*self.minds.planner,
            pipeline: &self.pipeline,
            parsers: &self.parsers,
            summarizer: self.summarize.then_some(&*self.minds.summarizer),
            caller: Caller::new(PRINCIPAL),
            person: person(self.ctx),
            cancel: cancel.clone(),
        };
        let asked = ask(query, &desk).await;
        waiting.abort();
        if let Err(failure) = Traces::of(self.settings).append(&asked.trace) {
            // The answer is there; what became of it is worth more than the trace.
            print_failure(self.ctx.ui, &failure);
        }
        let told = Told::of(asked, &*self.store).await;
        let exit = if cancel.is_cancelled() { Exit::Interrupted } else { told.exit() };
        if as_json {
            json::put(self.ctx, &told)?;
        } else {
            print::put(self.ctx, &told)?;
        }
        Ok(exit)
    }

    /// Ends the servers that were started, and waits until everything is on record.
    pub(super) async fn close(&self) {
        self.pipeline.drain().await;
        if let Some(gateway) = &self.gateway {
            gateway.close().await;
        }
    }
}

/// The other servers that can be started, if there are any.
fn others(ctx: &Context, settings: &Arc<Settings>) -> Result<Option<gateway::Options>> {
    if !settings.upstreams.iter().any(|upstream| upstream.enabled) {
        return Ok(None);
    }
    let Lowered { options, unresolved } = upstreams::lower(&ctx.app, settings, &[])?;
    for error in unresolved {
        // One server that lacks its key stops nobody from asking the others.
        ctx.ui.note(format_args!("warning: {error}: {}", error.source));
    }
    Ok(Some(options))
}

fn person(ctx: &Context) -> Person {
    match call::terminal(ctx) {
        Some(ask) => {
            let abilities = Abilities { elicitation: true, ..Abilities::default() };
            Person::Connected { abilities, ask }
        }
        None => Person::Absent,
    }
}

async fn interrupted(cancel: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        cancel.cancel();
    }
}

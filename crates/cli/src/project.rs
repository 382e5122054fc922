//! From settings to working parts: the tools of a project, its store, and the pipeline over both.

pub(crate) mod context;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use contract::{Constraints, Tool};
use guard::DenyList;
use pack_context::ContextPack;
use pack_repo::RepoOptions;
use runtime::doors::mcp::Face;
use runtime::{Catalog, Pipeline, PipelineOptions, READ_RESOURCE};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir, Store};

use crate::commands::wrong_config;
use crate::config::{Pack, Policy, Settings};
use crate::exit::Exit;
use crate::report::{Explain, Result};
pub(crate) use tokens::{NEW_TOKEN, first_token, tokens};

/// What the server says it is.
pub(crate) fn face() -> Face {
    Face {
        name: "vouchsafe".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: Some(
            "Tools over one project folder. Every call is checked against the tool's contract; a refused call \
             says which rule it broke and what to change. Some calls wait for a person's approval."
                .to_owned(),
        ),
    }
}

/// What the packs offer.
#[derive(Default)]
struct Offer {
    tools: Vec<Arc<dyn Tool>>,
    context: Option<ContextPack>,
}

/// The tools with the limits that the operator set. Nothing is written and nothing started.
pub(crate) fn catalog(settings: &Settings) -> Result<Catalog> {
    Ok(open(settings)?.0)
}

/// The same, with the pack whose index can be started.
fn open(settings: &Settings) -> Result<(Catalog, Option<ContextPack>)> {
    let Offer { tools, context } = offer(settings)?;
    let names = tools.iter().map(|tool| tool.contract().name.as_str());
    let names: Vec<_> = names.chain(context.as_ref().map(|_| READ_RESOURCE)).collect();
    settings.check_tools(&names).map_err(wrong_config)?;
    let mut catalog = Catalog::default();
    for tool in tools {
        let name = tool.contract().name.clone();
        if settings.tool(&name).enabled != Some(false) {
            catalog.add_tool_with(tool, |constraints| limit(settings, &name, constraints))?;
        }
    }
    if let Some(pack) = &context
        && settings.tool(READ_RESOURCE).enabled != Some(false)
    {
        let adjust = |constraints: &mut _| limit(settings, READ_RESOURCE, constraints);
        catalog.add_resources(pack.resources(), adjust)?;
    }
    Ok((catalog, context))
}

/// The published contract says what holds here.
fn limit(settings: &Settings, name: &str, constraints: &mut Constraints) {
    let layer = settings.tool(name);
    if let Some(rate) = layer.rate_per_minute {
        constraints.rate_per_minute = rate.get();
    }
    if let Some(timeout) = layer.timeout_ms {
        constraints.timeout = Duration::from_millis(timeout.get());
    }
    if let Some(bytes) = layer.max_output_bytes {
        constraints.max_output_bytes = bytes.get();
    }
    let policy = settings.policy(name, constraints.approval);
    constraints.approval = policy.is_some_and(|policy| policy != Policy::Always);
}

fn offer(settings: &Settings) -> Result<Offer> {
    let mut offer = Offer::default();
    for pack in &settings.packs {
        match pack {
            Pack::Repo => {
                let options = RepoOptions {
                    memory_folder: settings.memory_folder.clone(),
                    deny: deny(settings),
                };
                let pack = pack_repo::tools(&settings.root, options);
                let pack = pack
                    .hint("correct it in vouch.toml, then check: vouch doctor")
                    .map_err(|failure| failure.with_exit(Exit::Usage))?;
                offer.tools.extend(pack);
            }
            Pack::Context => {
                let pack = context::pack(settings, context::embedder(settings)?)?;
                offer.tools.extend(pack.tools()?);
                offer.context = Some(pack);
            }
        }
    }
    Ok(offer)
}

/// What no tool may read.
fn deny(settings: &Settings) -> DenyList {
    let names = settings.private.iter().map(String::as_str);
    names.fold(DenyList::default(), DenyList::with)
}

/// The store, made where it is missing.
pub(crate) fn store(settings: &Settings) -> Result<(StateDir, Arc<SqliteStore>)> {
    let state = StateDir::open(&settings.state_folder)?;
    let store = SqliteStore::open(&state)?;
    Ok((state, Arc::new(store)))
}

/// Everything that a call goes through, and the pack whose index can be started.
pub(crate) struct Project {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) context: Option<ContextPack>,
}

pub(crate) async fn project(settings: &Settings) -> Result<Project> {
    let (catalog, context) = open(settings)?;
    let (state, store) = store(settings)?;
    let audit = AuditLog::open(state.audit_log())?;
    let documents = catalog.documents().map(|documents| documents.contract());
    let policies = catalog.contracts().chain(documents).filter_map(|contract| {
        let policy = settings.policy(&contract.name, contract.constraints.approval)?;
        Some((contract.name.clone(), policy.into()))
    });
    let options = PipelineOptions { approve: policies.collect(), ..PipelineOptions::default() };
    let store: Arc<dyn Store> = store;
    let pipeline = Pipeline::new(catalog, store, audit, options).await?;
    Ok(Project { pipeline, context })
}

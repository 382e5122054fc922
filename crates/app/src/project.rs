//! From settings to working parts: the tools of a project, its store, and the pipeline over both.

pub mod context;
pub mod look;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::{Constraints, Resources, Tool};
use gateway::Gateway;
use guard::DenyList;
use pack_campaign::{CampaignPack, Seat};
use pack_context::ContextPack;
use pack_repo::RepoOptions;
use runtime::doors::http::HttpOptions;
use runtime::doors::mcp::Face;
use runtime::{Catalog, CatalogError, Pipeline, PipelineOptions, READ_RESOURCE, ToolFilter};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir, Store};

use crate::campaign::served;
use crate::config::wrong_config;
use crate::config::{Pack, Policy, Settings};
use crate::failure::FailureKind;
use crate::failure::{Explain, Failure, Result};
pub use tokens::{NEW_TOKEN, first_token, tokens};

/// How long a client may keep a listing of what may change at any time.
const LIVE_TTL: Duration = Duration::from_secs(5);

/// What the server says it is.
pub fn face(settings: &Settings) -> Face {
    let is_campaign = |pack: &Pack| *pack == Pack::Campaign;
    let what =
        match (settings.packs.iter().all(is_campaign), settings.packs.iter().any(is_campaign)) {
            (true, true) => STEERING.to_owned(),
            (false, true) => format!("Tools over one project folder. {STEERING}"),
            (_, false) => "Tools over one project folder.".to_owned(),
        };
    Face {
        name: "vouchsafe".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: Some(format!(
            "{what} Every call is checked against the tool's contract; a refused call says which rule it broke and what \
             to change. Some calls wait for a person's approval."
        )),
    }
}

const STEERING: &str = "Tools that watch and steer a fuzz campaign against smart contracts while it runs: begin with \
                        campaign_target and campaign_status.";

/// What the packs offer.
#[derive(Default)]
struct Offer {
    tools: Vec<Arc<dyn Tool>>,
    context: Option<ContextPack>,
    resources: Vec<Arc<dyn Resources>>,
    /// The places of the campaigns, which somebody may start.
    seats: Vec<Arc<Seat>>,
}

/// The tools with the limits that the operator set. Nothing is written and nothing started.
pub fn catalog(settings: &Settings) -> Result<Catalog> {
    lay_out(settings, &offer(settings)?)
}

fn lay_out(settings: &Settings, offer: &Offer) -> Result<Catalog> {
    let Offer { tools, resources, .. } = offer;
    let names = tools.iter().map(|tool| tool.contract().name.as_str());
    let names: Vec<_> = names.chain(resources.first().map(|_| READ_RESOURCE)).collect();
    settings.check_tools(&names).map_err(wrong_config)?;
    Ok(assemble(settings, offer)?)
}

fn assemble(settings: &Settings, offer: &Offer) -> std::result::Result<Catalog, CatalogError> {
    let Offer { tools, resources, .. } = offer;
    let mut catalog = Catalog::default();
    for tool in tools {
        let name = tool.contract().name.clone();
        if settings.tool(&name).enabled != Some(false) {
            catalog.add_tool_with(Arc::clone(tool), |constraints| {
                limit(settings, &name, constraints)
            })?;
        }
    }
    if settings.tool(READ_RESOURCE).enabled != Some(false) {
        for provider in resources {
            let adjust = |constraints: &mut _| limit(settings, READ_RESOURCE, constraints);
            catalog.add_resources(Arc::clone(provider), adjust)?;
        }
    }
    Ok(catalog)
}

/// The published contract says what holds here.
pub fn limit(settings: &Settings, name: &str, constraints: &mut Constraints) {
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
                    .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
                offer.tools.extend(pack);
            }
            Pack::Context => {
                let pack = context::pack(settings, context::embedder(settings)?)?;
                offer.tools.extend(pack.tools()?);
                offer.resources.push(pack.resources());
                offer.context = Some(pack);
            }
            Pack::Campaign => {
                offer.seats = served::seats(&settings.campaign);
                let pack = CampaignPack::new(offer.seats.clone());
                offer.tools.extend(pack.tools()?);
                offer.resources.push(pack.resources());
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
pub fn store(settings: &Settings) -> Result<(StateDir, Arc<SqliteStore>)> {
    let state = StateDir::open(&settings.state_folder)?;
    let store = SqliteStore::open(&state)?;
    Ok((state, Arc::new(store)))
}

/// Returns the path of the audit log.
pub fn audit_log(settings: &Settings) -> PathBuf {
    settings.state_folder.join("audit.jsonl")
}

/// How HTTP is served.
pub(crate) fn http_options(settings: &Settings) -> Result<HttpOptions> {
    let server = &settings.server;
    Ok(HttpOptions {
        address: server.address,
        tokens: tokens(server.token.as_ref())?,
        allowed_hosts: server.allowed_hosts.clone(),
        allowed_origins: server.allowed_origins.clone(),
        max_body_bytes: server.max_body_bytes,
    })
}

/// Everything that a call goes through, and what can be started behind it.
pub struct Project {
    pub pipeline: Arc<Pipeline>,
    pub context: Option<ContextPack>,
    pub seats: Vec<Arc<Seat>>,
}

/// Assembles the tools of the enabled packs, the store and the pipeline.
pub async fn project(settings: &Settings) -> Result<Project> {
    let offer = offer(settings)?;
    let catalog = lay_out(settings, &offer)?;
    let options = pipeline_options(settings, &catalog);
    let pipeline = pipeline(settings, catalog, options).await?;
    Ok(Project { pipeline, context: offer.context, seats: offer.seats })
}

/// The same with the tools of other servers, which come and go: nobody is asked yet.
pub async fn with_upstreams(
    settings: &Arc<Settings>,
    options: gateway::Options,
) -> Result<(Arc<Gateway>, Project)> {
    let mut offer = offer(settings)?;
    let catalog = lay_out(settings, &offer)?;
    let mut pipeline_options = pipeline_options(settings, &catalog);
    pipeline_options.live = true;
    pipeline_options.list_ttl = LIVE_TTL;
    pipeline_options.approve.extend(crate::upstreams::approvals(settings)?);
    let (context, seats) = (offer.context.take(), std::mem::take(&mut offer.seats));
    let base = {
        let settings = Arc::clone(settings);
        Box::new(move || assemble(&settings, &offer))
    };
    let gateway = Gateway::new(options, base).map_err(wrong_files)?;
    let pipeline = pipeline(settings, catalog, pipeline_options).await?;
    Ok((gateway, Project { pipeline, context, seats }))
}

/// What an operator wrote beside the configuration is wrong.
pub(crate) fn wrong_files(error: gateway::GatewayError) -> Failure {
    Failure::from(error).with_kind(FailureKind::Usage)
}

async fn pipeline(
    settings: &Settings,
    catalog: Catalog,
    options: PipelineOptions,
) -> Result<Arc<Pipeline>> {
    let (state, store) = store(settings)?;
    let audit = AuditLog::open(state.audit_log())?;
    let store: Arc<dyn Store> = store;
    Ok(Pipeline::new(catalog, store, audit, options).await?)
}

/// What the operator decided about calls of tools that are there, and of those that may come.
fn pipeline_options(settings: &Settings, catalog: &Catalog) -> PipelineOptions {
    let documents = catalog.documents().map(|documents| documents.contract());
    let policies = catalog.contracts().chain(documents).filter_map(|contract| {
        let policy = settings.policy(&contract.name, contract.constraints.approval)?;
        Some((contract.name.clone(), policy.into()))
    });
    let policy = (!settings.rules.is_empty())
        .then(|| Arc::new(settings.rules.clone()) as Arc<dyn contract::CallPolicy>);
    let clients = settings.clients.iter().map(|(principal, globs)| {
        let globs = globs.clone();
        let filter: Arc<dyn ToolFilter> = Arc::new(move |tool: &str| globs.is_match(tool));
        (principal.to_owned(), filter)
    });
    PipelineOptions {
        approve: policies.collect(),
        policy,
        clients: clients.collect(),
        ..PipelineOptions::default()
    }
}

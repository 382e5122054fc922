//! Assembles a project from its settings: the tools of the packs, the store, and the pipeline over both.
//!
//! Start at [`assemble_project`], or at [`assemble_with_upstreams`] for a gateway.

pub mod context;
pub mod index_status;
mod listener_owner;
mod tokens;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use contract::{Constraints, ResourceProvider, Tool};
use gateway::{BaseCatalogBuilder, Gateway};
use pack_campaign::{CampaignPack, CampaignSlot};
use pack_context::ContextPack;
use pack_repo::RepoOptions;
use runtime::transports::http::{HttpOptions, PROJECT_PRINCIPAL, UNNAMED_PRINCIPAL};
use runtime::transports::mcp::ServerIdentity;
use runtime::{
    ApprovalRoute, Catalog, CatalogError, ClientPolicy, Pipeline, PipelineOptions, READ_RESOURCE,
    ResourceFilter, ToolFilter,
};
use store::audit::{AuditKeyLocation, AuditLog, AuditOptions};
use store::{SqliteStore, StateDir, Store};

use crate::campaign::server_campaigns;
use crate::config::config_failure;
use crate::config::{ApprovalPolicy, ClientSettings, Settings, ToolPack};
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};
use crate::serving::readiness::DiskCheck;
pub use listener_owner::is_foreign_port;
pub use tokens::{
    NEW_TOKEN_HINT, create_missing_token, load_first_token, load_tokens, open_project_token,
    rotate_project_token,
};
pub(crate) use tokens::{read_tokens, token_failure};

/// Descriptors for files, upstreams and threads.
const RESERVED_DESCRIPTORS: usize = 256;
/// Maximum time for which a client may cache the tool list of a gateway, which changes at any time.
const LIVE_LIST_TTL: Duration = Duration::from_secs(5);

/// Returns the name, version and instructions that clients see.
pub fn server_info(settings: &Settings) -> ServerIdentity {
    let is_campaign = |pack: &ToolPack| *pack == ToolPack::Campaign;
    let summary =
        match (settings.packs.iter().all(is_campaign), settings.packs.iter().any(is_campaign)) {
            (true, true) => CAMPAIGN_INSTRUCTIONS.to_owned(),
            (false, true) => format!("Tools for one project folder. {CAMPAIGN_INSTRUCTIONS}"),
            (_, false) => "Tools for one project folder.".to_owned(),
        };
    ServerIdentity {
        name: "vouchsafe".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: Some(format!(
            "{summary} Every call is checked against the tool's contract; a rejected call states the violated rule and \
             how to correct it. Some calls wait for a person's approval."
        )),
    }
}

const CAMPAIGN_INSTRUCTIONS: &str = "Tools that watch and steer a running fuzz campaign against smart \
                        contracts: begin with campaign_target and campaign_status.";

/// The tools and resources of the enabled packs.
#[derive(Default)]
struct PackContents {
    tools: Vec<Arc<dyn Tool>>,
    context: Option<ContextPack>,
    resources: Vec<Arc<dyn ResourceProvider>>,
    /// Campaign slots, on which the caller may start campaigns.
    slots: Vec<Arc<CampaignSlot>>,
}

/// Builds the catalog of tools with the operator's limits. Writes and starts nothing.
pub fn build_catalog(settings: &Settings) -> Result<Catalog> {
    checked_catalog(settings, &open_packs(settings)?)
}

/// Checks that every configured tool exists, and builds the catalog.
fn checked_catalog(settings: &Settings, offer: &PackContents) -> Result<Catalog> {
    let PackContents { tools, resources, .. } = offer;
    let names = tools.iter().map(|tool| tool.contract().name.as_str());
    let names: Vec<_> = names.chain(resources.first().map(|_| READ_RESOURCE)).collect();
    settings.check_tools(&names).map_err(config_failure)?;
    Ok(assemble_catalog(settings, offer)?)
}

fn assemble_catalog(
    settings: &Settings,
    offer: &PackContents,
) -> std::result::Result<Catalog, CatalogError> {
    let PackContents { tools, resources, .. } = offer;
    let mut catalog = Catalog::default();
    for tool in tools {
        let name = tool.contract().name.clone();
        if settings.tool_layer(&name).enabled != Some(false) {
            catalog.add_tool_with(Arc::clone(tool), |constraints| {
                apply_limits(settings, &name, constraints)
            })?;
        }
    }
    if settings.tool_layer(READ_RESOURCE).enabled != Some(false) {
        for provider in resources {
            let adjust = |constraints: &mut _| apply_limits(settings, READ_RESOURCE, constraints);
            catalog.add_resources(Arc::clone(provider), adjust)?;
        }
    }
    Ok(catalog)
}

/// Applies the operator's limits to a tool's constraints, so that the published contract states them.
pub fn apply_limits(settings: &Settings, name: &str, constraints: &mut Constraints) {
    let layer = settings.tool_layer(name);
    let contract = constraints.clone();
    if let Some(rate) = layer.rate_per_minute {
        constraints.rate_per_minute = rate.get();
    }
    if let Some(timeout) = layer.timeout_ms {
        constraints.timeout = Duration::from_millis(timeout.get());
    }
    if let Some(bytes) = layer.max_output_bytes {
        constraints.max_output_bytes = bytes.get();
    }
    // The file of an untrusted folder can lower a limit and not raise it.
    if !settings.trust.is_granted() {
        constraints.rate_per_minute = constraints.rate_per_minute.min(contract.rate_per_minute);
        constraints.timeout = constraints.timeout.min(contract.timeout);
        constraints.max_output_bytes = constraints.max_output_bytes.min(contract.max_output_bytes);
    }
    let policy = settings.approval_policy(name, constraints.approval);
    constraints.approval = policy.is_some_and(|policy| policy != ApprovalPolicy::Always);
}

fn open_packs(settings: &Settings) -> Result<PackContents> {
    let mut offer = PackContents::default();
    for pack in &settings.packs {
        match pack {
            ToolPack::Repo => {
                let options = RepoOptions {
                    memory_folder: settings.memory_folder.clone(),
                    deny: settings.deny_list(),
                    ..RepoOptions::default()
                };
                let pack = pack_repo::build_tools(&settings.root, options);
                let pack = pack
                    .hint("correct it in vouch.toml, then run `vouch doctor`")
                    .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
                offer.tools.extend(pack);
            }
            ToolPack::Context => {
                let pack =
                    context::open_context_pack(settings, context::create_embedder(settings)?)?;
                offer.tools.extend(pack.tools()?);
                offer.resources.push(pack.resources());
                offer.context = Some(pack);
            }
            ToolPack::Campaign => {
                offer.slots = server_campaigns::create_slots(&settings.campaign);
                let pack = CampaignPack::new(offer.slots.clone());
                offer.tools.extend(pack.tools()?);
                offer.resources.push(pack.resources());
            }
        }
    }
    Ok(offer)
}

/// Opens the state directory of the project; creates it if missing.
///
/// The state that an earlier version kept in the project is not taken over here: a clone may contain such a folder too, so
/// only `vouch trust` does that, after asking.
pub fn open_state(settings: &Settings) -> Result<StateDir> {
    Ok(StateDir::open_for_project(&settings.state_folder, &settings.project)?)
}

/// Opens the store; creates it if missing.
pub fn open_store(settings: &Settings) -> Result<(StateDir, Arc<SqliteStore>)> {
    let state = open_state(settings)?;
    let store = SqliteStore::open(&state)?;
    Ok((state, Arc::new(store)))
}

/// Returns the path of the audit log.
pub fn audit_log_path(settings: &Settings) -> PathBuf {
    settings.state_folder.join("audit.jsonl")
}

/// Returns the place of the keys of the audit log.
pub fn audit_key_location(settings: &Settings) -> &AuditKeyLocation {
    &settings.audit.keys
}

/// Returns the place of the keys of any audit log: those of the state directory that the log is in, if it is that of another
/// project of this user, and those of the project otherwise.
///
/// Only the name of the directory counts. What the directory contains says nothing about its keys: who can write there could
/// put the log of another project in its place.
pub fn find_audit_keys(settings: &Settings, log: &Path) -> AuditKeyLocation {
    let own = audit_key_location(settings);
    let folder = |log: &Path| std::path::absolute(log).ok()?.parent()?.canonicalize().ok();
    let found =
        folder(log).filter(|found| folder(&audit_log_path(settings)).as_ref() != Some(found));
    let keys = found.and_then(|found| Some(own.folder().parent()?.join(found.file_name()?)));
    match keys.filter(|keys| keys != own.folder() && keys.is_dir()) {
        Some(keys) => AuditKeyLocation::new(keys),
        None => own.clone(),
    }
}

/// Returns how the audit log is kept.
pub fn audit_options(settings: &Settings) -> AuditOptions {
    let rotation = settings.audit.rotation.clone();
    AuditOptions { rotation, ..AuditOptions::new(settings.audit.keys.clone()) }
}

/// Returns the options of the HTTP transport, with its tokens loaded.
pub(crate) fn http_options(settings: &Settings) -> Result<HttpOptions> {
    let server = &settings.server;
    let mut limits = settings.http.limits.clone();
    limits.max_connections = limits.max_connections.min(available_connections());
    Ok(HttpOptions {
        address: server.address,
        tokens: load_tokens(settings)?,
        allowed_hosts: server.allowed_hosts.clone(),
        allowed_origins: server.allowed_origins.clone(),
        max_body_bytes: server.max_body_bytes,
        limits: Arc::new(limits),
        tls: settings.http.tls.clone(),
        readiness: vec![Arc::new(DiskCheck::new(settings.state_folder.clone()))],
    })
}

/// Returns the number of connections for which this process may have descriptors, besides its files and upstreams.
fn available_connections() -> usize {
    let limit = descriptor_limit();
    // A third of a small limit, or all but a fixed number of a large one. Connections that are being closed add a quarter.
    limit.saturating_sub(RESERVED_DESCRIPTORS).max(limit / 3).max(1)
}

/// Returns the number of descriptors that the system allows this process.
pub(crate) fn descriptor_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// A project ready to serve: the pipeline, and the background work that the caller may start.
pub struct AssembledProject {
    pub pipeline: Arc<Pipeline>,
    pub context: Option<ContextPack>,
    pub slots: Vec<Arc<CampaignSlot>>,
    offer: Arc<PackContents>,
}

impl AssembledProject {
    /// Returns the catalog of the packs and the operator's decisions with other settings. The packs stay as they are.
    pub(crate) fn build_parts(&self, settings: &Settings) -> Result<(Catalog, PipelineOptions)> {
        let catalog = checked_catalog(settings, &self.offer)?;
        let options = pipeline_options(settings, &catalog);
        Ok((catalog, options))
    }

    /// Returns the builder of the catalog of the packs for a gateway.
    pub(crate) fn catalog_builder(&self, settings: &Arc<Settings>) -> BaseCatalogBuilder {
        let (settings, offer) = (Arc::clone(settings), Arc::clone(&self.offer));
        Box::new(move || assemble_catalog(&settings, &offer))
    }
}

/// Assembles the tools of the enabled packs, the store and the pipeline.
pub async fn assemble_project(settings: &Settings) -> Result<AssembledProject> {
    let mut offer = open_packs(settings)?;
    let catalog = checked_catalog(settings, &offer)?;
    let options = pipeline_options(settings, &catalog);
    let pipeline = build_pipeline(settings, catalog, options).await?;
    let (context, slots) = (offer.context.take(), std::mem::take(&mut offer.slots));
    Ok(AssembledProject { pipeline, context, slots, offer: Arc::new(offer) })
}

/// Assembles a project whose catalog also contains the tools of upstreams. No upstream is connected yet.
pub async fn assemble_with_upstreams(
    settings: &Arc<Settings>,
    options: gateway::GatewayOptions,
) -> Result<(Arc<Gateway>, AssembledProject)> {
    let mut offer = open_packs(settings)?;
    let catalog = checked_catalog(settings, &offer)?;
    let pipeline_options =
        complete_gateway_options(settings, pipeline_options(settings, &catalog))?;
    let (context, slots) = (offer.context.take(), std::mem::take(&mut offer.slots));
    let pipeline = build_pipeline(settings, catalog, pipeline_options).await?;
    let project = AssembledProject { pipeline, context, slots, offer: Arc::new(offer) };
    let base = project.catalog_builder(settings);
    let gateway = Gateway::new(options, base).map_err(gateway_failure)?;
    Ok((gateway, project))
}

/// Adds the decisions on tools of upstreams.
pub(crate) fn complete_gateway_options(
    settings: &Settings,
    mut options: PipelineOptions,
) -> Result<PipelineOptions> {
    options.live = true;
    options.list_ttl = LIVE_LIST_TTL;
    options.approve.extend(crate::upstreams::collect_approvals(settings)?);
    Ok(options)
}

/// Converts an error in the operator's overlays or pins into a usage failure.
pub(crate) fn gateway_failure(error: gateway::GatewayError) -> Failure {
    Failure::from(error).with_kind(FailureKind::Usage)
}

async fn build_pipeline(
    settings: &Settings,
    catalog: Catalog,
    options: PipelineOptions,
) -> Result<Arc<Pipeline>> {
    let (state, store) = open_store(settings)?;
    let audit = AuditLog::open(state.audit_log_path(), &audit_options(settings))?;
    let store: Arc<dyn Store> = store;
    Ok(Pipeline::new(catalog, store, audit, options).await?)
}

/// Returns the operator's decisions on calls: approvals, rules and allowlists.
fn pipeline_options(settings: &Settings, catalog: &Catalog) -> PipelineOptions {
    let documents = catalog.resources().map(|documents| documents.contract());
    let policies = catalog.contracts().chain(documents).filter_map(|contract| {
        let policy = settings.approval_policy(&contract.name, contract.constraints.approval)?;
        Some((contract.name.clone(), policy.into()))
    });
    let policy = (!settings.rules.is_empty())
        .then(|| Arc::new(settings.rules.clone()) as Arc<dyn contract::CallPolicy>);
    PipelineOptions {
        approve: policies.collect(),
        queue_approvals: settings.approve == ApprovalPolicy::Queue,
        policy,
        output_secrets: settings.secrets.output.into(),
        clients: client_policies(settings),
        ..PipelineOptions::default()
    }
}

/// Returns what each client may do, by principal.
fn client_policies(settings: &Settings) -> HashMap<String, ClientPolicy> {
    let convert = |client: &ClientSettings| ClientPolicy {
        tools: client.tools.clone().map(|globs| {
            let filter: Arc<dyn ToolFilter> = Arc::new(move |tool: &str| globs.is_match(tool));
            filter
        }),
        resources: client.resources.clone().map(|globs| {
            let filter: Arc<dyn ResourceFilter> = Arc::new(move |uri: &str| globs.is_match(uri));
            filter
        }),
        approval: client.approve.map(Into::into),
    };
    let clients = settings.clients.iter();
    let mut policies: HashMap<_, _> =
        clients.map(|(principal, client)| (principal.clone(), convert(client))).collect();
    // Callers without a name have the token of the project by default. A limit on the former holds for the latter, so
    // that it is not lost by the change of the name. The permission to approve is not passed on.
    if let Some(mut local) = policies.get(UNNAMED_PRINCIPAL).cloned() {
        local.approval = local.approval.filter(|route| *route == ApprovalRoute::Queue);
        policies.entry(PROJECT_PRINCIPAL.to_owned()).or_insert(local);
    }
    policies
}

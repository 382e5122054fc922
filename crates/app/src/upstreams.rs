//! Turns the `[[upstream]]` tables into gateway options: resolves secrets, and converts policies and sandboxes.
//!
//! Start at [`resolve_upstreams`]. [`survey_upstreams`] lists tools without serving them.

mod check;
pub mod draft;
pub mod file;
pub mod import;
mod location;
mod masked_names;
mod survey;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admit::{AdmissionMode, AdmissionPolicy, ChangeClass, ToolAllowlist};
use gateway::{ConstraintAdjuster, LockFile, UpstreamOptions, read_overlays};
use link::{HttpEndpoint, NamespacePolicy, NetworkAccess, StdioProgram, UpstreamEndpoint};
use runtime::ApprovalMode;

use crate::config::{
    DefinitionChange, SandboxConfig, Settings, UnresolvedSecretError, UpstreamConfig,
    UpstreamConnection, UpstreamPolicy, suggest_name,
};
use crate::context::AppContext;
use crate::env::Environment;
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};
use crate::project;
pub use check::{check_against_tools, check_rules, list_absent_upstreams};
pub use location::{display_location, redact_args, redact_url};
use masked_names::list_masked_names;
pub use survey::{
    SurveyMode, UpstreamSurvey, connect_tool_upstream, format_stderr_tail, survey_upstreams,
};

/// First argument with which this program starts itself as the supervisor of a child. Not a user command.
pub const SUPERVISOR_ARG: &str = "__keeper";

/// Folder of the answers stored for `vouch learn`, below the state folder.
const SAMPLES_FOLDER: &str = "samples";
/// Lock file in the state folder, held while vouch.lock is changed.
const LOCK_GUARD_FILE: &str = "pins.lock";

/// The upstreams that can be started, and those that cannot because a secret is missing.
pub struct ResolvedUpstreams {
    pub options: gateway::GatewayOptions,
    pub unresolved: Vec<UnresolvedSecretError>,
}

impl ResolvedUpstreams {
    /// Returns the options, or an error if any upstream is unresolved.
    pub fn require_all(self) -> Result<gateway::GatewayOptions> {
        match self.unresolved.into_iter().next() {
            None => Ok(self.options),
            Some(error) => {
                let hint = format!(
                    "set it in the environment of vouch, or set `enabled = false` for `{}` in vouch.toml",
                    error.upstream
                );
                Err(Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage))
            }
        }
    }
}

/// Resolves the enabled upstreams, or the named ones of them. Secrets are read here.
pub fn resolve_upstreams(
    app: &AppContext,
    settings: &Arc<Settings>,
    names: &[String],
) -> Result<ResolvedUpstreams> {
    let chosen = select_upstreams(settings, names)?;
    let keeper = std::env::current_exe().explain("failed to find the path of this program")?;
    let keeper = vec![keeper.into_os_string(), SUPERVISOR_ARG.into()];
    let (mut upstreams, mut unresolved) = (Vec::new(), Vec::new());
    for upstream in chosen {
        for path in upstream.exposed_files(&settings.root) {
            let shown = path.display();
            app.notices.note(format_args!(
                "warning: {shown} is readable by other users; run `chmod 600 {shown}`"
            ));
        }
        match connection_options(app, settings, upstream, &keeper) {
            Ok(reach) => {
                let mut link = link::Options::new(&upstream.name, reach);
                link.connect_timeout = upstream.connect_timeout;
                upstreams.push(UpstreamOptions::new(link, admission_policy(upstream)?));
            }
            Err(error) => unresolved.push(error),
        }
    }
    // Upstreams over HTTPS need TLS.
    runtime::client::install_tls();
    let limits = Arc::clone(settings);
    let options = gateway::GatewayOptions {
        separator: settings.gateway.separator.clone(),
        contracts: settings.gateway.contracts.clone(),
        contracts_shown: display_path(settings, &settings.gateway.contracts),
        lock: settings.gateway.lock.clone(),
        lock_guard: settings.state_folder.join(LOCK_GUARD_FILE),
        trust: Some(Arc::clone(&settings.trust) as Arc<dyn gateway::FileTrust>),
        samples: None,
        adjust: Some(ConstraintAdjuster::new(move |tool, constraints| {
            project::apply_limits(&limits, tool, constraints);
            limits.tool_layer(tool).enabled != Some(false)
        })),
        upstreams,
    };
    Ok(ResolvedUpstreams { options, unresolved })
}

/// Returns the enabled upstreams in the order of the file, or only the named ones.
fn select_upstreams<'s>(
    settings: &'s Settings,
    names: &[String],
) -> Result<Vec<&'s UpstreamConfig>> {
    let known: Vec<&str> = settings.upstreams.iter().map(|one| one.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let hint = match settings.trust.leaves_out_upstreams() {
            true => {
                "the folder's upstreams are left out; run `vouch trust` to review them".to_owned()
            }
            false => suggest_name(name, &known, "upstreams"),
        };
        return Err(Failure::usage(format!("unknown upstream `{name}`")).with_hint(hint));
    }
    let is_chosen = |one: &&UpstreamConfig| names.is_empty() || names.contains(&one.name);
    let chosen: Vec<_> = settings.upstreams.iter().filter(is_chosen).collect();
    if let Some(one) = chosen.iter().find(|one| !names.is_empty() && !one.enabled) {
        return Err(Failure::usage(format!("upstream `{}` is disabled", one.name))
            .with_hint("remove `enabled = false` from its table in vouch.toml"));
    }
    let chosen: Vec<_> = chosen.into_iter().filter(|one| one.enabled).collect();
    if chosen.is_empty() {
        let message = match settings.upstreams.is_empty() {
            true => "no upstreams configured",
            false => "all upstreams are disabled (`enabled = false` in vouch.toml)",
        };
        return Err(Failure::usage(message).with_hint(match settings.trust.leaves_out_upstreams() {
            true => "the folder's upstreams are left out; run `vouch trust` to review them",
            false => {
                "run `vouch upstream add files -- npx -y @modelcontextprotocol/server-filesystem .`"
            }
        }));
    }
    Ok(chosen)
}

fn connection_options(
    app: &AppContext,
    settings: &Settings,
    upstream: &UpstreamConfig,
    keeper: &[std::ffi::OsString],
) -> std::result::Result<UpstreamEndpoint, UnresolvedSecretError> {
    let resolved = upstream.resolve_secrets(&app.environment, &settings.root)?;
    Ok(match &upstream.connection {
        UpstreamConnection::Stdio { command, args, cwd, sandbox, .. } => {
            UpstreamEndpoint::Stdio(StdioProgram {
                command: command.clone(),
                args: args.clone(),
                env: resolved.env,
                folder: cwd.clone(),
                sandbox: sandbox_policy(sandbox, settings, &app.environment),
                supervisor: keeper.to_vec(),
            })
        }
        UpstreamConnection::Http { url, .. } => {
            UpstreamEndpoint::Http(HttpEndpoint { url: url.clone(), headers: resolved.headers })
        }
        UpstreamConnection::Sse { url, .. } => {
            UpstreamEndpoint::Sse(HttpEndpoint { url: url.clone(), headers: resolved.headers })
        }
    })
}

fn sandbox_policy(
    sandbox: &SandboxConfig,
    settings: &Settings,
    environment: &Environment,
) -> link::SandboxPolicy {
    match sandbox {
        SandboxConfig::Off => link::SandboxPolicy::Off,
        SandboxConfig::Landlock(grants) => link::SandboxPolicy::Landlock {
            read: grants.read.clone(),
            write: grants.write.clone(),
            hidden: settings.hidden_folders(),
            network: grants.network == NetworkAccess::All,
        },
        SandboxConfig::Full(grants) => link::SandboxPolicy::Namespaces(Box::new(NamespacePolicy {
            read: grants.read.clone(),
            write: grants.write.clone(),
            hidden: settings.hidden_folders(),
            masked: list_masked_names(settings, environment),
            network: grants.network.clone(),
            limits: grants.limits,
        })),
    }
}

fn admission_policy(upstream: &UpstreamConfig) -> Result<AdmissionPolicy> {
    let class = |change: &DefinitionChange| match change {
        DefinitionChange::Descriptive => ChangeClass::Descriptive,
        DefinitionChange::Additive => ChangeClass::Additive,
        DefinitionChange::Breaking => ChangeClass::Breaking,
        DefinitionChange::Annotation => ChangeClass::Annotation,
    };
    Ok(AdmissionPolicy {
        mode: match upstream.policy {
            UpstreamPolicy::Default => AdmissionMode::Default,
            UpstreamPolicy::Strict => AdmissionMode::Strict,
            UpstreamPolicy::Observe => AdmissionMode::Observe,
        },
        allow_changes: upstream.allow_changes.iter().map(class).collect(),
        allowed: match &upstream.tools {
            Some(globs) => ToolAllowlist::from_globs(globs.patterns())?,
            None => ToolAllowlist::allow_all(),
        },
        ..AdmissionPolicy::default()
    })
}

/// Returns a path for display, relative to the root if it is below it.
pub fn display_path(settings: &Settings, path: &Path) -> String {
    path.strip_prefix(&settings.root).unwrap_or(path).display().to_string()
}

/// Returns the folder of the answers stored for `vouch learn`.
pub fn samples_folder(settings: &Settings) -> PathBuf {
    settings.state_folder.join(SAMPLES_FOLDER)
}

/// Opens vouch.lock, the file of pins. Creates the state folder, which holds its lock.
pub fn open_lock_file(settings: &Settings) -> Result<LockFile> {
    project::open_state(settings)?;
    let trust: Arc<dyn gateway::FileTrust> = Arc::clone(&settings.trust) as _;
    let lock = LockFile::new(&settings.gateway.lock, settings.state_folder.join(LOCK_GUARD_FILE));
    Ok(lock.with_trust(Some(trust)))
}

/// Returns the catalog name of an upstream's tool.
pub fn catalog_name(settings: &Settings, upstream: &str, tool: &str) -> String {
    format!("{upstream}{}{tool}", settings.gateway.separator)
}

/// Returns the approval policies of upstream tools, from vouch.toml and from overlays.
pub fn collect_approvals(settings: &Settings) -> Result<BTreeMap<String, ApprovalMode>> {
    let named = settings.tools.iter().filter(|(name, _)| settings.upstream_of(name).is_some());
    let mut approvals: BTreeMap<String, ApprovalMode> =
        named.filter_map(|(name, layer)| Some((name.clone(), layer.approve?.into()))).collect();
    let contracts = &settings.gateway.contracts;
    for upstream in settings.upstreams.iter().filter(|upstream| upstream.enabled) {
        let trust: Arc<dyn gateway::FileTrust> = Arc::clone(&settings.trust) as _;
        let shown = display_path(settings, contracts);
        let overlays = read_overlays(contracts, &shown, &upstream.name, Some(&trust));
        let overlays =
            overlays.map_err(|error| Failure::from(error).with_kind(FailureKind::Usage))?;
        for (tool, overlay) in overlays {
            let wants = overlay.constraints.and_then(|limits| limits.approval) == Some(true);
            let name = catalog_name(settings, &upstream.name, &tool);
            if let Some(policy) = settings.approval_policy(&name, wants).filter(|_| wants) {
                approvals.entry(name).or_insert_with(|| policy.into());
            }
        }
    }
    Ok(approvals)
}

//! From `[[upstream]]` to what the gateway takes: references resolved, policies and sandboxes in its words.

mod check;
pub mod draft;
pub mod file;
mod location;
mod survey;
pub mod translate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admit::{Allowlist, ChangeClass, Mode, Policy};
use gateway::{Adjust, LockFile, UpstreamOptions, read_overlays};
use link::{Endpoint, Program, Reach};
use runtime::Approve;
use store::StateDir;

use crate::config::{
    Change, Connection, NotResolved, Sandbox, Settings, Upstream, UpstreamPolicy, suggest,
};
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Explain, Failure, Result};
use crate::project;
pub use check::{absent, check, rules};
pub use location::{place, shown_args, shown_url};
pub use survey::{Look, Survey, last_words, of_tool, survey};

/// The word by which this program is called as the keeper of a child. It is no command: nobody types it.
pub const KEEPER: &str = "__keeper";

/// Where answers are kept for `vouch learn`, in the state folder.
const SAMPLES: &str = "samples";
/// Held while vouch.lock is changed, in the state folder.
const GUARD: &str = "pins.lock";

/// The upstreams that can be started, and those that cannot because a secret is missing.
pub struct Lowered {
    pub options: gateway::Options,
    pub unresolved: Vec<NotResolved>,
}

impl Lowered {
    /// All of them or none.
    pub fn complete(self) -> Result<gateway::Options> {
        match self.unresolved.into_iter().next() {
            None => Ok(self.options),
            Some(error) => {
                let hint = format!(
                    "set it where vouch is started, or leave the upstream out: `enabled = false` for `{}` in vouch.toml",
                    error.upstream
                );
                Err(Failure::from(error).with_hint(hint).with_kind(FailureKind::Usage))
            }
        }
    }
}

/// The enabled upstreams, or those of them that are named. Secrets are read here.
pub fn lower(app: &AppContext, settings: &Arc<Settings>, names: &[String]) -> Result<Lowered> {
    let chosen = choose(settings, names)?;
    let keeper = std::env::current_exe().explain("cannot tell where this program is")?;
    let keeper = vec![keeper.into_os_string(), KEEPER.into()];
    let (mut upstreams, mut unresolved) = (Vec::new(), Vec::new());
    for upstream in chosen {
        for path in upstream.exposed(&settings.root) {
            let shown = path.display();
            app.notices.note(format_args!(
                "warning: {shown} can be read by other users of this machine; chmod 600 {shown}"
            ));
        }
        match reach(app, settings, upstream, &keeper) {
            Ok(reach) => {
                let mut link = link::Options::new(&upstream.name, reach);
                link.connect_timeout = upstream.connect_timeout;
                upstreams.push(UpstreamOptions::new(link, policy(upstream)?));
            }
            Err(error) => unresolved.push(error),
        }
    }
    // For servers over HTTPS.
    runtime::client::install_tls();
    let limits = Arc::clone(settings);
    let options = gateway::Options {
        separator: settings.gateway.separator.clone(),
        contracts: settings.gateway.contracts.clone(),
        contracts_shown: shown(settings, &settings.gateway.contracts),
        lock: settings.gateway.lock.clone(),
        lock_guard: settings.state_folder.join(GUARD),
        samples: None,
        adjust: Some(Adjust::new(move |tool, constraints| {
            project::limit(&limits, tool, constraints);
            limits.tool(tool).enabled != Some(false)
        })),
        upstreams,
    };
    Ok(Lowered { options, unresolved })
}

/// The enabled upstreams, in the order of the file; with names, those only.
fn choose<'s>(settings: &'s Settings, names: &[String]) -> Result<Vec<&'s Upstream>> {
    let known: Vec<&str> = settings.upstreams.iter().map(|one| one.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Failure::usage(format!("there is no upstream `{name}`")).with_hint(suggest(
            name,
            &known,
            "upstreams",
        )));
    }
    let is_chosen = |one: &&Upstream| names.is_empty() || names.contains(&one.name);
    let chosen: Vec<_> = settings.upstreams.iter().filter(is_chosen).collect();
    if let Some(one) = chosen.iter().find(|one| !names.is_empty() && !one.enabled) {
        return Err(Failure::usage(format!("the upstream `{}` is switched off", one.name))
            .with_hint("take `enabled = false` out of its table in vouch.toml"));
    }
    let chosen: Vec<_> = chosen.into_iter().filter(|one| one.enabled).collect();
    if chosen.is_empty() {
        let message = match settings.upstreams.is_empty() {
            true => "there are no other servers here",
            false => "all other servers are switched off (`enabled = false` in vouch.toml)",
        };
        return Err(Failure::usage(message).with_hint(
            "add one: vouch upstream add files -- npx -y @modelcontextprotocol/server-filesystem .",
        ));
    }
    Ok(chosen)
}

fn reach(
    app: &AppContext,
    settings: &Settings,
    upstream: &Upstream,
    keeper: &[std::ffi::OsString],
) -> std::result::Result<Reach, NotResolved> {
    let resolved = upstream.resolve(&app.environment, &settings.root)?;
    Ok(match &upstream.connection {
        Connection::Stdio { command, args, cwd, sandbox, .. } => Reach::Stdio(Program {
            command: command.clone(),
            args: args.clone(),
            env: resolved.env,
            folder: cwd.clone(),
            sandbox: match sandbox {
                Sandbox::Off => link::Sandbox::Off,
                Sandbox::Landlock(grants) => link::Sandbox::Landlock {
                    read: grants.read.clone(),
                    write: grants.write.clone(),
                    hidden: settings.hidden(),
                    network: grants.network,
                },
            },
            keeper: keeper.to_vec(),
        }),
        Connection::Http { url, .. } => {
            Reach::Http(Endpoint { url: url.clone(), headers: resolved.headers })
        }
        Connection::Sse { url, .. } => {
            Reach::Sse(Endpoint { url: url.clone(), headers: resolved.headers })
        }
    })
}

fn policy(upstream: &Upstream) -> Result<Policy> {
    let class = |change: &Change| match change {
        Change::Descriptive => ChangeClass::Descriptive,
        Change::Additive => ChangeClass::Additive,
        Change::Breaking => ChangeClass::Breaking,
        Change::Annotation => ChangeClass::Annotation,
    };
    Ok(Policy {
        mode: match upstream.policy {
            UpstreamPolicy::Default => Mode::Default,
            UpstreamPolicy::Strict => Mode::Strict,
            UpstreamPolicy::Observe => Mode::Observe,
        },
        allow_changes: upstream.allow_changes.iter().map(class).collect(),
        allowed: match &upstream.tools {
            Some(globs) => Allowlist::globs(globs.texts())?,
            None => Allowlist::all(),
        },
        ..Policy::default()
    })
}

/// A path as people write it: from the root, where it is below it.
pub fn shown(settings: &Settings, path: &Path) -> String {
    path.strip_prefix(&settings.root).unwrap_or(path).display().to_string()
}

/// Returns the folder of the answers kept for `vouch learn`.
pub fn samples(settings: &Settings) -> PathBuf {
    settings.state_folder.join(SAMPLES)
}

/// The pins, which are guarded by a file in the state folder: it is made where it is missing.
pub fn lock_file(settings: &Settings) -> Result<LockFile> {
    StateDir::open(&settings.state_folder)?;
    Ok(LockFile::new(&settings.gateway.lock, settings.state_folder.join(GUARD)))
}

/// The name of a tool in the catalog.
pub fn catalog_name(settings: &Settings, upstream: &str, tool: &str) -> String {
    format!("{upstream}{}{tool}", settings.gateway.separator)
}

/// Who is asked about calls of upstream tools: those that vouch.toml names, and those whose overlays want it.
pub fn approvals(settings: &Settings) -> Result<BTreeMap<String, Approve>> {
    let named = settings.tools.iter().filter(|(name, _)| settings.upstream_of(name).is_some());
    let mut approvals: BTreeMap<String, Approve> =
        named.filter_map(|(name, layer)| Some((name.clone(), layer.approve?.into()))).collect();
    let contracts = &settings.gateway.contracts;
    for upstream in settings.upstreams.iter().filter(|upstream| upstream.enabled) {
        let overlays = read_overlays(contracts, &shown(settings, contracts), &upstream.name);
        let overlays =
            overlays.map_err(|error| Failure::from(error).with_kind(FailureKind::Usage))?;
        for (tool, overlay) in overlays {
            let wants = overlay.constraints.and_then(|limits| limits.approval) == Some(true);
            let name = catalog_name(settings, &upstream.name, &tool);
            if let Some(policy) = settings.policy(&name, wants).filter(|_| wants) {
                approvals.entry(name).or_insert_with(|| policy.into());
            }
        }
    }
    Ok(approvals)
}

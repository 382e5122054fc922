//! Resolves the server that `vouch check` connects to, and the hints to show if connecting fails.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use link::{ConnectionError, NetworkAccess, ResourceLimits};

use crate::config::{
    SandboxConfig, SandboxGrants, SecretReference, ServerUrl, Settings, UpstreamConfig,
    UpstreamConnection, UpstreamPolicy, suggest_name,
};
use crate::context::AppContext;
use crate::env::EnvVar;
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};
use crate::flag_pairs::{parse_header, parse_variable};
use crate::upstreams::draft::{add_required_variables, detect_launcher, download_hosts};
use crate::upstreams::{self, ResolvedUpstreams, display_location};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The server to check, as given on the command line.
#[derive(Clone, Debug, Default)]
pub struct CheckTargetOptions {
    /// URL of a server or name of an upstream; `None` for a program.
    pub server: Option<String>,
    /// True if the URL uses the HTTP+SSE transport of protocol versions before 2025.
    pub sse: bool,
    /// Headers of every request, as `Name: value`.
    pub header: Vec<String>,
    /// Variables of the program's environment, as `NAME=VALUE`.
    pub env: Vec<String>,
    /// Folders that the program may read, instead of the project root.
    pub read: Vec<PathBuf>,
    /// Folders that the program may write.
    pub write: Vec<PathBuf>,
    pub network: NetworkAccess,
    /// True for the sandbox level `landlock`.
    pub is_landlock: bool,
    pub limits: ResourceLimits,
    /// True if the program runs without a sandbox.
    pub no_sandbox: bool,
    /// Maximum seconds for the server to start.
    pub timeout: Option<u32>,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// A server that can be connected to and checked.
pub struct CheckTarget {
    pub settings: Arc<Settings>,
    pub options: link::Options,
    /// Name of the upstream in vouch.toml, if it is one.
    pub upstream: Option<String>,
    /// Location for display, without secrets.
    pub location: String,
    advice: ConnectAdvice,
}

/// The facts that decide which hints a failed connection gets.
enum ConnectAdvice {
    Sandbox { upstream: Option<String>, launcher: Option<String>, home: Option<String> },
    Program,
    Http { sse: bool, named: bool },
}

impl CheckTarget {
    /// Resolves the server that the options name.
    pub fn resolve(
        app: &AppContext,
        args: &CheckTargetOptions,
        mut settings: Settings,
    ) -> Result<Self> {
        let (mut upstream, name) = match &args.server {
            Some(url) if url.contains("://") => (upstream_from_url(args, url)?, None),
            Some(name) => {
                if args.sse || !args.header.is_empty() {
                    let message =
                        "--sse and --header require a URL; set an upstream's in vouch.toml";
                    return Err(Failure::usage(message));
                }
                (find_upstream(name, &settings)?, Some(name.clone()))
            }
            None => (upstream_from_command(args, &settings)?, None),
        };
        match args.timeout {
            Some(seconds) => upstream.connect_timeout = Duration::from_secs(seconds.into()),
            None if name.is_none() => upstream.connect_timeout = CONNECT_TIMEOUT,
            None => {}
        }
        let advice = match &upstream.connection {
            UpstreamConnection::Stdio { sandbox: SandboxConfig::Off, .. } => ConnectAdvice::Program,
            UpstreamConnection::Stdio { command, .. } => ConnectAdvice::Sandbox {
                upstream: name.clone(),
                launcher: detect_launcher(command).map(str::to_owned),
                home: app.environment.get(EnvVar::Home).map(str::to_owned),
            },
            UpstreamConnection::Http { .. } => {
                ConnectAdvice::Http { sse: false, named: name.is_some() }
            }
            UpstreamConnection::Sse { .. } => {
                ConnectAdvice::Http { sse: true, named: name.is_some() }
            }
        };
        let shown = display_location(&upstream);
        // The settings are reduced to this upstream. A disabled one is checked nevertheless.
        settings.upstreams = vec![UpstreamConfig { enabled: true, ..upstream }];
        let settings = Arc::new(settings);
        let ResolvedUpstreams { options, unresolved } =
            upstreams::resolve_upstreams(app, &settings, &[])?;
        if let Some(error) = unresolved.into_iter().next() {
            let value = match name {
                Some(_) => error.to_string(),
                // `headers.X-Key` or `env.KEY` becomes the flag `--header` or `--env`.
                None => {
                    let (table, key) = error.key.split_once('.').unwrap_or(("", &error.key));
                    format!("failed to resolve --{} {key}", table.trim_end_matches('s'))
                }
            };
            return Err(Failure::from(error.source)).explain(value).map_err(|failure| {
                failure
                    .with_hint("set it in the environment of vouch")
                    .with_kind(FailureKind::Usage)
            });
        }
        let options = options.upstreams.into_iter().map(|one| one.link).next();
        let options = options.expect("one upstream yields one set of options");
        Ok(Self { settings, options, location: shown, upstream: name, advice })
    }

    /// Returns the failure of a connection attempt, with hints.
    pub fn connect_failure(&self, error: &ConnectionError) -> Failure {
        let failure = Failure::new(error);
        match (&self.advice, error) {
            (_, ConnectionError::Unauthenticated { .. }) => failure.with_hint(match self.upstream {
                Some(_) => "correct `headers` in its table in vouch.toml",
                None => "pass its token: --header 'Authorization: Bearer ${TOKEN}'",
            }),
            (ConnectAdvice::Sandbox { upstream, .. }, ConnectionError::SandboxUnavailable { .. }) => {
                failure.with_hint(match upstream {
                    Some(name) => format!("if you trust it, set `sandbox = \"off\"` in the table of `{name}`"),
                    None => "if you trust it, pass `--no-sandbox`".to_owned(),
                })
            }
            (ConnectAdvice::Sandbox { upstream, launcher, home }, ConnectionError::Unavailable { .. }) => {
                let failure = failure.with_hint(
                    "the sandbox may be the cause: by default a program may read this folder, but not write files or use \
                     the network",
                );
                failure.with_hint(match upstream {
                    Some(name) => format!("grant access in the table of `{name}`: sandbox = {{ read, write, network }}"),
                    None => suggest_grants(launcher.as_deref(), home.as_deref()),
                })
            }
            (_, ConnectionError::StartFailed { .. }) => {
                failure.with_hint("write the program after `--`, as in a shell")
            }
            (ConnectAdvice::Http { sse, named: false }, ConnectionError::Unavailable { .. } | ConnectionError::ProtocolViolation { .. }) => {
                failure.with_hint(match sse {
                    true => "check that the URL is the event stream; for a newer server omit `--sse`",
                    false => "check that the URL is the MCP endpoint; for a server with the HTTP+SSE transport pass `--sse`",
                })
            }
            _ => failure,
        }
    }
}

/// Returns a hint with the sandbox flags to try. Launchers always need network access and a cache folder.
fn suggest_grants(launcher: Option<&str>, home: Option<&str>) -> String {
    let home = home.unwrap_or("~");
    let network = match launcher.and_then(download_hosts) {
        Some(hosts) => {
            let flags: Vec<_> = hosts.iter().map(|host| format!("--allow-host {host}")).collect();
            flags.join(" ")
        }
        None => "--network".to_owned(),
    };
    match launcher {
        Some(launcher @ ("npx" | "npm")) => {
            format!("{launcher} downloads packages; allow it with `{network} --write {home}/.npm`")
        }
        Some("docker" | "podman") => {
            "pass `--no-sandbox`; the container is itself a sandbox".to_owned()
        }
        Some(launcher) => format!(
            "{launcher} downloads packages; allow it with `{network} --write {home}/.cache`"
        ),
        None => {
            "grant access with `--read DIR`, `--write DIR` or `--allow-host HOST:PORT`, or pass `--no-sandbox`"
                .to_owned()
        }
    }
}

fn find_upstream(name: &str, settings: &Settings) -> Result<UpstreamConfig> {
    let found = settings.upstreams.iter().find(|upstream| upstream.name == name);
    found.cloned().ok_or_else(|| {
        let known: Vec<_> = settings.upstreams.iter().map(|one| one.name.as_str()).collect();
        let hint = if known.is_empty() {
            "write a program after `--`: run `vouch check -- node server.js`".to_owned()
        } else {
            suggest_name(name, &known, "upstreams")
        };
        Failure::usage(format!("unknown upstream `{name}`")).with_hint(hint)
    })
}

fn upstream_from_url(args: &CheckTargetOptions, url: &str) -> Result<UpstreamConfig> {
    let ServerUrl(url) = url.parse().map_err(|_| {
        // The URL may contain a password, so it is not repeated.
        Failure::usage("invalid URL: expected http:// or https:// with a host")
    })?;
    let headers = args.header.iter().map(|text| {
        let (name, value) = parse_header(text)?;
        let value = value.parse::<SecretReference>();
        let value = value.map_err(|why| Failure::usage(format!("--header {name}: {why}")))?;
        Ok((name, value))
    });
    let headers = headers.collect::<Result<_>>()?;
    Ok(unnamed_upstream(match args.sse {
        true => UpstreamConnection::Sse { url, headers },
        false => UpstreamConnection::Http { url, headers },
    }))
}

fn upstream_from_command(args: &CheckTargetOptions, settings: &Settings) -> Result<UpstreamConfig> {
    if args.sse || !args.header.is_empty() {
        return Err(Failure::usage("--sse and --header require a URL"));
    }
    // clap rejects an empty command.
    let (command, rest) =
        args.command.split_first().map_or(("", &[][..]), |(c, r)| (c.as_str(), r));
    let env = args.env.iter().map(|text| parse_variable(text));
    let env = env.map(|pair| pair.map(|(name, value)| (name, value.to_owned())));
    let mut env = env.collect::<Result<Vec<_>>>()?;
    add_required_variables(command, &mut env);
    let env = env.into_iter().map(|(name, text)| {
        let value: SecretReference =
            text.parse().map_err(|message| Failure::usage(format!("--env {name}: {message}")))?;
        Ok((name, value))
    });
    let here = std::env::current_dir()?;
    let absolute = |paths: &[PathBuf]| paths.iter().map(|path| here.join(path)).collect();
    // A folder without a configuration has no pins to protect.
    let protected = settings.config_file().map(|_| &settings.protected);
    for path in &args.write {
        if let Some(Err(why)) = protected.map(|paths| paths.check_write(&here.join(path))) {
            return Err(Failure::usage(format!("--write {}: {why}", path.display())));
        }
    }
    let sandbox = if args.no_sandbox {
        SandboxConfig::Off
    } else {
        let grants = SandboxGrants {
            read: match args.read.is_empty() {
                true => vec![settings.root.clone()],
                false => absolute(&args.read),
            },
            write: absolute(&args.write),
            network: args.network.clone(),
            limits: args.limits,
        };
        match args.is_landlock {
            true => SandboxConfig::Landlock(grants),
            false => SandboxConfig::Full(grants),
        }
    };
    let (command, args) = (command.to_owned(), rest.to_vec());
    let env = env.collect::<Result<BTreeMap<_, _>>>()?;
    Ok(unnamed_upstream(UpstreamConnection::Stdio { command, args, env, cwd: here, sandbox }))
}

/// Returns an upstream that is not in the configuration.
fn unnamed_upstream(connection: UpstreamConnection) -> UpstreamConfig {
    UpstreamConfig {
        name: "server".to_owned(),
        connection,
        policy: UpstreamPolicy::Default,
        allow_changes: BTreeSet::new(),
        tools: None,
        connect_timeout: CONNECT_TIMEOUT,
        required: true,
        enabled: true,
    }
}

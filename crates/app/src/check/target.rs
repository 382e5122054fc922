//! Which server is checked, and what to tell if it cannot be reached.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use link::LinkError;

use crate::config::{
    Address, Connection, Grants, Reference, Sandbox, Settings, Upstream, UpstreamPolicy, suggest,
};
use crate::context::AppContext;
use crate::env::Var;
use crate::failure::FailureKind;
use crate::failure::{Explain, Failure, Result};
use crate::pairs::{header, variable};
use crate::upstreams::draft::{launcher, surroundings};
use crate::upstreams::{self, Lowered, place};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The server that a check is about, as the command line names it.
#[derive(Clone, Debug, Default)]
pub struct TargetOptions {
    /// The URL of a server or the name of an upstream; `None` for a program.
    pub server: Option<String>,
    /// True if the URL speaks the SSE transport of before 2025.
    pub sse: bool,
    /// Headers of every request, as `Name: value`.
    pub header: Vec<String>,
    /// Variables of the program's environment, as `NAME=VALUE`.
    pub env: Vec<String>,
    /// Folders that the program may read, instead of the current one.
    pub read: Vec<PathBuf>,
    /// Folders that the program may write.
    pub write: Vec<PathBuf>,
    /// True if the program may use the network.
    pub network: bool,
    /// True if the program runs without a sandbox.
    pub no_sandbox: bool,
    /// Seconds that the server has to start.
    pub timeout: Option<u32>,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// A server that can be connected to and checked.
pub struct Target {
    pub settings: Arc<Settings>,
    pub options: link::Options,
    /// Its name in vouch.toml, if it has one.
    pub upstream: Option<String>,
    /// Where it is, without secrets.
    pub shown: String,
    advice: Advice,
}

/// What may be the matter if it does not answer.
enum Advice {
    Sandbox { upstream: Option<String>, launcher: Option<String>, home: Option<String> },
    Program,
    Http { sse: bool, named: bool },
}

impl Target {
    /// Resolves the server that the options name.
    pub fn of(app: &AppContext, args: &TargetOptions, mut settings: Settings) -> Result<Self> {
        let (mut upstream, name) = match &args.server {
            Some(url) if url.contains("://") => (at_url(args, url)?, None),
            Some(name) => {
                if args.sse || !args.header.is_empty() {
                    let message =
                        "--sse and --header are for a URL; an upstream's are in vouch.toml";
                    return Err(Failure::usage(message));
                }
                (named(name, &settings)?, Some(name.clone()))
            }
            None => (program(args, &settings)?, None),
        };
        match args.timeout {
            Some(seconds) => upstream.connect_timeout = Duration::from_secs(seconds.into()),
            None if name.is_none() => upstream.connect_timeout = CONNECT_TIMEOUT,
            None => {}
        }
        let advice = match &upstream.connection {
            Connection::Stdio { sandbox: Sandbox::Off, .. } => Advice::Program,
            Connection::Stdio { command, .. } => Advice::Sandbox {
                upstream: name.clone(),
                launcher: launcher(command).map(str::to_owned),
                home: app.environment.get(Var::Home).map(str::to_owned),
            },
            Connection::Http { .. } => Advice::Http { sse: false, named: name.is_some() },
            Connection::Sse { .. } => Advice::Http { sse: true, named: name.is_some() },
        };
        let shown = place(&upstream);
        // As if the file named this one only; one that is switched off is checked all the same.
        settings.upstreams = vec![Upstream { enabled: true, ..upstream }];
        let settings = Arc::new(settings);
        let Lowered { options, unresolved } = upstreams::lower(app, &settings, &[])?;
        if let Some(error) = unresolved.into_iter().next() {
            let value = match name {
                Some(_) => error.to_string(),
                // `headers.X-Key` or `env.KEY`, as the flags are called.
                None => {
                    let (table, key) = error.key.split_once('.').unwrap_or(("", &error.key));
                    format!("--{} {key} has no value", table.trim_end_matches('s'))
                }
            };
            return Err(Failure::from(error.source)).explain(value).map_err(|failure| {
                failure.with_hint("set it where vouch is started").with_kind(FailureKind::Usage)
            });
        }
        let options = options.upstreams.into_iter().map(|one| one.link).next();
        let options = options.expect("one upstream is lowered to one");
        Ok(Self { settings, options, shown, upstream: name, advice })
    }

    /// The failure with what can be done about it.
    pub fn unreachable(&self, error: &LinkError) -> Failure {
        let failure = Failure::new(error);
        match (&self.advice, error) {
            (_, LinkError::Unauthenticated { .. }) => failure.with_hint(match self.upstream {
                Some(_) => "correct the `headers` of its table in vouch.toml",
                None => "give its token: --header 'Authorization: Bearer ${TOKEN}'",
            }),
            (Advice::Sandbox { upstream, .. }, LinkError::SandboxUnavailable { .. }) => {
                failure.with_hint(match upstream {
                    Some(name) => format!("if you trust it, set in the table of `{name}`: sandbox = \"off\""),
                    None => "if you trust it, run it without: --no-sandbox".to_owned(),
                })
            }
            (Advice::Sandbox { upstream, launcher, home }, LinkError::Unavailable { .. }) => {
                let failure = failure.with_hint(
                    "it runs under Landlock, which may be what stops it: by default it may read this folder, write \
                     nothing and use no network",
                );
                failure.with_hint(match upstream {
                    Some(name) => format!("grant what it needs in the table of `{name}`: sandbox = {{ read, write, network }}"),
                    None => grants(launcher.as_deref(), home.as_deref()),
                })
            }
            (_, LinkError::Program { .. }) => {
                failure.with_hint("write the program after `--`, as you would start it in a shell")
            }
            (Advice::Http { sse, named: false }, LinkError::Unavailable { .. } | LinkError::Malformed { .. }) => {
                failure.with_hint(match sse {
                    true => "is it the address of the event stream? Newer servers are asked without --sse",
                    false => "is it the address of the MCP endpoint? One that speaks the transport of before 2025 needs --sse",
                })
            }
            _ => failure,
        }
    }
}

/// Flags to try: launchers keep what they fetch, others need it only sometimes.
fn grants(launcher: Option<&str>, home: Option<&str>) -> String {
    let home = home.unwrap_or("~");
    match launcher {
        Some("npx" | "npm") => {
            format!("npx fetches what it runs, and keeps it; let it: --network --write {home}/.npm")
        }
        Some("docker" | "podman") => {
            "a container is a sandbox of its own; run it without ours: --no-sandbox".to_owned()
        }
        Some(launcher) => format!(
            "{launcher} fetches what it runs, and keeps it; let it: --network --write {home}/.cache"
        ),
        None => {
            "grant what it needs (--read DIR, --write DIR, --network), or all of it: --no-sandbox"
                .to_owned()
        }
    }
}

fn named(name: &str, settings: &Settings) -> Result<Upstream> {
    let found = settings.upstreams.iter().find(|upstream| upstream.name == name);
    found.cloned().ok_or_else(|| {
        let known: Vec<_> = settings.upstreams.iter().map(|one| one.name.as_str()).collect();
        let hint = if known.is_empty() {
            "a program is written after `--`: vouch check -- node server.js".to_owned()
        } else {
            suggest(name, &known, "upstreams")
        };
        Failure::usage(format!("there is no upstream `{name}`")).with_hint(hint)
    })
}

fn at_url(args: &TargetOptions, url: &str) -> Result<Upstream> {
    let Address(url) = url.parse().map_err(|_| {
        // It may hold a password.
        Failure::usage("this is not an http:// or https:// address with a host")
    })?;
    let headers = args.header.iter().map(|text| {
        let (name, value) = header(text)?;
        let value = value.parse::<Reference>();
        let value = value.map_err(|why| Failure::usage(format!("--header {name}: {why}")))?;
        Ok((name, value))
    });
    let headers = headers.collect::<Result<_>>()?;
    Ok(upstream(match args.sse {
        true => Connection::Sse { url, headers },
        false => Connection::Http { url, headers },
    }))
}

fn program(args: &TargetOptions, settings: &Settings) -> Result<Upstream> {
    if args.sse || !args.header.is_empty() {
        return Err(Failure::usage("--sse and --header are for a URL"));
    }
    // clap lets no empty one through.
    let (command, rest) =
        args.command.split_first().map_or(("", &[][..]), |(c, r)| (c.as_str(), r));
    let env = args.env.iter().map(|text| variable(text));
    let env = env.map(|pair| pair.map(|(name, value)| (name, value.to_owned())));
    let mut env = env.collect::<Result<Vec<_>>>()?;
    surroundings(command, &mut env);
    let env = env.into_iter().map(|(name, text)| {
        let value: Reference =
            text.parse().map_err(|message| Failure::usage(format!("--env {name}: {message}")))?;
        Ok((name, value))
    });
    let here = std::env::current_dir()?;
    let absolute = |paths: &[PathBuf]| paths.iter().map(|path| here.join(path)).collect();
    // A folder without a configuration has no pins either.
    let protected = settings.config_file().map(|_| &settings.protected);
    for path in &args.write {
        if let Some(Err(why)) = protected.map(|paths| paths.check_write(&here.join(path))) {
            return Err(Failure::usage(format!("--write {}: {why}", path.display())));
        }
    }
    let sandbox = if args.no_sandbox {
        Sandbox::Off
    } else {
        Sandbox::Landlock(Grants {
            read: match args.read.is_empty() {
                true => vec![settings.root.clone()],
                false => absolute(&args.read),
            },
            write: absolute(&args.write),
            network: args.network,
        })
    };
    let (command, args) = (command.to_owned(), rest.to_vec());
    let env = env.collect::<Result<BTreeMap<_, _>>>()?;
    Ok(upstream(Connection::Stdio { command, args, env, cwd: here, sandbox }))
}

/// An upstream that is in no file.
fn upstream(connection: Connection) -> Upstream {
    Upstream {
        name: "server".to_owned(),
        connection,
        policy: UpstreamPolicy::Default,
        allow_changes: BTreeSet::new(),
        tools: None,
        connect_timeout: CONNECT_TIMEOUT,
        enabled: true,
    }
}

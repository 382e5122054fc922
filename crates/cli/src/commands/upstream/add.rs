//! `vouch upstream add`.

use std::path::{Path, PathBuf};

use app::config::{Address, Reference, Settings, UpstreamName, UpstreamPolicy};
use app::env::Var;
use app::pairs::{header, variable};
use app::upstreams::draft::{Draft, Sandbox, Way, launcher_note, surroundings};
use app::upstreams::file::ConfigFile;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Failure, Result};
use crate::values;

/// Add a server to vouch.toml
///
/// Either a program that is started, after `--`, or a URL. Values of --env and --header may refer to secrets, which stay
/// out of the file: ${NAME} is a variable, ${file:PATH} a file's content; quote them for the shell.
///
/// A program runs under Landlock: it may read the project, write nothing and use no network, unless --read, --write and
/// --network say otherwise.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What it is called here: small letters, digits and `-`
    #[arg(value_parser = |text: &str| text.parse::<UpstreamName>())]
    name: UpstreamName,

    /// Where it is reached over HTTP
    #[arg(long, value_name = "URL", value_parser = |text: &str| text.parse::<Address>())]
    url: Option<Address>,

    /// The URL speaks the transport of before 2025
    #[arg(long, requires = "url")]
    sse: bool,

    /// A header of every request, as 'Name: value'
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,

    /// A variable of the program's environment, which holds nothing else but what finds programs
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,

    /// A folder that it may read, instead of the project
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    read: Vec<PathBuf>,

    /// A folder that it may write
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    write: Vec<PathBuf>,

    /// Let it use the network
    #[arg(long, conflicts_with = "url")]
    network: bool,

    /// Let it do everything that you may
    #[arg(long, conflicts_with_all = ["url", "read", "write", "network"])]
    no_sandbox: bool,

    /// What happens to tools that do not conform
    #[arg(long, value_parser = values::upstream_policy())]
    policy: Option<UpstreamPolicy>,

    /// The program and its arguments
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "url",
        conflicts_with = "url"
    )]
    command: Vec<String>,
}

/// The file is shared and kept; so no secret that is recognised as one goes into it.
fn checked(flag: &str, (name, value): (String, &str)) -> Result<(String, String)> {
    value
        .parse::<Reference>()
        .map_err(|message| Failure::usage(format!("{flag} {name}: {message}")))?;
    match secrets::find(&format!("{name}={value}")) {
        Some(rule) => {
            let variable = app::upstreams::translate::variable_name(&name);
            let message = format!(
                "{flag} {name}: the value looks like {}, and vouch.toml is no place for it",
                rule.what
            );
            Err(Failure::usage(message)
                .with_hint(format!("name the variable that holds it: '${{{variable}}}'")))
        }
        None => Ok((name, value.to_owned())),
    }
}

pub(super) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    let UpstreamName(name) = &args.name;
    if settings.upstreams.iter().any(|upstream| upstream.name == *name) {
        return Err(Failure::usage(format!("there is an upstream `{name}` already"))
            .with_hint(format!("take another name, or remove it: vouch upstream remove {name}")));
    }
    let draft = draft(args, &settings)?;
    let mut file = ConfigFile::of(&settings)?;
    file.add(std::slice::from_ref(&draft))?;
    let would_be = file.check(&ctx.app, &settings)?;
    file.write()?;
    ctx.ui.note(format_args!("added `{name}` to {}", file.shown(&settings.root)));
    if args.no_sandbox {
        ctx.ui.note("It runs without a sandbox: it may do everything that you may.");
    }
    if let Some((_, note)) = launcher_note(&draft, ctx.app.environment.get(Var::Home)) {
        ctx.ui.note(note);
    }
    let upstream = would_be.upstreams.iter().find(|upstream| upstream.name == *name);
    let missing = upstream.into_iter().flat_map(|upstream| upstream.variables());
    for name in missing.filter(|name| ctx.app.environment.secret(name).is_none()) {
        ctx.ui.note(format_args!("set {name} before it is started"));
    }
    Ok(Exit::Success)
}

fn draft(args: &Args, settings: &Settings) -> Result<Draft> {
    // clap does not ask for what another flag excludes.
    if args.url.is_none() && (args.sse || !args.header.is_empty()) {
        return Err(Failure::usage("--sse and --header are for a server with --url"));
    }
    let way = match (&args.url, args.command.split_first()) {
        (Some(Address(url)), _) => {
            let headers = args
                .header
                .iter()
                .map(|text| checked("--header", header(text)?))
                .collect::<Result<_>>()?;
            Way::Url { url: url.clone(), sse: args.sse, headers }
        }
        // clap lets neither through.
        (None, command) => {
            let (command, rest) = command.map_or(("", &[][..]), |(first, rest)| (first, rest));
            let mut env = args
                .env
                .iter()
                .map(|text| checked("--env", variable(text)?))
                .collect::<Result<Vec<_>>>()?;
            surroundings(command, &mut env);
            Way::Stdio {
                command: command.to_owned(),
                args: rest.to_vec(),
                env,
                cwd: None,
                sandbox: sandbox(args, &settings.root),
            }
        }
    };
    Ok(Draft {
        name: args.name.0.clone(),
        way,
        policy: args.policy,
        tools: Vec::new(),
        connect_timeout_ms: None,
        enabled: true,
    })
}

fn sandbox(args: &Args, root: &Path) -> Option<Sandbox> {
    if args.no_sandbox {
        return Some(Sandbox::Off);
    }
    if args.read.is_empty() && args.write.is_empty() && !args.network {
        return None;
    }
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| below(path, root)).collect();
    Some(Sandbox::Grants {
        read: paths(&args.read),
        write: paths(&args.write),
        network: args.network,
    })
}

/// As the file has it: relative to the root where it is below it, wherever the command was typed.
fn below(path: &Path, root: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    match absolute.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => absolute.display().to_string(),
    }
}

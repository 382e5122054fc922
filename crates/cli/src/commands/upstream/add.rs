//! `vouch upstream add`: adds a server to vouch.toml.

use std::path::{Path, PathBuf};

use app::config::{SecretReference, ServerUrl, Settings, UpstreamName, UpstreamPolicy};
use app::env::EnvVar;
use app::flag_pairs::{parse_header, parse_variable};
use app::upstreams::draft::{
    DraftConnection, DraftSandbox, UpstreamDraft, add_required_variables, launcher_note,
};
use app::upstreams::file::ConfigFile;

use crate::commands::CommandContext;
use crate::commands::sandbox_flags::SandboxFlags;
use crate::exit::ExitStatus;
use crate::report::{Failure, Result};
use crate::values;

/// Add a server to vouch.toml
///
/// The server is a program to start (after `--`) or a URL. Values of --env and --header may refer to secrets, which are
/// not stored in the file: ${NAME} is replaced by a variable, ${file:PATH} by the content of a file. Quote them for the
/// shell.
///
/// A program runs in a sandbox. By default it may read the project, write nothing and use no network; grant
/// more with --read, --write and --allow-host, or --network for any host.
#[derive(Debug, clap::Args)]
pub(super) struct UpstreamAddArgs {
    /// Name of the upstream: lower-case letters, digits and `-`
    #[arg(value_parser = |text: &str| text.parse::<UpstreamName>())]
    name: UpstreamName,

    /// URL of the server
    #[arg(long, value_name = "URL", value_parser = |text: &str| text.parse::<ServerUrl>())]
    url: Option<ServerUrl>,

    /// Use the HTTP+SSE transport that preceded streamable HTTP (before 2025)
    #[arg(long, requires = "url")]
    sse: bool,

    /// Add a header to every request, as 'Name: value'
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,

    /// Set an environment variable of the program; others are not inherited, except those needed to find programs
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,

    /// Let it read this folder, instead of the project
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    read: Vec<PathBuf>,

    /// Let it write to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    write: Vec<PathBuf>,

    /// Let it use the network
    #[arg(long, conflicts_with = "url")]
    network: bool,

    /// Run it without a sandbox
    #[arg(long, conflicts_with_all = ["url", "read", "write", "network"])]
    no_sandbox: bool,

    #[command(flatten)]
    sandbox: SandboxFlags,

    /// Policy for tools that do not conform
    #[arg(long, value_parser = values::upstream_policy_parser())]
    policy: Option<UpstreamPolicy>,

    /// Program to start, with its arguments
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "url",
        conflicts_with = "url"
    )]
    command: Vec<String>,
}

/// Returns the pair if its value contains no recognizable secret, because vouch.toml is shared. Errors otherwise.
fn reject_secret(flag: &str, (name, value): (String, &str)) -> Result<(String, String)> {
    value
        .parse::<SecretReference>()
        .map_err(|message| Failure::usage(format!("{flag} {name}: {message}")))?;
    match secrets::find_secret(&format!("{name}={value}")) {
        Some(rule) => {
            let variable = app::upstreams::import::to_variable_name(&name);
            let message = format!(
                "{flag} {name}: the value looks like {}, which must not be stored in vouch.toml",
                rule.description
            );
            Err(Failure::usage(message)
                .with_hint(format!("refer to an environment variable: '${{{variable}}}'")))
        }
        None => Ok((name, value.to_owned())),
    }
}

pub(super) fn run_upstream_add(ctx: &CommandContext, args: &UpstreamAddArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    let UpstreamName(name) = &args.name;
    if settings.upstreams.iter().any(|upstream| upstream.name == *name) {
        return Err(Failure::usage(format!("upstream `{name}` already exists"))
            .with_hint(format!("choose another name, or run `vouch upstream remove {name}`")));
    }
    let draft = build_draft(args, &settings)?;
    let mut file = ConfigFile::open(&settings)?;
    file.add_upstreams(std::slice::from_ref(&draft))?;
    let would_be = file.preview(&ctx.app, &settings)?;
    file.write(&settings)?;
    ctx.ui.print_note(format_args!("added `{name}` to {}", file.display_path(&settings.root)));
    if args.no_sandbox {
        ctx.ui.print_note("It runs without a sandbox, with all of your permissions.");
    }
    if let Some((_, note)) = launcher_note(&draft, ctx.app.environment.get(EnvVar::Home)) {
        ctx.ui.print_note(note);
    }
    let upstream = would_be.upstreams.iter().find(|upstream| upstream.name == *name);
    let missing = upstream.into_iter().flat_map(|upstream| upstream.variable_names());
    for name in missing.filter(|name| ctx.app.environment.read_secret(name).is_none()) {
        ctx.ui.print_note(format_args!("set {name} before it is started"));
    }
    Ok(ExitStatus::Success)
}

fn build_draft(args: &UpstreamAddArgs, settings: &Settings) -> Result<UpstreamDraft> {
    // clap does not enforce `requires` if a conflicting argument is present.
    args.sandbox.check(args.url.is_none())?;
    if args.url.is_none() && (args.sse || !args.header.is_empty()) {
        return Err(Failure::usage("--sse and --header require --url"));
    }
    let way = match (&args.url, args.command.split_first()) {
        (Some(ServerUrl(url)), _) => {
            let headers = args
                .header
                .iter()
                .map(|text| reject_secret("--header", parse_header(text)?))
                .collect::<Result<_>>()?;
            DraftConnection::Url { url: url.clone(), sse: args.sse, headers }
        }
        // clap requires a command if there is no URL.
        (None, command) => {
            let (command, rest) = command.map_or(("", &[][..]), |(first, rest)| (first, rest));
            let mut env = args
                .env
                .iter()
                .map(|text| reject_secret("--env", parse_variable(text)?))
                .collect::<Result<Vec<_>>>()?;
            add_required_variables(command, &mut env);
            DraftConnection::Stdio {
                command: command.to_owned(),
                args: rest.to_vec(),
                env,
                cwd: None,
                sandbox: build_sandbox(args, &settings.root),
            }
        }
    };
    Ok(UpstreamDraft {
        name: args.name.0.clone(),
        connection: way,
        policy: args.policy,
        tools: Vec::new(),
        connect_timeout_ms: None,
        enabled: true,
    })
}

fn build_sandbox(args: &UpstreamAddArgs, root: &Path) -> Option<DraftSandbox> {
    if args.no_sandbox {
        return Some(DraftSandbox::Off);
    }
    let is_default = args.read.is_empty() && args.write.is_empty() && !args.network;
    if is_default && !args.sandbox.is_given() {
        return None;
    }
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| relative_to_root(path, root)).collect();
    let (read, write) = (paths(&args.read), paths(&args.write));
    Some(DraftSandbox::Grants(args.sandbox.to_draft(read, write, args.network)))
}

/// Returns the path as stored in the file: relative to the root if it is inside, regardless of the current folder.
fn relative_to_root(path: &Path, root: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    match absolute.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => absolute.display().to_string(),
    }
}

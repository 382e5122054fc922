//! `vouch connect`: prints the client configuration for this project, or merges it into the client's file.

use std::io::Write;
use std::path::Path;

use app::clients::servers::read_client_file;
use app::clients::{
    ClientConnection, ClientFileFormat, ClientToken, LaunchCommand, McpClient, json, toml,
};
use app::config::{Settings, TokenSource};
use app::project;
use app::trust::resolve_write_path;
use contract::text::one_line;
use store::files::{replace_content, replace_private_file};

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureExt, Result};
use crate::ui::{format_path, print_warning};
use crate::values;

/// Connect an MCP client to this project
///
/// Prints the entry for the client's configuration. With --write, merges it into the client's file; the rest of the
/// file is left unchanged, and an up-to-date entry is not written again.
///
/// Over HTTP, the entry contains the token of this project, and the file becomes readable for you only. Keep it out of
/// version control, or pass --token-env.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch connect claude-code
  vouch connect cursor --write
  vouch connect codex --http")]
pub(crate) struct ConnectArgs {
    /// Client to connect
    #[arg(value_parser = values::client_parser())]
    client: McpClient,

    /// Let the client start `vouch serve --stdio` (the default)
    #[arg(long, conflicts_with = "http")]
    stdio: bool,

    /// Connect to a running `vouch serve`
    #[arg(long)]
    http: bool,

    /// Name VOUCH_TOKEN instead of writing the token itself, for a file under version control
    #[arg(long, requires = "http")]
    token_env: bool,

    /// Merge the entry into the client's file
    #[arg(long)]
    write: bool,

    /// Name of this server in the client's configuration
    #[arg(long, value_name = "NAME", default_value = "vouch", value_parser = parse_server_name)]
    name: String,
}

/// Accepts only names that every client supports and that never need quoting.
fn parse_server_name(text: &str) -> std::result::Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("use letters, digits, `-` and `_` only".to_owned())
    }
}

pub(crate) fn run_connect(ctx: &CommandContext, args: &ConnectArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    let client = args.client;
    let way = choose_transport(ctx, args, &settings)?;
    let file = client.config_path(&settings.root, &ctx.app.environment).ok_or_else(|| {
        Failure::new(format!(
            "{} keeps its configuration in the home folder, and HOME is not set",
            client.display_name()
        ))
    })?;
    if args.write {
        return write_config(ctx, args, &settings, &way, &file);
    }
    let snippet = client.config_snippet(&args.name, &way);
    write!(ctx.ui.stdout(), "{snippet}")?;
    ctx.ui.print_note(format_args!("\nAdd this to {}", format_path(&file)));
    if let Some(command) = client.add_command(&args.name, &way) {
        ctx.ui.print_note(format_args!("or run: {}", one_line(&command)));
    }
    ctx.ui.print_note(format_args!("or run: vouch connect {} --write", equivalent_args(args)));
    remind_of_token(ctx, &way);
    Ok(ExitStatus::Success)
}

fn choose_transport(
    ctx: &CommandContext,
    args: &ConnectArgs,
    settings: &Settings,
) -> Result<ClientConnection> {
    if !args.http {
        let config = ctx.app.location.config.as_deref();
        return Ok(ClientConnection::Stdio(LaunchCommand::new(
            settings,
            config,
            &ctx.app.environment,
        )));
    }
    if !args.client.supports_http() {
        return Err(Failure::usage(format!(
            "{} does not support HTTP servers",
            args.client.display_name()
        ))
        .with_hint("connect over stdio: vouch connect claude-desktop --stdio"));
    }
    if settings.server.address.port() == 0 {
        return Err(Failure::usage(
            "the configured port is 0, so the URL changes with every start",
        )
        .with_hint("set a port in vouch.toml, or pass `--stdio` to let the client start vouch"));
    }
    let way = ClientConnection::over_http(settings, settings.server.address);
    match (way, &settings.server.token) {
        (ClientConnection::Http { url, .. }, Some(TokenSource::Project)) if !args.token_env => {
            let (token, _) = project::open_project_token(settings)?;
            Ok(ClientConnection::Http { url, token: ClientToken::Secret(token) })
        }
        (way, _) => Ok(way),
    }
}

fn write_config(
    ctx: &CommandContext,
    args: &ConnectArgs,
    settings: &Settings,
    way: &ClientConnection,
    file: &Path,
) -> Result<ExitStatus> {
    let failed = format!("failed to merge into {}", file.display());
    // A clone may contain links in place of the file or its folder, and the entry may contain a token.
    let target = resolve_write_path(&settings.root, file).explain(&failed)?;
    let old = read_client_file(file, &settings.root).explain(&failed)?.unwrap_or_default();
    let entry = args.client.server_entry(way);
    let merged = match args.client.file_format() {
        ClientFileFormat::Json(key) => json::insert_entry(&old, key, &args.name, &entry),
        ClientFileFormat::Toml => toml::insert_server(&old, &args.name, &entry),
    };
    let merged = merged.explain(&failed).hint(format!(
        "the file is unchanged; run `vouch connect {}` and add the entry by hand",
        equivalent_args(args)
    ))?;
    let Some(text) = merged else {
        ctx.ui.print_note(format_args!("{} is up to date", format_path(file)));
        return Ok(ExitStatus::Success);
    };
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).explain(&failed)?;
    }
    let has_secret = matches!(way, ClientConnection::Http { token: ClientToken::Secret(_), .. });
    let write = if has_secret { replace_private_file } else { replace_content };
    write(&target, text.as_bytes()).explain(&failed)?;
    let verb = if old.is_empty() { "wrote" } else { "changed" };
    ctx.ui.print_note(format_args!(
        "{verb} {}: server `{}` for {}; restart the client to load it",
        format_path(file),
        args.name,
        args.client.display_name()
    ));
    if has_secret && file.starts_with(&settings.root) {
        print_warning(
            ctx.ui,
            format_args!(
                "{} contains the token of this project: keep it out of version control, or pass `--token-env`",
                format_path(file)
            ),
        );
    }
    remind_of_token(ctx, way);
    Ok(ExitStatus::Success)
}

/// Returns the arguments of `vouch connect` that produce the same entry.
fn equivalent_args(args: &ConnectArgs) -> String {
    let http = match (args.http, args.token_env) {
        (true, true) => " --http --token-env",
        (true, false) => " --http",
        (false, _) => "",
    };
    let name = if args.name == "vouch" { String::new() } else { format!(" --name {}", args.name) };
    format!("{}{http}{name}", args.client.name())
}

fn remind_of_token(ctx: &CommandContext, way: &ClientConnection) {
    if matches!(way, ClientConnection::Http { token: ClientToken::Variable, .. }) {
        ctx.ui.print_note(
            "The client reads the token from its environment: set VOUCH_TOKEN before you start it.",
        );
    }
}

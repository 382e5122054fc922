//! `vouch connect`: a client's configuration for this project, printed or merged into its file.

use std::io::Write;
use std::path::Path;

use app::clients::{Client, Launch, Shape, Way, json, toml};
use app::config::Settings;
use app::files::write_whole;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Explain, Failure, Result};
use crate::values;

/// Connect a client to this project
///
/// Prints what goes into the client's configuration. With --write it is merged into the right file: nothing else in
/// that file is touched, and doing it twice changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch connect claude-code
  vouch connect cursor --write
  vouch connect codex --http")]
pub(crate) struct Args {
    /// Which client
    #[arg(value_parser = values::client())]
    client: Client,

    /// Let the client start `vouch serve --stdio` itself (the default)
    #[arg(long, conflicts_with = "http")]
    stdio: bool,

    /// Connect to a running `vouch serve`
    #[arg(long)]
    http: bool,

    /// Merge it into the client's file
    #[arg(long)]
    write: bool,

    /// What the client calls this server
    #[arg(long, value_name = "NAME", default_value = "vouch", value_parser = server_name)]
    name: String,
}

/// Names that every client takes, and that need no quoting anywhere.
fn server_name(text: &str) -> std::result::Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("use letters, digits, `-` and `_` only".to_owned())
    }
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    let client = args.client;
    let way = way(ctx, args, &settings)?;
    let file = client.file(&settings.root, &ctx.app.environment).ok_or_else(|| {
        Failure::new(format!(
            "{} keeps its configuration in the home folder, and HOME is not set",
            client.title()
        ))
    })?;
    if args.write {
        return write(ctx, args, &way, &file);
    }
    let snippet = client.snippet(&args.name, &way);
    write!(ctx.ui.out(), "{snippet}")?;
    ctx.ui.note(format_args!("\nThis goes into {}", file.display()));
    if let Some(command) = client.one_liner(&args.name, &way) {
        ctx.ui.note(format_args!("or run: {command}"));
    }
    ctx.ui.note(format_args!("or let vouch do it: vouch connect {} --write", typed(args)));
    remind_of_token(ctx, &way);
    Ok(Exit::Success)
}

fn way(ctx: &Context, args: &Args, settings: &Settings) -> Result<Way> {
    if !args.http {
        let config = ctx.app.place.config.as_deref();
        return Ok(Way::Stdio(Launch::new(settings, config, &ctx.app.environment)));
    }
    if !args.client.speaks_http() {
        return Err(Failure::usage(format!("{} reads no URLs from its file", args.client.title()))
            .with_hint("connect over stdio: vouch connect claude-desktop --stdio"));
    }
    if settings.server.address.port() == 0 {
        return Err(Failure::usage(
            "the configured port is 0, so the URL changes with every start",
        )
        .with_hint(
            "set a port in vouch.toml, or let the client start it: vouch connect … --stdio",
        ));
    }
    Ok(Way::http(settings, settings.server.address))
}

fn write(ctx: &Context, args: &Args, way: &Way, file: &Path) -> Result<Exit> {
    let failed = format!("cannot merge into {}", file.display());
    let old = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).explain(failed),
    };
    let entry = args.client.entry(way);
    let merged = match args.client.shape() {
        Shape::Json(key) => json::insert(&old, key, &args.name, &entry),
        Shape::Toml => toml::insert(&old, &args.name, &entry),
    };
    let merged = merged
        .explain(&failed)
        .hint(format!("nothing was changed; add it by hand: vouch connect {}", typed(args)))?;
    let Some(text) = merged else {
        ctx.ui.note(format_args!("{} has it already", file.display()));
        return Ok(Exit::Success);
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).explain(&failed)?;
    }
    write_whole(file, &text).explain(&failed)?;
    let verb = if old.is_empty() { "wrote" } else { "changed" };
    ctx.ui.note(format_args!(
        "{verb} {}: server `{}` for {}; restart the client to load it",
        file.display(),
        args.name,
        args.client.title()
    ));
    remind_of_token(ctx, way);
    Ok(Exit::Success)
}

/// The arguments that lead to the same entry.
fn typed(args: &Args) -> String {
    let http = if args.http { " --http" } else { "" };
    let name = if args.name == "vouch" { String::new() } else { format!(" --name {}", args.name) };
    format!("{}{http}{name}", args.client.name())
}

fn remind_of_token(ctx: &Context, way: &Way) {
    if matches!(way, Way::Http { token: true, .. }) {
        ctx.ui.note(
            "The client takes the token from its environment: set VOUCH_TOKEN before you start it.",
        );
    }
}

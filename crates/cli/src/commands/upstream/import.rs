//! `vouch upstream import`: the servers that an MCP client has, without the secrets in its file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use app::clients::servers::{self, Listed, ReadError};
use app::clients::{Client, url};
use app::config::{ConfigError, Settings, suggest};
use app::env::Var;
use app::upstreams::draft::{Draft, launcher_note};
use app::upstreams::file::ConfigFile;
use app::upstreams::translate::{Answer, Translate};

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Explain, Failure, Result};
use crate::values;

/// Take over the servers of an MCP client
///
/// Reads the files of Claude Code, Claude Desktop, Cursor, VS Code and Codex, and writes their servers into vouch.toml. Keys
/// and tokens are not copied: a variable is named instead, and said. What is in vouch.toml already stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch upstream import --dry-run
  vouch upstream import --from cursor github
  vouch upstream import --file ~/work/.mcp.json")]
pub(super) struct Args {
    /// Only these servers, by the names in the client's file
    names: Vec<String>,
    /// Only from this client
    #[arg(long, value_parser = values::client(), value_name = "CLIENT")]
    from: Option<Client>,
    /// From this file, which is in the format of one of the clients
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print what would be added, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    let listed = listed(ctx, args, &settings)?;
    let listed = chosen(listed, &args.names)?;
    let taken: BTreeSet<_> = settings.upstreams.iter().map(|one| one.name.clone()).collect();
    let own = url(settings.server.address);
    let home = ctx.app.environment.get(Var::Home);
    let mut translate = Translate::new(taken, own, home);
    let (mut drafts, mut notes) = (Vec::<Draft>::new(), Vec::new());
    for server in &listed {
        let from = shown(&server.file, &settings.root, home);
        match translate.one(server, |draft| fits(ctx, &settings, draft)) {
            Ok((draft, said)) => {
                let verb = if args.dry_run { "would import" } else { "imported" };
                notes.push(format!("{verb} `{}` from {from}", draft.name));
                notes.extend(said.into_iter().map(|note| format!("  {note}")));
                drafts.push(draft);
            }
            Err(why) => notes.push(format!(
                "left out `{}` in {from}: {why}",
                contract::text::one_line(&server.name)
            )),
        }
    }
    // One for each launcher is enough.
    let launchers: BTreeMap<_, _> =
        drafts.iter().rev().filter_map(|draft| launcher_note(draft, home)).collect();
    if !drafts.is_empty() {
        let mut file = ConfigFile::of(&settings)?;
        file.add(&drafts)?;
        let would_be = file.check(&ctx.app, &settings)?;
        notes.extend(missing(ctx, &would_be, &drafts, &notes));
        if args.dry_run {
            let text: Vec<_> = drafts.iter().map(Draft::text).collect();
            write!(ctx.ui.out(), "{}", text.join("\n"))?;
        } else {
            file.write()?;
        }
    }
    notes.iter().for_each(|note| ctx.ui.note(note));
    launchers.values().for_each(|note| ctx.ui.note(note));
    if drafts.is_empty() {
        ctx.ui.note("Nothing to import.");
    }
    Ok(Exit::Success)
}

/// Whether the file would load with this table.
fn fits(ctx: &Context, settings: &Settings, draft: &Draft) -> Answer<()> {
    let loaded = ConfigFile::of(settings).and_then(|mut file| {
        file.add(std::slice::from_ref(draft))?;
        file.check(&ctx.app, settings)
    });
    loaded.map(drop).map_err(|failure| match failure.find() {
        // The line is one of a file that is never written.
        Some(ConfigError::Value { key, message, .. }) => {
            let key = key.strip_prefix("upstream.").unwrap_or(key);
            contract::text::one_line(&format!("its {key} does not fit: {message}"))
        }
        _ => failure.one_line(),
    })
}

/// Variables that are not set and that nothing was said about.
fn missing(ctx: &Context, would_be: &Settings, drafts: &[Draft], notes: &[String]) -> Vec<String> {
    let imported = |name: &str| drafts.iter().any(|draft| draft.name == name);
    let upstreams = would_be.upstreams.iter().filter(|upstream| imported(&upstream.name));
    let variables: BTreeSet<_> = upstreams.flat_map(|upstream| upstream.variables()).collect();
    let said = |name: &str| notes.iter().any(|note| note.contains(&format!("set {name} ")));
    variables
        .into_iter()
        .filter(|name| ctx.app.environment.secret(name).is_none() && !said(name))
        .map(|name| format!("set {name} before it is started"))
        .collect()
}

/// The servers of the files that are there.
fn listed(ctx: &Context, args: &Args, settings: &Settings) -> Result<Vec<Listed>> {
    if let Some(path) = &args.file {
        return servers::read(path, &settings.root)
            .explain(format!("cannot read the servers in {}", path.display()));
    }
    let clients = match args.from {
        Some(client) => vec![client],
        None => Client::ALL.to_vec(),
    };
    let mut all = Vec::new();
    let mut files = Vec::new();
    for client in clients {
        for path in client.files(&settings.root, &ctx.app.environment) {
            if path.exists() {
                let read = servers::read(&path, &settings.root);
                let what = format!("cannot read the servers in {}", path.display());
                match read {
                    // It is the client's file, with other things in it.
                    Err(ReadError::NoServers) => {}
                    read => all.extend(read.explain(what)?),
                }
            }
            files.push(path);
        }
    }
    if let (Some(client), false) = (args.from, files.iter().any(|path| path.exists())) {
        let looked: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::new(format!("{} has no file here", client.title()))
            .with_hint(format!("looked for {}; name another with --file", looked.join(", "))));
    }
    Ok(all)
}

fn chosen(listed: Vec<Listed>, names: &[String]) -> Result<Vec<Listed>> {
    if names.is_empty() {
        return Ok(listed);
    }
    let known: Vec<_> = listed.iter().map(|server| server.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let failure = Failure::usage(format!("there is no server `{name}` in what was read"));
        return Err(match known.is_empty() {
            true => failure,
            false => failure.with_hint(suggest(name, &known, "servers")),
        });
    }
    Ok(listed.into_iter().filter(|server| names.contains(&server.name)).collect())
}

fn shown(path: &Path, root: &Path, home: Option<&str>) -> String {
    if let Ok(inside) = path.strip_prefix(root) {
        return inside.display().to_string();
    }
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

//! `vouch upstream import`: imports the servers of MCP clients, without the secrets in their files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use app::clients::servers::{self, ClientFileError, ClientServerEntry};
use app::clients::{McpClient, local_url};
use app::config::{ConfigError, Settings, suggest_name};
use app::env::EnvVar;
use app::trust::{FolderPower, format_all_powers, summarize_powers};
use app::upstreams::draft::{UpstreamDraft, launcher_note};
use app::upstreams::file::ConfigFile;
use app::upstreams::import::{ImportResult, ServerImporter};

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::prompt;
use crate::report::{Failure, FailureExt, Result};
use crate::ui;
use crate::values;

/// Import the servers of an MCP client
///
/// Reads the files of Claude Code, Claude Desktop, Cursor, VS Code and Codex, and adds their servers to vouch.toml.
/// Keys and tokens are not copied; they are replaced by references to variables, which are listed. Existing upstreams
/// are left unchanged.
///
/// Files below the project came with it, so what their servers would be allowed to do is shown first, and asked for.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch upstream import --dry-run
  vouch upstream import --from cursor github
  vouch upstream import --file ~/work/.mcp.json")]
pub(super) struct UpstreamImportArgs {
    /// Import only these servers, by their names in the client's file
    names: Vec<String>,
    /// Import only from this client
    #[arg(long, value_parser = values::client_parser(), value_name = "CLIENT")]
    from: Option<McpClient>,
    /// Import from this file, in the format of any of the clients
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print the entries without writing them
    #[arg(long)]
    dry_run: bool,
    /// Import servers that the project's own files list without asking
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run_upstream_import(
    ctx: &CommandContext,
    args: &UpstreamImportArgs,
) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    let listed = read_servers(ctx, args, &settings)?;
    let listed = select_servers(listed, &args.names)?;
    let taken: BTreeSet<_> = settings.upstreams.iter().map(|one| one.name.clone()).collect();
    let own = local_url(settings.server.address);
    let home = ctx.app.environment.get(EnvVar::Home);
    let mut translate = ServerImporter::new(taken, own, home);
    let (mut drafts, mut notes) = (Vec::<UpstreamDraft>::new(), Vec::new());
    let mut powers = Vec::new();
    for server in &listed {
        let from = display_path(&server.file, &settings.root, home);
        match translate.import_entry(server, |draft| check_draft(ctx, &settings, draft)) {
            Ok((draft, remarks)) => {
                let verb = if args.dry_run { "would import" } else { "imported" };
                notes.push(format!("{verb} `{}` from {from}", draft.name));
                notes.extend(remarks.into_iter().map(|note| format!("  {note}")));
                if server.is_below(&settings.root) {
                    powers.extend(draft.describe_powers());
                }
                drafts.push(draft);
            }
            Err(why) => notes.push(format!(
                "skipped `{}` in {from}: {why}",
                contract::text::one_line(&server.name)
            )),
        }
    }
    // One note per launcher.
    let launchers: BTreeMap<_, _> =
        drafts.iter().rev().filter_map(|draft| launcher_note(draft, home)).collect();
    if !drafts.is_empty() {
        let mut file = ConfigFile::open(&settings)?;
        file.add_upstreams(&drafts)?;
        let would_be = file.preview(&ctx.app, &settings)?;
        notes.extend(unset_variable_notes(ctx, &would_be, &drafts, &notes));
        if args.dry_run {
            let text: Vec<_> = drafts.iter().map(UpstreamDraft::to_toml).collect();
            write!(ctx.ui.stdout(), "{}", text.join("\n"))?;
        } else if confirm_project_servers(ctx, &powers, args.yes)? {
            file.write(&settings)?;
        } else {
            ctx.ui.print_note("Nothing imported.");
            return Ok(ExitStatus::Negative);
        }
    }
    notes.iter().for_each(|note| ctx.ui.print_note(note));
    launchers.values().for_each(|note| ctx.ui.print_note(note));
    if drafts.is_empty() {
        ctx.ui.print_note("Nothing to import.");
    }
    Ok(ExitStatus::Success)
}

/// Shows what the servers that the project itself lists would be allowed to do, and asks. Returns true if the user agrees.
///
/// A clone brings such files along, and an import renews the trust in the folder.
fn confirm_project_servers(
    ctx: &CommandContext,
    powers: &[FolderPower],
    yes: bool,
) -> Result<bool> {
    if powers.is_empty() {
        return Ok(true);
    }
    let list = format!(
        "servers in files of this project would be allowed:\n{}",
        format_all_powers(powers)
    );
    if !yes && ui::is_interactive() {
        let question = format!("Import them with {}?", summarize_powers(powers));
        return Ok(prompt::prompt_confirmation(ctx.ui, &list, &question)?);
    }
    ctx.ui.print_note(list);
    match yes {
        true => Ok(true),
        false => Err(Failure::usage("cannot prompt without a terminal")
            .with_hint("review the list, then run `vouch upstream import --yes`")),
    }
}

/// Errors with the reason if vouch.toml would not load with this entry.
fn check_draft(
    ctx: &CommandContext,
    settings: &Settings,
    draft: &UpstreamDraft,
) -> ImportResult<()> {
    let loaded = ConfigFile::open(settings).and_then(|mut file| {
        file.add_upstreams(std::slice::from_ref(draft))?;
        file.preview(&ctx.app, settings)
    });
    loaded.map(drop).map_err(|failure| match failure.find_cause() {
        // The line number is omitted, because that file is never written.
        Some(ConfigError::Value { key, message, .. }) => {
            let key = key.strip_prefix("upstream.").unwrap_or(key);
            contract::text::one_line(&format!("invalid {key}: {message}"))
        }
        _ => failure.to_one_line(),
    })
}

/// Returns a note for each unset variable that `notes` does not mention yet.
fn unset_variable_notes(
    ctx: &CommandContext,
    would_be: &Settings,
    drafts: &[UpstreamDraft],
    notes: &[String],
) -> Vec<String> {
    let imported = |name: &str| drafts.iter().any(|draft| draft.name == name);
    let upstreams = would_be.upstreams.iter().filter(|upstream| imported(&upstream.name));
    let variables: BTreeSet<_> = upstreams.flat_map(|upstream| upstream.variable_names()).collect();
    let is_noted = |name: &str| notes.iter().any(|note| note.contains(&format!("set {name} ")));
    variables
        .into_iter()
        .filter(|name| ctx.app.environment.read_secret(name).is_none() && !is_noted(name))
        .map(|name| format!("set {name} before it is started"))
        .collect()
}

/// Returns the servers of `--file`, or of the clients' files that exist.
fn read_servers(
    ctx: &CommandContext,
    args: &UpstreamImportArgs,
    settings: &Settings,
) -> Result<Vec<ClientServerEntry>> {
    if let Some(path) = &args.file {
        return servers::read_servers(path, &settings.root)
            .explain(format!("failed to read the servers in {}", path.display()));
    }
    let clients = match args.from {
        Some(client) => vec![client],
        None => McpClient::ALL.to_vec(),
    };
    let mut all = Vec::new();
    let mut files = Vec::new();
    for client in clients {
        for path in client.server_list_paths(&settings.root, &ctx.app.environment) {
            if path.exists() {
                let read = servers::read_servers(&path, &settings.root);
                let failed = format!("failed to read the servers in {}", path.display());
                match read {
                    // A client's file may contain only other settings.
                    Err(ClientFileError::NoServers) => {}
                    read => all.extend(read.explain(failed)?),
                }
            }
            files.push(path);
        }
    }
    if let (Some(client), false) = (args.from, files.iter().any(|path| path.exists())) {
        let looked: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::new(format!(
            "no configuration file of {} found",
            client.display_name()
        ))
        .with_hint(format!("looked for {}; pass another with `--file`", looked.join(", "))));
    }
    Ok(all)
}

fn select_servers(
    listed: Vec<ClientServerEntry>,
    names: &[String],
) -> Result<Vec<ClientServerEntry>> {
    if names.is_empty() {
        return Ok(listed);
    }
    let known: Vec<_> = listed.iter().map(|server| server.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let failure = Failure::usage(format!("unknown server `{name}`"));
        return Err(match known.is_empty() {
            true => failure,
            false => failure.with_hint(suggest_name(name, &known, "servers")),
        });
    }
    Ok(listed.into_iter().filter(|server| names.contains(&server.name)).collect())
}

/// Returns a path for display, relative to the root or to the home folder.
fn display_path(path: &Path, root: &Path, home: Option<&str>) -> String {
    if let Ok(inside) = path.strip_prefix(root) {
        return ui::format_path(inside);
    }
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", ui::format_path(inside)),
        None => ui::format_path(path),
    }
}

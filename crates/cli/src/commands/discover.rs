//! `vouch discover`: lists discoveries of the project and manages added ones. Works while a server is running.

mod print;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use app::config::Settings;
use app::env::EnvVar;
use app::project;
use app::trust::read_text_file;
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use pack_context::discover::{
    self, Discovery, DiscoveryKind, DiscoverySource, ImportProblem, NewDiscovery, NewDiscoveryError,
};
use store::{ContextStore, StateDir, StoreError};

use crate::commands::approvals::local_principal;
use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureExt, FailureKind, Result};
use crate::ui;

/// Maximum size of a text that is typed or piped in.
const MAX_TEXT_BYTES: u64 = 64 * 1024;
/// Maximum size of a file to import.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum number of problems that a failed import prints.
const MAX_PROBLEMS: usize = 10;

/// Manage the project's patterns, rules, decisions and issues
///
/// Discoveries are the results of context_search other than code. They are read from the memory files, decision
/// records, AGENTS.md, CLAUDE.md, .cursor/rules, CONTRIBUTING.md, TODO comments and fix commits. `add` and `import`
/// store more of them in the state folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch discover add --type decision --module auth \"Tokens live in httpOnly cookies\"
  git log -1 --format=%b | vouch discover add --type issue
  vouch discover list --type rule
  vouch discover import notes.jsonl --dry-run")]
pub(crate) struct DiscoverArgs {
    #[command(subcommand)]
    action: DiscoverCommand,
}

#[derive(Debug, Subcommand)]
enum DiscoverCommand {
    /// Add a discovery
    Add {
        /// Text of the discovery [default: read from standard input]
        text: Option<String>,
        /// Type of the discovery [default: inferred from the text]
        #[arg(long = "type", value_name = "TYPE", value_parser = kind_parser())]
        kind: Option<DiscoveryKind>,
        /// Module that it is about
        #[arg(long)]
        module: Option<String>,
        /// Short title
        #[arg(long)]
        title: Option<String>,
        /// Tag to find it by; may be given several times
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// List the discoveries of all sources, newest first
    List {
        /// List only discoveries of this type
        #[arg(long = "type", value_name = "TYPE", value_parser = kind_parser())]
        kind: Option<DiscoveryKind>,
        /// List only discoveries about this module
        #[arg(long)]
        module: Option<String>,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Show a discovery in full
    Show {
        /// ID of the discovery, or a unique prefix of it
        id: String,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Remove an added discovery
    Remove {
        /// ID of the discovery, or a unique prefix of it
        id: String,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Add the discoveries of a file
    ///
    /// A JSON file contains a list of objects, a JSONL file one object per line. An object has `content` and optionally
    /// `type`, `title`, `module`, `date` and `tags`. In a Markdown file, each list item and each paragraph is a
    /// discovery. If an entry is invalid, nothing is added.
    Import {
        /// File to import (.json, .jsonl or .md)
        file: PathBuf,
        /// Print the discoveries without adding them
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
}

fn kind_parser() -> impl TypedValueParser<Value = DiscoveryKind> {
    PossibleValuesParser::new(DiscoveryKind::ALL.map(DiscoveryKind::as_str))
        .map(|name| DiscoveryKind::from_name(&name).expect("only these names pass"))
}

pub(crate) fn run_discover(ctx: &CommandContext, args: &DiscoverArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    match &args.action {
        DiscoverCommand::Add { text, kind, module, title, tags, format } => {
            let new = NewDiscovery {
                kind: *kind,
                title: title.clone(),
                content: text.clone().map_or_else(read_stdin, Ok)?,
                module: module.clone(),
                tags: tags.clone(),
                ..NewDiscovery::default()
            };
            let discovery =
                new.validate(&author_name(ctx), Timestamp::now()).map_err(refusal_failure)?;
            let added = open_store(&settings)?.add_discoveries(std::slice::from_ref(&discovery))?;
            if format.json {
                return print::print_discovery(ctx, &discovery.into(), true);
            }
            print::print_added(ctx, &[discovery], added, false)
        }
        DiscoverCommand::List { kind, module, format } => {
            let mut all = load_discoveries(ctx, &settings)?;
            all.retain(|discovery| {
                let about = discovery.module.as_deref().unwrap_or_default();
                kind.is_none_or(|kind| kind == discovery.kind)
                    && module.as_ref().is_none_or(|module| module.eq_ignore_ascii_case(about))
            });
            print::print_list(ctx, &all, kind.is_some() || module.is_some(), format.json)
        }
        DiscoverCommand::Show { id, format } => print::print_discovery(
            ctx,
            &find_discovery(&load_discoveries(ctx, &settings)?, id)?,
            format.json,
        ),
        DiscoverCommand::Remove { id, format } => {
            let removed = match open_existing_store(&settings)? {
                Some(store) => store.remove_discovery(id),
                None => Err(StoreError::UnknownDiscovery { id: id.clone() }),
            };
            match removed {
                Ok(removed) => print::print_removed(ctx, &removed, format.json),
                Err(StoreError::UnknownDiscovery { .. }) => Err(not_stored_failure(
                    &find_discovery(&load_discoveries(ctx, &settings)?, id)?,
                )),
                Err(error) => Err(Failure::from(error).with_kind(FailureKind::Negative)),
            }
        }
        DiscoverCommand::Import { file, dry_run, format } => {
            let text = read_import_file(file, &settings)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let by = format!("{}, from {name}", author_name(ctx));
            let discoveries = discover::import_discoveries(&name, &text, &by, Timestamp::now())
                .map_err(|problems| import_failure(file, &problems))?;
            if *dry_run {
                return print::print_dry_run(ctx, &discoveries, format.json);
            }
            let added = open_store(&settings)?.add_discoveries(&discoveries)?;
            print::print_added(ctx, &discoveries, added, format.json)
        }
    }
}

/// Opens the store, creating it if it does not exist.
/// Returns the name under which added discoveries are recorded, such as `cli:ada`.
fn author_name(ctx: &CommandContext) -> String {
    match ctx.app.environment.get(EnvVar::User) {
        Some(user) => format!("cli:{user}"),
        None => local_principal(),
    }
}

fn open_store(settings: &Settings) -> Result<ContextStore> {
    Ok(ContextStore::open(&project::open_state(settings)?)?)
}

/// Opens the store if it exists. Reading must not create a state folder.
fn open_existing_store(settings: &Settings) -> Result<Option<ContextStore>> {
    let exists = StateDir::from_path(&settings.state_folder).database_path().exists();
    exists.then(|| open_store(settings)).transpose()
}

/// Returns the discoveries of the project and of the store, newest first. Prints a note for each skipped source.
fn load_discoveries(ctx: &CommandContext, settings: &Settings) -> Result<Vec<Discovery>> {
    let found = discover::discover_in_project(
        &settings.root,
        &project::context::context_options(settings, None),
    )?;
    if let Some(reason) = found.no_history {
        ctx.ui.print_note(format_args!("skipped fix commits: {reason}"));
    }
    for skipped in found.left_out {
        ctx.ui.print_note(format_args!("skipped: {skipped}"));
    }
    let mut all = found.discoveries;
    if let Some(store) = open_existing_store(settings)? {
        all.extend(store.list_discoveries()?.into_iter().map(Discovery::from));
    }
    all.sort_by(|a, b| b.date.cmp(&a.date));
    Ok(all)
}

/// Returns the discovery whose id begins with `id`. Errors if no id or more than one matches.
fn find_discovery(all: &[Discovery], id: &str) -> Result<Discovery> {
    let prefix = id.trim().to_ascii_lowercase();
    let mut found = all.iter().filter(|discovery| discovery.id.starts_with(&prefix));
    let negative = |message: String| Failure::new(message).with_kind(FailureKind::Negative);
    match (found.next(), found.next()) {
        (Some(discovery), None) if !prefix.is_empty() => Ok(discovery.clone()),
        (Some(_), Some(_)) if !prefix.is_empty() => {
            Err(negative(format!("more than one discovery id starts with \"{prefix}\""))
                .with_hint("pass more characters of the id"))
        }
        _ => Err(negative(format!("unknown discovery \"{id}\""))
            .with_hint("run `vouch discover list` to see the ids")),
    }
}

fn not_stored_failure(discovery: &Discovery) -> Failure {
    let message = format!("discovery {} is not stored, so it cannot be removed", discovery.id);
    let hint = match &discovery.source {
        DiscoverySource::File { path, line } => format!("edit {path}, line {line}"),
        DiscoverySource::Commit { id, .. } => {
            format!("it is the message of commit {id}; run `git show {id}` to see it")
        }
        DiscoverySource::Store { .. } => "it has just been removed by another process".to_owned(),
    };
    Failure::new(message).with_hint(hint).with_kind(FailureKind::Negative)
}

fn read_stdin() -> Result<String> {
    if ui::is_interactive() {
        return Err(Failure::usage("no text given")
            .with_hint("pass it as an argument or pipe it in: vouch discover add \"TEXT\""));
    }
    read_bounded(io::stdin(), MAX_TEXT_BYTES, "the text")
}

/// Reads the file to import. A link of the project that leaves it is not followed: what is imported is shown to clients.
fn read_import_file(path: &Path, settings: &Settings) -> Result<String> {
    let missing = || io::Error::from(rustix::io::Errno::NOENT);
    read_text_file(&settings.root, path, MAX_FILE_BYTES)
        .and_then(|text| text.ok_or_else(missing))
        .explain(format_args!("failed to read {}", path.display()))
        .hint("pass the path of a .json, .jsonl or .md file")
        .map_err(|failure| failure.with_kind(FailureKind::Usage))
}

/// Reads UTF-8 text of at most `limit` bytes. `name` is the source in error messages.
fn read_bounded(source: impl Read, limit: u64, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    source
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .explain(format_args!("failed to read {name}"))?;
    if bytes.len() as u64 > limit {
        return Err(Failure::usage(format!("{name} has more than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("{name} is not UTF-8 text"))
            .with_hint("convert it with `iconv -t utf-8`")
    })
}

fn refusal_failure(refused: NewDiscoveryError) -> Failure {
    let hint = match refused {
        NewDiscoveryError::UnknownKind => "pass `--type` with pattern, rule, decision or issue",
        _ => refused.hint(),
    };
    Failure::from(refused).with_hint(hint).with_kind(FailureKind::Usage)
}

fn import_failure(file: &Path, problems: &[ImportProblem]) -> Failure {
    let mut message = format!("failed to import {}; nothing was added", file.display());
    for problem in problems.iter().take(MAX_PROBLEMS) {
        message.push_str(&format!("\n  {problem}"));
    }
    if problems.len() > MAX_PROBLEMS {
        message.push_str(&format!("\n  … and {} more", problems.len() - MAX_PROBLEMS));
    }
    Failure::usage(message).with_hint("fix these, then try again with `--dry-run`")
}

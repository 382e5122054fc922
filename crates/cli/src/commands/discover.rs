//! `vouch discover`: what the project says about itself, and what people add to it. Works beside a running server.

mod print;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use app::config::Settings;
use app::project;
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use pack_context::discover::{self, Discovery, Kind, NewDiscovery, Problem, Refused, Source};
use store::{ContextStore, StateDir, StoreError};

use crate::commands::approvals::who;
use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::{Explain, Failure, FailureKind, Result};
use crate::ui;

/// What is typed or piped in, and what is imported, is text by people.
const MAX_TEXT_BYTES: u64 = 64 * 1024;
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Problems that are told; the file has the rest.
const MAX_PROBLEMS: usize = 10;

/// Tell the project's patterns, rules, decisions and issues
///
/// Discoveries are what context_search finds beside code. They are read from the memory files, decision records, AGENTS.md,
/// CLAUDE.md, .cursor/rules, CONTRIBUTING.md, TODO comments and fix commits; `add` and `import` keep more of them in the
/// state folder.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch discover add --type decision --module auth \"Tokens live in httpOnly cookies\"
  git log -1 --format=%b | vouch discover add --type issue
  vouch discover list --type rule
  vouch discover import notes.jsonl --dry-run")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add one
    Add {
        /// What was found out; without it, standard input is read
        text: Option<String>,
        /// What it is [default: by its wording]
        #[arg(long = "type", value_name = "TYPE", value_parser = kinds())]
        kind: Option<Kind>,
        /// The module it is about
        #[arg(long)]
        module: Option<String>,
        /// A few words that name it
        #[arg(long)]
        title: Option<String>,
        /// A word to find it by; may be given several times
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        #[command(flatten)]
        format: Format,
    },
    /// List them, from all sources, newest first
    List {
        /// Of this type
        #[arg(long = "type", value_name = "TYPE", value_parser = kinds())]
        kind: Option<Kind>,
        /// About this module
        #[arg(long)]
        module: Option<String>,
        #[command(flatten)]
        format: Format,
    },
    /// Show one, whole
    Show {
        /// Its id, or the beginning of it
        id: String,
        #[command(flatten)]
        format: Format,
    },
    /// Remove one that was added
    Remove {
        /// Its id, or the beginning of it
        id: String,
        #[command(flatten)]
        format: Format,
    },
    /// Add all of a file, or nothing
    ///
    /// A JSON file holds a list of objects, a JSONL file one on each line, with `content` and perhaps `type`, `title`, `module`,
    /// `date` and `tags`. Of a Markdown file each list item and paragraph is one, under its headings.
    Import {
        /// Its name ends in .json, .jsonl or .md
        file: PathBuf,
        /// Only say what would be added
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        format: Format,
    },
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::as_str))
        .map(|name| Kind::from_name(&name).expect("only these names pass"))
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    match &args.action {
        Action::Add { text, kind, module, title, tags, format } => {
            let new = NewDiscovery {
                kind: *kind,
                title: title.clone(),
                content: text.clone().map_or_else(from_stdin, Ok)?,
                module: module.clone(),
                tags: tags.clone(),
                ..NewDiscovery::default()
            };
            let discovery = new.check(&who(ctx), Timestamp::now()).map_err(refused)?;
            let added = open(&settings)?.add(std::slice::from_ref(&discovery))?;
            if format.json {
                return print::show(ctx, &discovery.into(), true);
            }
            print::added(ctx, &[discovery], added, false)
        }
        Action::List { kind, module, format } => {
            let mut all = all(ctx, &settings)?;
            all.retain(|discovery| {
                let about = discovery.module.as_deref().unwrap_or_default();
                kind.is_none_or(|kind| kind == discovery.kind)
                    && module.as_ref().is_none_or(|module| module.eq_ignore_ascii_case(about))
            });
            print::list(ctx, &all, kind.is_some() || module.is_some(), format.json)
        }
        Action::Show { id, format } => {
            print::show(ctx, &find(&all(ctx, &settings)?, id)?, format.json)
        }
        Action::Remove { id, format } => {
            let removed = match open_existing(&settings)? {
                Some(store) => store.remove(id),
                None => Err(StoreError::UnknownDiscovery { id: id.clone() }),
            };
            match removed {
                Ok(removed) => print::removed(ctx, &removed, format.json),
                Err(StoreError::UnknownDiscovery { .. }) => {
                    Err(not_ours(&find(&all(ctx, &settings)?, id)?))
                }
                Err(error) => Err(Failure::from(error).with_kind(FailureKind::Negative)),
            }
        }
        Action::Import { file, dry_run, format } => {
            let text = read(file)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let by = format!("{}, from {name}", who(ctx));
            let discoveries = discover::import(&name, &text, &by, Timestamp::now())
                .map_err(|problems| not_importable(file, &problems))?;
            if *dry_run {
                return print::would_add(ctx, &discoveries, format.json);
            }
            let added = open(&settings)?.add(&discoveries)?;
            print::added(ctx, &discoveries, added, format.json)
        }
    }
}

/// Made where it is missing.
fn open(settings: &Settings) -> Result<ContextStore> {
    Ok(ContextStore::open(&StateDir::open(&settings.state_folder)?)?)
}

/// Looking must not make a state folder.
fn open_existing(settings: &Settings) -> Result<Option<ContextStore>> {
    let exists = StateDir::at(&settings.state_folder).database().exists();
    exists.then(|| open(settings)).transpose()
}

/// Of the project and of the store, newest first.
fn all(ctx: &Context, settings: &Settings) -> Result<Vec<Discovery>> {
    let told = discover::in_project(&settings.root, &project::context::options(settings, None))?;
    if let Some(reason) = told.no_history {
        ctx.ui.note(format_args!("fix commits are not among them: {reason}"));
    }
    for left_out in told.left_out {
        ctx.ui.note(format_args!("not among them: {left_out}"));
    }
    let mut all = told.discoveries;
    if let Some(store) = open_existing(settings)? {
        all.extend(store.discoveries()?.into_iter().map(Discovery::from));
    }
    all.sort_by(|a, b| b.date.cmp(&a.date));
    Ok(all)
}

fn find(all: &[Discovery], id: &str) -> Result<Discovery> {
    let prefix = id.trim().to_ascii_lowercase();
    let mut found = all.iter().filter(|discovery| discovery.id.starts_with(&prefix));
    let no = |message: String| Failure::new(message).with_kind(FailureKind::Negative);
    match (found.next(), found.next()) {
        (Some(discovery), None) if !prefix.is_empty() => Ok(discovery.clone()),
        (Some(_), Some(_)) if !prefix.is_empty() => {
            Err(no(format!("more than one discovery id begins with {prefix}"))
                .with_hint("type more characters of the id"))
        }
        _ => Err(no(format!("no discovery has the id {id}"))
            .with_hint("`vouch discover list` shows the ids")),
    }
}

fn not_ours(discovery: &Discovery) -> Failure {
    let what = format!("discovery {} was not added, so it cannot be removed", discovery.id);
    let hint = match &discovery.source {
        Source::File { path, line } => format!("it is in {path}, line {line}: change it there"),
        Source::Commit { id, .. } => {
            format!("it is what commit {id} says: see it with `git show {id}`")
        }
        Source::Store { .. } => "it was removed meanwhile".to_owned(),
    };
    Failure::new(what).with_hint(hint).with_kind(FailureKind::Negative)
}

fn from_stdin() -> Result<String> {
    if ui::is_interactive() {
        return Err(Failure::usage("there is no text to add")
            .with_hint("vouch discover add \"what was found out\", or pipe it in"));
    }
    bounded(io::stdin(), MAX_TEXT_BYTES, "the text")
}

fn read(path: &Path) -> Result<String> {
    let what = path.display().to_string();
    let file = File::open(path)
        .explain(format_args!("cannot read {what}"))
        .hint("give the path of a .json, .jsonl or .md file")
        .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
    bounded(file, MAX_FILE_BYTES, &what)
}

fn bounded(source: impl Read, limit: u64, what: &str) -> Result<String> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes).explain(format_args!("cannot read {what}"))?;
    if bytes.len() as u64 > limit {
        return Err(Failure::usage(format!("{what} has more than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("{what} is not UTF-8 text"))
            .with_hint("convert it first: iconv -t utf-8")
    })
}

fn refused(refused: Refused) -> Failure {
    let hint = match refused {
        Refused::NoKind => "say it: --type pattern, rule, decision or issue",
        _ => refused.hint(),
    };
    Failure::from(refused).with_hint(hint).with_kind(FailureKind::Usage)
}

fn not_importable(file: &Path, problems: &[Problem]) -> Failure {
    let mut message = format!("nothing of {} was added", file.display());
    for problem in problems.iter().take(MAX_PROBLEMS) {
        message.push_str(&format!("\n  {problem}"));
    }
    if problems.len() > MAX_PROBLEMS {
        message.push_str(&format!("\n  … and {} more", problems.len() - MAX_PROBLEMS));
    }
    Failure::usage(message).with_hint("correct these, then try again with --dry-run")
}

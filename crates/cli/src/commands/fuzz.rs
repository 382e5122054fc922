//! `vouch fuzz`: looks for sequences of calls that break what a contract promises.
//!
//! ```text
//!  flags, echidna.yaml, [fuzz] ──► plan ──► subject (compiled, deployed) ──► campaign, watched ──► results ──► text, JSON
//!                                                   │                            │
//!                                                   └──► replay                  └──► keep: corpus, reproducers, coverage
//! ```
//!
//! Compiling is the work of `solidity`, fuzzing of `fuzz`, counting lines of `coverage`. Here is what a person sees of it.

mod corpus;
mod cover;
mod demo;
mod flags;
mod front;
mod json;
mod keep;
mod more;
mod plan;
mod progress;
mod replay;
mod results;
mod scene;
mod screen;
mod site;
mod subject;
mod text;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::campaign::{Campaign, Recorder, Shared, Start};
use ::fuzz::config::Format;
use ::fuzz::generate::Dictionary;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Explain, Failure, Result};
use crate::ui::{HINT, Ui, WARN};
use corpus::Corpus;
use flags::Flags;
use front::Front;
use keep::Keeper;
use plan::Plan;
use results::Results;
use subject::Subject;
use watch::{Signals, Watched};

/// Fuzz a smart contract
///
/// Calls the contract's functions in all kinds of sequences until a property is false, an assertion fails or the limit of
/// calls is reached, and makes what it finds as small as it can. PATH is a Solidity file, a Foundry or Hardhat project, or
/// the JSON that a compiler wrote.
///
/// Settings come from the flags, then from echidna.yaml beside PATH (or --config FILE.yaml), else from the table [fuzz] of
/// vouch.toml. Names and defaults are those of Echidna, and so are the files of the corpus.
///
/// On a terminal a screen shows how it goes: q stops, p pauses, ? shows all keys. The results are printed when it ends.
///
/// Exits with 0 if nothing failed, with 1 if a test failed, and with another code if it could not run or was stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch fuzz --demo
  vouch fuzz contracts/Token.sol --contract TokenTest --corpus-dir corpus
  vouch fuzz . --test-mode assertion --timeout 600 --json
  vouch fuzz Token.sol --replay corpus/reproducers/1234.txt")]
pub(crate) struct Args {
    /// What to fuzz [default: the project in this folder]
    path: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

pub(crate) fn run(ctx: &Context, args: Args) -> Result<Exit> {
    let Args { path, flags } = args;
    let replay = flags.replay.clone();
    let plan = Plan::new(ctx, path, flags)?;
    let ui = ctx.ui.quieter(plan.settings.quiet);
    for warning in &plan.warnings {
        warn(ui, warning);
    }
    let subject = Subject::load(&plan)?;
    for warning in &subject.target.warnings {
        warn(ui, warning);
    }
    match replay {
        Some(file) => replay::run(ui, &plan, &subject, &file),
        None => fuzz(ctx, ui, &plan, &subject),
    }
}

fn fuzz(ctx: &Context, ui: Ui, plan: &Plan, subject: &Subject) -> Result<Exit> {
    let Plan { settings, .. } = plan;
    cover::make_folder(settings)?;
    let corpus = settings.corpus_dir.as_deref().map(Corpus::open).transpose()?;
    let sequences = match &corpus {
        Some(corpus) => corpus.load(ui, &subject.target)?,
        None => Vec::new(),
    };
    let recorder: Box<dyn Recorder> = match corpus {
        Some(Corpus { folder }) => Box::new(Keeper::new(folder, scene::of(subject, settings))),
        None => Box::new(()),
    };
    let project = settings.project_name.as_ref().map(|name| format!("{name}: "));
    let title =
        contract::text::one_line(&format!("{}{}", project.unwrap_or_default(), subject.name));
    ui.note(format_args!("fuzzing {title} with seed {}", plan.seed));
    let start = Start {
        dictionary: Dictionary::of(&subject.target, settings),
        target: subject.target.clone(),
        settings: settings.clone(),
        workers: plan.workers,
        corpus: sequences,
        commands: Vec::new(),
        recorder,
    };
    let title = format!("{title} · seed {}", plan.seed);
    let front = || Front::new(ctx, ui, plan, &title);
    let (shared, watched) = ctx.block_on(run_campaign(front, start))?;
    let cover = cover::Cover::of(&shared);
    let is_interrupted = watched.is_interrupted;
    let results = Results::new(plan, subject, &shared, watched, &cover);
    print(ui, plan, &results)?;
    if results.has_failed() && results.trouble.is_none() {
        tell_where(ui, settings.corpus_dir.as_deref());
    }
    let reports = cover.write(settings, &plan.coverage_excludes);
    finish(ui, &results, reports, is_interrupted)
}

/// Signals are listened for before there is anything that one could cut off.
async fn run_campaign(
    front: impl FnOnce() -> Front,
    start: Start,
) -> Result<(Arc<Shared>, Watched)> {
    let signals = Signals::listen()?;
    let campaign = Campaign::start(start)
        .explain("cannot start the threads of the campaign")
        .hint("try fewer: vouch fuzz --workers 1")?;
    let shared = Arc::clone(campaign.shared());
    Ok((shared, watch::until_end(front(), campaign, signals).await))
}

fn print(ui: Ui, plan: &Plan, results: &Results) -> Result {
    match plan.format {
        Format::Text => text::print(ui, results)?,
        Format::Json => ui.json(&json::of(results))?,
        Format::None => {}
    }
    Ok(())
}

/// Where what breaks the tests can be found again.
fn tell_where(ui: Ui, corpus: Option<&Path>) {
    match corpus.map(Path::display) {
        Some(folder) => ui.note(format_args!(
            "what breaks tests is kept in {folder}/reproducers, and for `forge test` in {folder}/foundry"
        )),
        None => ui.note(format_args!(
            "{HINT}hint:{HINT:#} --corpus-dir DIR keeps what breaks tests, also for `forge test`"
        )),
    }
}

/// What its tests say without the cheat code would be no finding, so it is no success either.
fn unsupported(what: &str, cheat: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{what}: {cheat}")).with_hint(
        "leave the function that uses it out with `filterFunctions` in echidna.yaml, or do without it",
    )
}

/// What could not be kept makes a run that found nothing a failed one: somebody relies on the files.
fn finish(
    ui: Ui,
    results: &Results,
    reports: Result<Vec<PathBuf>>,
    is_interrupted: bool,
) -> Result<Exit> {
    for report in reports.iter().flatten() {
        ui.note(format_args!("wrote {}", report.display()));
    }
    let lost = results.trouble.as_ref().map(|trouble| {
        Failure::new(format!("not all that was found could be kept: {trouble}"))
            .with_hint("make room, then run it again with the same --seed")
    });
    let refused = results.unsupported.as_ref();
    let refused = refused.map(|cheat| unsupported("the campaign was given up", cheat));
    let lost = refused.or(lost).or(reports.err());
    let exit = if results.has_crashed() {
        Exit::Failed
    } else if results.has_failed() {
        Exit::No
    } else if is_interrupted {
        Exit::Interrupted
    } else {
        Exit::Success
    };
    match lost {
        None => Ok(exit),
        Some(failure) if exit == Exit::Success => Err(failure),
        Some(failure) => Err(failure.with_exit(exit)),
    }
}

/// Something that a person should know and that stops nothing.
fn warn(ui: Ui, text: impl std::fmt::Display) {
    let text = contract::text::visible(&text.to_string());
    ui.note(format_args!("{WARN}warning:{WARN:#} {text}"));
}

//! `vouch fuzz`: looks for sequences of calls that break what a contract promises.
//!
//! ```text
//!  flags ──► plan, subject ──► campaign, watched ──► results ──► text, JSON
//!                     │             ▲
//!                     └──► replay   └── agents, by --mcp-port
//! ```
//!
//! How a campaign comes about is in `app::campaign`. Here is what a person sees of it.

mod flags;
mod front;
mod json;
mod more;
mod progress;
mod replay;
mod results;
mod screen;
mod site;
mod text;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::campaign::{Command, Shared};
use ::fuzz::config::{Format, Settings};
use ::fuzz::target::Target;
use app::campaign::Prepared;
use app::campaign::agents::Agents;
use app::campaign::cover::Cover;
use app::campaign::plan::{Plan, Wanted};
use app::campaign::subject::Subject;
use pack_campaign::{LOG_NAME, read_commands};

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Explain, Failure, FailureKind, Result};
use crate::ui::warn;
use crate::ui::{HINT, Ui};
use flags::Flags;
use front::Front;
use results::Results;
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
/// With --mcp-port agents can watch and steer it. What they do is written to mcp-commands.jsonl in the folder of the corpus,
/// and --replay-mcp-commands does it again: the same seed, workers, corpus and commands give the same run.
///
/// Exits with 0 if nothing failed, with 1 if a test failed, and with another code if it could not run or was stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch fuzz --demo
  vouch fuzz contracts/Token.sol --contract TokenTest --corpus-dir corpus
  vouch fuzz . --test-mode assertion --timeout 600 --json
  vouch fuzz Token.sol --replay corpus/reproducers/1234.txt
  vouch fuzz Token.sol --corpus-dir corpus --mcp-port 8378")]
pub(crate) struct Args {
    /// What to fuzz [default: the project in this folder]
    path: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

pub(crate) fn run(ctx: &Context, args: Args) -> Result<Exit> {
    let Args { path, flags } = args;
    let wanted = Wanted {
        path: (!flags.demo).then(|| path.unwrap_or_else(|| PathBuf::from("."))),
        contract: flags.contract.clone(),
        solc: flags.solc.clone(),
    };
    let plan = Plan::new(&ctx.app, wanted, Settings::default(), |settings| flags.apply(settings))?;
    let ui = ctx.ui.quieter(plan.settings.quiet);
    for warning in &plan.warnings {
        warn(ui, warning);
    }
    let subject = Subject::load(&plan)?;
    for warning in &subject.target.warnings {
        warn(ui, warning);
    }
    match &flags.replay {
        Some(file) => replay::run(ui, &plan, &subject, file),
        None => fuzz(ctx, ui, &plan, &subject, &flags),
    }
}

fn fuzz(ctx: &Context, ui: Ui, plan: &Plan, subject: &Subject, flags: &Flags) -> Result<Exit> {
    let Plan { settings, .. } = plan;
    // Before the folder is opened for this run, which keeps a log of its own there.
    let commands = commands(settings, flags, &subject.target)?;
    let prepared = Prepared::new(&ui, plan, subject)?.with_commands(commands).paused(flags.paused);
    let project = settings.project_name.as_ref().map(|name| format!("{name}: "));
    let title =
        contract::text::one_line(&format!("{}{}", project.unwrap_or_default(), subject.name));
    ui.note(format_args!("fuzzing {title} with seed {}", plan.seed));
    let title = format!("{title} · seed {}", plan.seed);
    let front = |url: Option<String>| Front::new(ctx, ui, plan, &title, url);
    let (shared, watched) = match flags.mcp_port {
        None => ctx.block_on(run_campaign(front, prepared))?,
        // Whoever draws the screen must not keep agents waiting.
        Some(port) => ctx.block_on_threads(async {
            let signals = Signals::listen()?;
            let agents = Agents::open(&ctx.app, plan, port).await?;
            run_served(ui, front, prepared, agents, signals).await
        })?,
    };
    let cover = Cover::of(&shared);
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
    front: impl FnOnce(Option<String>) -> Front,
    prepared: Prepared,
) -> Result<(Arc<Shared>, Watched)> {
    let signals = Signals::listen()?;
    let campaign = prepared.start()?;
    let shared = Arc::clone(campaign.shared());
    Ok((shared, watch::until_end(front(None), campaign, signals).await))
}

/// The same with a door for agents, who find the campaign on its seat.
async fn run_served(
    ui: Ui,
    front: impl FnOnce(Option<String>) -> Front,
    prepared: Prepared,
    agents: Agents,
    signals: Signals,
) -> Result<(Arc<Shared>, Watched)> {
    let url = agents.url();
    let campaign = prepared.start_on(agents.seat()?)?;
    ui.note(format_args!("agents can watch and steer it over MCP at {HINT}{url}{HINT:#}"));
    let shared = Arc::clone(campaign.shared());
    let serving = agents.serve();
    let watched = watch::until_end(front(Some(url)), campaign, signals).await;
    if let Err(failure) = serving.end().await {
        warn(ui, format_args!("the door for agents did not close well: {}", failure.one_line()));
    }
    Ok((shared, watched))
}

/// What agents did in an earlier run.
fn commands(settings: &Settings, flags: &Flags, target: &Target) -> Result<Vec<(u64, Command)>> {
    let Some(file) = &flags.replay_mcp_commands else { return Ok(Vec::new()) };
    let kept = || settings.corpus_dir.as_ref().map(|folder| folder.join(LOG_NAME));
    let Some(file) = file.clone().or_else(kept) else {
        return Err(Failure::usage("there is no folder in which commands could have been kept")
            .with_hint(format!("name the file: --replay-mcp-commands DIR/{LOG_NAME}")));
    };
    read_commands(&file, target)
        .explain("the commands cannot be given again")
        .hint(format!("give the {LOG_NAME} of a run with the same contracts"))
        .map_err(|failure| failure.with_kind(FailureKind::Usage))
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
    let failure = if results.has_crashed() {
        Some(FailureKind::Operation)
    } else if results.has_failed() {
        Some(FailureKind::Negative)
    } else if is_interrupted {
        Some(FailureKind::Interrupted)
    } else {
        None
    };
    match (lost, failure) {
        (None, None) => Ok(Exit::Success),
        (None, Some(kind)) => Ok(kind.into()),
        (Some(lost), None) => Err(lost),
        (Some(lost), Some(kind)) => Err(lost.with_kind(kind)),
    }
}

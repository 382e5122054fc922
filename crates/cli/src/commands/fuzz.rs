//! `vouch fuzz`: searches for call sequences that break the properties of a smart contract.
//!
//! ```text
//!  flags ──► plan, target ──► campaign, displayed ──► results ──► text, JSON
//!                     │           ▲
//!                     └──► replay └── agents, with --mcp-port
//! ```
//!
//! Owns the flags, the terminal display and the printed results. Campaigns are prepared and started by `app::campaign`.
//! Start at [`run_fuzz`].

mod display;
mod echidna_flags;
mod failure_location;
mod flags;
mod json;
mod progress;
mod replay;
mod results;
mod screen;
mod text;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fuzz::campaign::{CampaignCommand, CampaignState};
use ::fuzz::config::{CampaignSettings, OutputFormat};
use ::fuzz::target::FuzzTarget;
use app::campaign::PreparedCampaign;
use app::campaign::agent_server::AgentServer;
use app::campaign::coverage_report::CampaignCoverage;
use app::campaign::plan::{CampaignPlan, CampaignRequest};
use app::campaign::target::DeployedTarget;
use pack_campaign::{COMMAND_LOG_NAME, read_commands};

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureExt, FailureKind, Result};
use crate::ui::print_warning;
use crate::ui::{HINT, Ui, format_path};
use display::CampaignDisplay;
use flags::FuzzFlags;
use results::CampaignResults;
use watch::{FinishedCampaign, StopSignals};

/// Fuzz a smart contract
///
/// Calls the functions of a smart contract in generated sequences until a property is violated, an assertion fails or the
/// call limit is reached, then shrinks each failing sequence. PATH is a Solidity file, a Foundry or Hardhat project, or the
/// JSON output of a compiler.
///
/// Settings are taken from flags, then from echidna.yaml next to PATH (or --config FILE.yaml), then from the [fuzz] table
/// of vouch.toml. Names, defaults and corpus files are compatible with Echidna.
///
/// On a terminal, a full-screen view shows the progress: press q to stop, p to pause, ? to list all keys. The results are
/// printed at the end.
///
/// With --mcp-port, agents can watch and steer the campaign. Their commands are logged to mcp-commands.jsonl in the corpus
/// folder; --replay-mcp-commands repeats them. A run is reproducible from its seed, workers, corpus and commands.
///
/// Exits with 0 if no test failed, with 1 if a test failed, and with another code if it could not run or was interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch fuzz --demo
  vouch fuzz contracts/Token.sol --contract TokenTest --corpus-dir corpus
  vouch fuzz . --test-mode assertion --timeout 600 --json
  vouch fuzz Token.sol --replay corpus/reproducers/1234.txt
  vouch fuzz Token.sol --corpus-dir corpus --mcp-port 8378")]
pub(crate) struct Args {
    /// Target to fuzz [default: the project in the current folder]
    path: Option<PathBuf>,
    #[command(flatten)]
    flags: FuzzFlags,
}

/// Runs `vouch fuzz`. Returns `ExitStatus::Negative` if a test failed.
pub(crate) fn run_fuzz(ctx: &CommandContext, args: Args) -> Result<ExitStatus> {
    let Args { path, flags } = args;
    let wanted = CampaignRequest {
        path: (!flags.demo).then(|| path.unwrap_or_else(|| PathBuf::from("."))),
        contract: flags.contract.clone(),
        solc: flags.solc.clone(),
    };
    let plan = CampaignPlan::new(&ctx.app, wanted, CampaignSettings::default(), |settings| {
        flags.apply_to(settings)
    })?;
    let ui = ctx.ui.quiet_if(plan.settings.quiet);
    for warning in &plan.warnings {
        print_warning(ui, warning);
    }
    let subject = DeployedTarget::load(&plan)?;
    for warning in &subject.target.warnings {
        print_warning(ui, warning);
    }
    match &flags.replay {
        Some(file) => replay::run_replay(ui, &plan, &subject, file),
        None => fuzz_target(ctx, ui, &plan, &subject, &flags),
    }
}

/// Runs a campaign and prints its results.
fn fuzz_target(
    ctx: &CommandContext,
    ui: Ui,
    plan: &CampaignPlan,
    subject: &DeployedTarget,
    flags: &FuzzFlags,
) -> Result<ExitStatus> {
    let CampaignPlan { settings, .. } = plan;
    // Read before the corpus folder is opened: opening it starts a new command log there.
    let commands = read_logged_commands(settings, flags, &subject.target)?;
    let prepared = PreparedCampaign::new(&ui, plan, subject)?
        .with_commands(commands)
        .with_paused(flags.paused);
    let project = settings.project_name.as_ref().map(|name| format!("{name}: "));
    let title =
        contract::text::one_line(&format!("{}{}", project.unwrap_or_default(), subject.name));
    ui.print_note(format_args!("fuzzing {title} with seed {}", plan.seed));
    let title = format!("{title} · seed {}", plan.seed);
    let front = |url: Option<String>| CampaignDisplay::new(ctx, ui, plan, &title, url);
    let (shared, watched) = match flags.mcp_port {
        None => ctx.block_on(run_campaign(front, prepared))?,
        // Needs more than one thread: drawing the screen must not delay responses to agents.
        Some(port) => ctx.block_on_threads(async {
            let signals = StopSignals::listen()?;
            let agents = AgentServer::bind(&ctx.app, plan, port, flags.no_token).await?;
            run_served_campaign(ui, front, prepared, agents, signals).await
        })?,
    };
    let cover = CampaignCoverage::from_shared(&shared);
    let is_interrupted = watched.is_interrupted;
    let results = CampaignResults::new(plan, subject, &shared, watched, &cover);
    print_results(ui, plan, &results)?;
    if results.has_failed() && results.trouble.is_none() {
        print_reproducer_location(ui, settings.corpus_dir.as_deref());
    }
    let reports = cover.write_reports(settings, &plan.coverage_excludes);
    finish_run(ui, &results, reports, is_interrupted)
}

/// Runs a campaign to its end. Installs signal handlers before it starts, so that an early Ctrl-C is not lost.
async fn run_campaign(
    front: impl FnOnce(Option<String>) -> CampaignDisplay,
    prepared: PreparedCampaign,
) -> Result<(Arc<CampaignState>, FinishedCampaign)> {
    let signals = StopSignals::listen()?;
    let campaign = prepared.start()?;
    let shared = Arc::clone(campaign.shared());
    Ok((shared, watch::watch_until_end(front(None), campaign, signals).await))
}

/// Runs a campaign to its end while serving MCP to agents, which find it in its campaign slot.
async fn run_served_campaign(
    ui: Ui,
    front: impl FnOnce(Option<String>) -> CampaignDisplay,
    prepared: PreparedCampaign,
    agents: AgentServer,
    signals: StopSignals,
) -> Result<(Arc<CampaignState>, FinishedCampaign)> {
    let url = agents.url();
    let campaign = prepared.start_on_slot(agents.slot()?)?;
    ui.print_note(format_args!(
        "agents can watch and steer the campaign over MCP at {HINT}{url}{HINT:#}"
    ));
    print_token_note(ui, &agents);
    let shared = Arc::clone(campaign.shared());
    let serving = agents.serve();
    let watched = watch::watch_until_end(front(Some(url)), campaign, signals).await;
    if let Err(failure) = serving.shutdown().await {
        print_warning(
            ui,
            format_args!("failed to shut down the MCP server: {}", failure.to_one_line()),
        );
    }
    Ok((shared, watched))
}

/// Prints which token agents need, and the token itself if it is new.
fn print_token_note(ui: Ui, agents: &AgentServer) {
    match &agents.new_token {
        _ if !agents.needs_token => {
            print_warning(ui, "no token: every user and program of this machine can steer it");
        }
        Some(token) => ui.print_note(format_args!(
            "they send this token, which is shown only now: {}",
            token.expose_secret()
        )),
        None => {
            ui.print_note(format_args!("they send the token that {HINT}vouch token{HINT:#} prints"))
        }
    }
}

/// Reads the agents' commands of an earlier run. Returns an empty list without `--replay-mcp-commands`.
fn read_logged_commands(
    settings: &CampaignSettings,
    flags: &FuzzFlags,
    target: &FuzzTarget,
) -> Result<Vec<(u64, CampaignCommand)>> {
    let Some(file) = &flags.replay_mcp_commands else { return Ok(Vec::new()) };
    let logged = || settings.corpus_dir.as_ref().map(|folder| folder.join(COMMAND_LOG_NAME));
    let Some(file) = file.clone().or_else(logged) else {
        return Err(Failure::usage("no command log given, and no corpus folder to find it in")
            .with_hint(format!("pass the file: `--replay-mcp-commands DIR/{COMMAND_LOG_NAME}`")));
    };
    read_commands(&file, target)
        .explain("failed to replay the agents' commands")
        .hint(format!("pass the {COMMAND_LOG_NAME} of a run on the same target"))
        .map_err(|failure| failure.with_kind(FailureKind::Usage))
}

fn print_results(ui: Ui, plan: &CampaignPlan, results: &CampaignResults) -> Result {
    match plan.format {
        OutputFormat::Text => text::print_text(ui, results)?,
        OutputFormat::Json => ui.print_json(&json::results_to_json(results))?,
        OutputFormat::None => {}
    }
    Ok(())
}

/// Prints the location of the reproducers, or how to keep them.
fn print_reproducer_location(ui: Ui, corpus: Option<&Path>) {
    match corpus.map(format_path) {
        Some(folder) => ui.print_note(format_args!(
            "reproducers are in {folder}/reproducers, and in {folder}/foundry as tests for `forge test`"
        )),
        None => ui.print_note(format_args!(
            "{HINT}hint:{HINT:#} pass `--corpus-dir DIR` to save reproducers, also as tests for `forge test`"
        )),
    }
}

/// Returns the failure for an unsupported cheat code. Verdicts reached without the cheat code would be unreliable, so the
/// run is not a success.
fn unsupported_cheat_code(message: &str, cheat: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{message}: {cheat}")).with_hint(
        "exclude the function that uses it with `filterFunctions` in echidna.yaml, or remove the cheat code",
    )
}

/// Returns the exit status. Files that could not be written turn a run without findings into a failure, because other
/// tools rely on them.
fn finish_run(
    ui: Ui,
    results: &CampaignResults,
    reports: Result<Vec<PathBuf>>,
    is_interrupted: bool,
) -> Result<ExitStatus> {
    for report in reports.iter().flatten() {
        ui.print_note(format_args!("wrote {}", format_path(report)));
    }
    let lost = results.trouble.as_ref().map(|trouble| {
        Failure::new(format!("failed to save some results: {trouble}"))
            .with_hint("free disk space, then run again with the same `--seed`")
    });
    let aborted = results.unsupported.as_ref();
    let aborted = aborted.map(|cheat| unsupported_cheat_code("campaign aborted", cheat));
    let lost = aborted.or(lost).or(reports.err());
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
        (None, None) => Ok(ExitStatus::Success),
        (None, Some(kind)) => Ok(kind.into()),
        (Some(lost), None) => Err(lost),
        (Some(lost), Some(kind)) => Err(lost.with_kind(kind)),
    }
}

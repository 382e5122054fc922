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
mod junit;
mod progress;
mod replay;
mod results;
mod screen;
mod selection;
mod suite;
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
use app::campaign::fork::describe_fork;
use app::campaign::plan::{CampaignPlan, CampaignRequest};
use app::campaign::target::{DeployedTarget, LoadedTarget};
use pack_campaign::{COMMAND_LOG_NAME, read_commands};

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureExt, FailureKind, Result};
use crate::ui::print_warning;
use crate::ui::{HINT, Ui, format_path};
use display::CampaignDisplay;
use flags::FuzzFlags;
use junit::{ContractOutcome, ReportedContract};
use results::CampaignResults;
use suite::TestSuite;
use watch::{FinishedCampaign, StopSignals};

/// Fuzz a smart contract
///
/// Calls the functions of a smart contract in generated sequences until a property is violated, an assertion fails or the
/// call limit is reached, then shrinks each failing sequence. PATH is a Solidity file, a Foundry or Hardhat project, or the
/// JSON output of a compiler.
///
/// Settings are taken from flags, then from echidna.yaml or medusa.json next to PATH (or --config FILE), then from the [fuzz]
/// table of vouch.toml. Names, defaults and corpus files are compatible with Echidna.
///
/// On a terminal, a full-screen view shows the progress: press q to stop, p to pause, ? to list all keys. The results are
/// printed at the end.
///
/// With --mcp-port, agents can watch and steer the campaign. Their commands are logged to mcp-commands.jsonl in the corpus
/// folder; --replay-mcp-commands repeats them. A run is reproducible from its seed, workers, corpus and commands.
///
/// A test that was never called, whose calls only reverted, or that cannot be run (for example because of an unsupported
/// cheat code) is reported as such; it neither failed nor holds. --strict exits with 1 if there is one.
///
/// All test contracts of a Foundry project are run one after another, and their tests, invariants and table tests, unless
/// --contract or patterns such as --match-contract select some. --timeout and --test-limit apply to each contract.
///
/// Exits with 0 if no test failed and at least one was exercised, with 1 if a test failed, and with another code if it could
/// not run, exercised no test or was interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch fuzz --demo
  vouch fuzz contracts/Token.sol --contract TokenTest --corpus-dir corpus
  vouch fuzz . --match-contract Invariant --no-match-test gas
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
        profile: flags.profile.clone(),
        installs_solc: flags.install_solc,
        replay: flags.replay.clone(),
        command_log: flags.replay_mcp_commands.clone().flatten(),
    };
    let mut plan = CampaignPlan::new(&ctx.app, wanted, CampaignSettings::default(), |settings| {
        flags.apply_to(settings)
    })?;
    let ui = ctx.ui.quiet_if(plan.settings.quiet);
    for warning in &plan.warnings {
        print_warning(ui, warning);
    }
    if let Some(path) = &flags.junit {
        plan.reports.check_path(path)?;
    }
    let loaded = LoadedTarget::load(&plan)?;
    let loaded = match TestSuite::find(&mut plan, loaded, &flags)? {
        Ok(suite) => return suite.run(ctx, ui, &plan, &flags),
        Err(loaded) => loaded,
    };
    let contract = loaded.choose_contract(&plan)?;
    let subject = match loaded.deploy(&mut plan, contract) {
        Ok(subject) => subject,
        Err(failure) => {
            let outcome = ContractOutcome::Refused(failure.to_one_line());
            let name = loaded.build.contracts[contract].name.as_str();
            write_junit_report(&plan, &[ReportedContract { name, outcome }], &flags)?;
            return Err(failure);
        }
    };
    if let Some(fork) = &plan.settings.forks.base {
        ui.print_note(describe_fork(fork.as_ref()));
    }
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
    let run = run_target(ctx, ui, plan, subject, flags)?;
    let FinishedRun { results, reports, is_interrupted } = run;
    print_results(ui, plan, &results)?;
    if results.has_failed() && results.trouble.is_none() {
        print_reproducer_location(ui, plan.settings.corpus_dir.as_deref());
    }
    let (name, outcome) = (subject.name.as_str(), ContractOutcome::Tested(&results));
    let reported = [ReportedContract { name, outcome }];
    let reports = write_junit_report(plan, &reported, flags).and_then(|report| {
        let reports = reports?.into_iter().chain(report);
        Ok(reports.collect())
    });
    finish_run(ui, &results, reports, RunEnding { is_interrupted, is_strict: flags.strict })
}

/// A campaign that has ended, with its results.
struct FinishedRun {
    results: CampaignResults,
    /// Paths of the coverage reports.
    reports: Result<Vec<PathBuf>>,
    is_interrupted: bool,
}

/// Runs a campaign to its end.
fn run_target(
    ctx: &CommandContext,
    ui: Ui,
    plan: &CampaignPlan,
    subject: &DeployedTarget,
    flags: &FuzzFlags,
) -> Result<FinishedRun> {
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
    plan.fork.save_record(&plan.settings, &ui);
    for warning in plan.fork.take_warnings() {
        print_warning(ui, warning);
    }
    let reports = cover.write_reports(settings, &plan.coverage_excludes);
    Ok(FinishedRun { results, reports, is_interrupted })
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

/// Writes the JUnit report, if one is wanted, and returns its path.
fn write_junit_report(
    plan: &CampaignPlan,
    contracts: &[ReportedContract<'_>],
    flags: &FuzzFlags,
) -> Result<Option<PathBuf>> {
    let Some(path) = &flags.junit else { return Ok(None) };
    plan.reports.write(path, &junit::results_to_junit(contracts, flags.strict)?)?;
    Ok(Some(path.clone()))
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

/// How a run ended, apart from its results.
#[derive(Clone, Copy)]
struct RunEnding {
    is_interrupted: bool,
    /// Tests that were not exercised make the run a negative one.
    is_strict: bool,
}

/// Returns the failure of a run that ended because the state of its fork could not be fetched.
fn explain_fork_failure(results: &CampaignResults) -> Option<Failure> {
    let failure = results.fork_failure.as_ref()?;
    let text = format!(
        "the campaign ended early, because the state of the fork is unavailable: {failure}"
    );
    let hint = "run again once the node answers; what was fetched is kept in the cache";
    Some(Failure::new(text).with_hint(hint))
}

/// Returns the failure of a run that found out nothing about any test, unless the user ended it.
fn explain_missing_results(results: &CampaignResults, ending: RunEnding) -> Option<Failure> {
    let is_empty =
        results.has_exercised_nothing() && !ending.is_interrupted && !results.has_crashed();
    is_empty.then(|| {
        Failure::new("no test was exercised, so the run says nothing about the smart contracts")
            .with_hint(match results.has_failed_set_up() {
                true => "check what setUp() requires; the deployer calls it once, without value",
                false => "the results state the reason for each test",
            })
    })
}

/// Warns about tests that were not exercised, unless the run fails because of them.
fn warn_about_unexercised(ui: Ui, results: &CampaignResults, ending: RunEnding) {
    let (count, all) = (results.count_unexercised(), results.tests.len());
    if count == 0 {
        return;
    }
    let subject =
        format!("{count} of {all} tests {} not exercised", if count == 1 { "was" } else { "were" });
    match ending.is_strict {
        true => print_warning(ui, format_args!("{subject}, which `--strict` does not accept")),
        false if count < all => {
            print_warning(ui, format_args!("{subject}; pass `--strict` to exit with 1 then"));
        }
        // The run fails with an error that says so.
        false => {}
    }
}

/// Returns the exit status. Files that could not be written turn a run without findings into a failure, because other
/// tools rely on them.
fn finish_run(
    ui: Ui,
    results: &CampaignResults,
    reports: Result<Vec<PathBuf>>,
    ending: RunEnding,
) -> Result<ExitStatus> {
    for report in reports.iter().flatten() {
        ui.print_note(format_args!("wrote {}", format_path(report)));
    }
    warn_about_unexercised(ui, results, ending);
    let lost = results.trouble.as_ref().map(|trouble| {
        Failure::new(format!("failed to save some results: {trouble}"))
            .with_hint("free disk space, then run again with the same `--seed`")
    });
    let lost = lost.or_else(|| explain_fork_failure(results));
    let lost = lost.or(reports.err()).or_else(|| explain_missing_results(results, ending));
    let failure =
        if results.has_crashed() || results.fork_failure.is_some() && !results.has_failed() {
            Some(FailureKind::Operation)
        } else if results.has_failed() {
            Some(FailureKind::Negative)
        } else if ending.is_interrupted {
            Some(FailureKind::Interrupted)
        } else if ending.is_strict && results.count_unexercised() > 0 {
            Some(FailureKind::Negative)
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

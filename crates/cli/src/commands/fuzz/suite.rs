//! Runs the test contracts of a project one after another, as `forge test` does.
//!
//! Each has a campaign of its own, with the limits that Foundry's settings give it. A contract that cannot be deployed is
//! reported at the end and does not keep the others from being tested.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use ::fuzz::config::{CampaignSettings, OutputFormat, TestMode};
use app::campaign::fork::describe_fork;
use app::campaign::plan::CampaignPlan;
use app::campaign::target::LoadedTarget;
use serde_json::{Value, json};

use super::junit::{ContractOutcome, ReportedContract};
use super::results::CampaignResults;
use super::{FinishedRun, FuzzFlags, json, text};
use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{BOLD, HINT, TextTable, Ui, format_path, print_warning};

/// The test contracts of a project to run.
pub(super) struct TestSuite {
    loaded: LoadedTarget,
    /// Indices of the contracts in the build.
    contracts: Vec<usize>,
}

/// Results of the contracts that were run.
#[derive(Default)]
struct SuiteResults {
    runs: Vec<(String, FinishedRun)>,
    /// Contracts that could not be run, with the reason.
    refused: Vec<(String, Failure)>,
    /// Contracts that the run did not reach before it ended.
    not_reached: Vec<String>,
    is_interrupted: bool,
}

impl TestSuite {
    /// Returns the suite if several test contracts are to be run: those that flags select, or all of a Foundry project.
    pub(super) fn find(
        plan: &mut CampaignPlan,
        loaded: LoadedTarget,
        flags: &FuzzFlags,
    ) -> Result<std::result::Result<Self, LoadedTarget>> {
        let selects = flags.selection.selects_contracts();
        let is_project = plan.path.as_deref().is_some_and(is_foundry_project);
        if plan.contract.is_some() || flags.replay.is_some() || !(selects || is_project) {
            return Ok(Err(loaded));
        }
        let filter = flags.selection.contract_filter()?;
        let earlier = Arc::clone(&plan.settings);
        let settings = Arc::make_mut(&mut plan.settings);
        if !settings.foundry.given.contains("testMode") {
            settings.test_mode = TestMode::Foundry;
        }
        let contracts = loaded.list_test_contracts(plan, &filter);
        if contracts.len() > 1 || selects && !contracts.is_empty() {
            return Ok(Ok(Self { loaded, contracts }));
        }
        if selects {
            return Err(Failure::usage("no test contract matches the patterns")
                .with_hint("run `vouch fuzz .` without patterns to see the test contracts"));
        }
        // Of one contract, the mode is chosen as for a source.
        let has_tests = |mode| {
            let settings =
                CampaignSettings { test_mode: mode, ..CampaignSettings::clone(&earlier) };
            let mut plan = plan.clone();
            plan.settings = Arc::new(settings);
            !loaded.list_test_contracts(&plan, &filter).is_empty()
        };
        if contracts.is_empty() || has_tests(earlier.test_mode) {
            plan.settings = earlier;
        }
        Ok(Err(loaded))
    }

    /// Runs all contracts and prints their results.
    pub(super) fn run(
        self,
        ctx: &CommandContext,
        ui: Ui,
        plan: &CampaignPlan,
        flags: &FuzzFlags,
    ) -> Result<ExitStatus> {
        flags.refuse_with_several_contracts()?;
        for note in &self.loaded.notes {
            print_warning(ui, note);
        }
        ui.print_note(format_args!("fuzzing {} test contracts", self.contracts.len()));
        let loaded = LoadedTarget { build: Arc::clone(&self.loaded.build), notes: Vec::new() };
        // All contracts start from the same block.
        let plan = &mut plan.clone();
        plan.fork.open(Arc::make_mut(&mut plan.settings))?;
        if let Some(fork) = &plan.settings.forks.base {
            ui.print_note(describe_fork(fork.as_ref()));
        }
        let mut results = SuiteResults::default();
        let mut known = BTreeMap::new();
        let mut contracts = self.contracts.iter();
        for &contract in contracts.by_ref() {
            let name = loaded.build.contracts[contract].qualified_name();
            let folder = name_folder(&loaded.build.contracts[contract].name, &mut known);
            let mut own = plan_contract(plan, &folder);
            let run = loaded.deploy(&mut own, contract).and_then(|subject| {
                for warning in &subject.target.warnings {
                    print_warning(ui, format_args!("{}: {warning}", subject.name));
                }
                super::run_target(ctx, ui, &own, &subject, flags)
            });
            match run {
                Ok(run) => {
                    if plan.format == OutputFormat::Text {
                        writeln!(ui.stdout(), "{BOLD}{name}{BOLD:#}")?;
                        text::print_text(ui, &run.results)?;
                        writeln!(ui.stdout())?;
                    }
                    results.is_interrupted |= run.is_interrupted;
                    results.runs.push((name, run));
                    // Now, because the next contract may be the last one before a kill.
                    plan.fork.save_record(&plan.settings, &ui);
                }
                Err(failure) => {
                    print_warning(ui, format_args!("{name}: {}", failure.to_one_line()));
                    results.refused.push((name, failure));
                }
            }
            let stops = plan.settings.stop_on_fail && results.has_failed();
            if results.is_interrupted || stops {
                break;
            }
        }
        let rest = contracts.map(|&contract| loaded.build.contracts[contract].qualified_name());
        results.not_reached = rest.collect();
        results.print(ui, plan)?;
        results.finish(ui, plan, flags)
    }
}

/// Returns true for a folder with `foundry.toml`.
fn is_foundry_project(path: &Path) -> bool {
    path.join("foundry.toml").is_file()
}

/// Returns a name for the folder of a contract's files, which no other contract has.
///
/// The name of a contract in a build of others may be any text, also a path.
fn name_folder(contract: &str, known: &mut BTreeMap<String, usize>) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$');
    let name: String =
        contract.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let name = if name.is_empty() { "_".to_owned() } else { name };
    let count = known.entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 { name } else { format!("{name}-{count}") }
}

/// Returns the plan of one contract, whose files have a folder of their own.
fn plan_contract(plan: &CampaignPlan, folder: &str) -> CampaignPlan {
    let mut plan = plan.clone();
    plan.may_show_screen = false;
    let settings = Arc::make_mut(&mut plan.settings);
    for path in [&mut settings.corpus_dir, &mut settings.coverage_dir] {
        *path = path.as_ref().map(|path| path.join(folder));
    }
    plan
}

impl SuiteResults {
    fn all(&self) -> impl Iterator<Item = &CampaignResults> {
        self.runs.iter().map(|(_, run)| &run.results)
    }

    fn has_failed(&self) -> bool {
        self.all().any(CampaignResults::has_failed)
    }

    fn print(&self, ui: Ui, plan: &CampaignPlan) -> Result {
        match plan.format {
            OutputFormat::Text => self.print_table(ui),
            OutputFormat::Json => Ok(ui.print_json(&self.to_json())?),
            OutputFormat::None => Ok(()),
        }
    }

    fn print_table(&self, ui: Ui) -> Result {
        let mut table =
            TextTable::new(["FAILED", "NOT BROKEN", "NOT EXERCISED", "CALLS", "TEST CONTRACT"]);
        for (name, run) in &self.runs {
            let results = &run.results;
            let failed = results.tests.iter().filter(|test| test.verdict.is_failed()).count();
            let open = results.count_unexercised();
            let held = results.tests.len() - failed - open;
            let [failed, held, open] = [failed, held, open].map(|count| count.to_string());
            table.add_row([failed, held, open, results.calls.to_string(), name.clone()]);
        }
        for name in self.refused.iter().map(|(name, _)| name).chain(&self.not_reached) {
            let none = String::new;
            table.add_row([none(), none(), "all".to_owned(), "0".to_owned(), name.clone()]);
        }
        table.write_to(&mut ui.stdout())?;
        Ok(())
    }

    fn to_json(&self) -> Value {
        let runs = self.runs.iter().map(|(name, run)| {
            let mut object = json::results_to_json(&run.results);
            object["contract"] = json!(name);
            object
        });
        let refused = self.refused.iter().map(|(name, failure)| {
            json!({"contract": name, "success": false, "error": failure.to_one_line(), "tests": []})
        });
        let not_reached = self.not_reached.iter().map(|name| {
            let error = format!("not run: {}", self.end_reason());
            json!({"contract": name, "success": false, "error": error, "tests": []})
        });
        let contracts: Vec<Value> = runs.chain(refused).chain(not_reached).collect();
        json!({
            "success": contracts.iter().all(|it| it["success"] == json!(true)),
            "seed": self.all().next().map(|results| results.seed),
            "contracts": contracts,
        })
    }

    /// Returns why the run ended before the contracts that it did not reach.
    fn end_reason(&self) -> &'static str {
        match self.is_interrupted {
            true => "the run was interrupted",
            false => "another test failed, and the run stops then",
        }
    }

    /// Returns all contracts for the JUnit report.
    fn report_contracts(&self) -> Vec<ReportedContract<'_>> {
        let tested =
            self.runs.iter().map(|(name, run)| (name, ContractOutcome::Tested(&run.results)));
        let refused = self.refused.iter();
        let refused =
            refused.map(|(name, why)| (name, ContractOutcome::Refused(why.to_one_line())));
        let not_reached = self.not_reached.iter();
        let not_reached =
            not_reached.map(|name| (name, ContractOutcome::NotReached(self.end_reason())));
        let all = tested.chain(refused).chain(not_reached);
        all.map(|(name, outcome)| ReportedContract { name, outcome }).collect()
    }

    /// Writes reports and returns the exit status.
    fn finish(mut self, ui: Ui, plan: &CampaignPlan, flags: &FuzzFlags) -> Result<ExitStatus> {
        let mut lost = None;
        for (_, run) in &mut self.runs {
            match std::mem::replace(&mut run.reports, Ok(Vec::new())) {
                Ok(reports) => {
                    for report in &reports {
                        ui.print_note(format_args!("wrote {}", format_path(report)));
                    }
                }
                Err(failure) => lost = Some(failure),
            }
            if let Some(trouble) = &run.results.trouble {
                lost = Some(Failure::new(format!("failed to save some results: {trouble}")));
            }
            lost = lost.or_else(|| super::explain_fork_failure(&run.results));
        }
        if let Some(path) = super::write_junit_report(plan, &self.report_contracts(), flags)? {
            ui.print_note(format_args!("wrote {}", format_path(&path)));
        }
        if self.has_failed() && plan.settings.corpus_dir.is_none() {
            ui.print_note(format_args!(
                "{HINT}hint:{HINT:#} pass `--corpus-dir DIR` to save reproducers, also as tests for `forge test`"
            ));
        }
        let open: usize = self.all().map(CampaignResults::count_unexercised).sum();
        let tests: usize = self.all().map(|results| results.tests.len()).sum();
        if open > 0 {
            let verb = if open == 1 { "was" } else { "were" };
            let rest = match flags.strict {
                true => ", which `--strict` does not accept",
                false => "; pass `--strict` to exit with 1 then",
            };
            print_warning(ui, format_args!("{open} of {tests} tests {verb} not exercised{rest}"));
        }
        let lost = lost.or_else(|| self.explain_missing_results(open == tests));
        let lost_fork = self.all().any(|results| results.fork_failure.is_some());
        let failure =
            if self.all().any(CampaignResults::has_crashed) || lost_fork && !self.has_failed() {
                Some(FailureKind::Operation)
            } else if self.has_failed() {
                Some(FailureKind::Negative)
            } else if self.is_interrupted {
                Some(FailureKind::Interrupted)
            } else if flags.strict && open > 0 {
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

    /// Returns the failure of a run that found out nothing about some contract that should have been tested: it could not be
    /// deployed, or its `setUp()` failed.
    fn explain_missing_results(&self, is_empty: bool) -> Option<Failure> {
        if self.is_interrupted {
            return None;
        }
        let failed = self.runs.iter().filter(|(_, run)| run.results.has_failed_set_up());
        let mut names: Vec<&str> = failed.map(|(name, _)| name.as_str()).collect();
        names.extend(self.refused.iter().map(|(name, _)| name.as_str()));
        if names.is_empty() {
            return is_empty.then(|| {
                Failure::new("no test was exercised, so the run says nothing about the contracts")
                    .with_hint("the results state the reason for each test")
            });
        }
        const SHOWN: usize = 10;
        let rest = match names.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        names.truncate(SHOWN);
        Some(
            Failure::new(format!("these contracts were not tested: {}{rest}", names.join(", ")))
                .with_hint("the results state the reasons; leave contracts out with `--no-match-contract REGEX`"),
        )
    }
}

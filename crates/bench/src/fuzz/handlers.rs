//! Suites of Foundry invariants, run by forge and by our fuzzer: both must come to the same result.
//!
//! A folder of projects is given by a flag; nothing of it is part of the repository. The projects are run as they are, with
//! the runs and the depth that they set.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fuzz::campaign::{Campaign, CampaignOptions, NotRunReason as TestNotRun, TestVerdict};
use fuzz::config::foundry::apply_foundry_toml;
use fuzz::config::{CampaignSettings, TestMode};
use fuzz::deploy::{deploy_target, uses_foundry_rules};
use fuzz::generate::ValueDictionary;
use fuzz::target::TestKind;
use serde_json::Value;
use solidity::{ProjectPrograms, SolidityBuild, Toolchain};

use super::peers::FuzzPeers;

/// Name of the result of a test contract that has none for its invariants.
const WHOLE: &str = "*";

/// Results of the invariants of a test contract, by name.
pub(super) type SuiteResults = BTreeMap<String, SuiteResult>;

/// Result of one tool on one invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SuiteResult {
    Broken(String),
    NotBroken,
    /// The result is unknown, for this reason.
    Unknown(String),
}

impl SuiteResult {
    fn describe(&self) -> String {
        match self {
            Self::Broken(by) => format!("broken: {by}"),
            Self::NotBroken => "not broken".to_owned(),
            Self::Unknown(why) => format!("unknown: {why}"),
        }
    }
}

/// Runs all projects in a folder and prints a row for each invariant. Errors if the tools disagree on any.
pub(super) fn compare_handler_suites(folder: &Path, seconds: u64) -> Result<()> {
    let peers = FuzzPeers::install()?;
    let (mut same, mut different, mut unknown) = (0, 0, 0);
    println!("| invariant | forge | vouch | agree |\n|---|---|---|---|");
    for project in list_projects(folder)? {
        let forge = run_forge(&peers, &project)?;
        let build = Arc::new(load_project(&peers, &project)?);
        for (suite, expected) in &forge {
            let found = run_vouch(&build, &project, suite, seconds)?;
            for (invariant, expected) in expected {
                let missing = || SuiteResult::Unknown("not tested".to_owned());
                let found =
                    found.get(invariant).or(found.get(WHOLE)).cloned().unwrap_or_else(missing);
                let agreement = match (expected, &found) {
                    (SuiteResult::Broken(_), SuiteResult::Broken(_))
                    | (SuiteResult::NotBroken, SuiteResult::NotBroken) => {
                        same += 1;
                        "yes"
                    }
                    (_, SuiteResult::Unknown(_)) | (SuiteResult::Unknown(_), _) => {
                        unknown += 1;
                        "unknown"
                    }
                    _ => {
                        different += 1;
                        "**no**"
                    }
                };
                let name = project.file_name().unwrap_or_default().to_string_lossy();
                let (forge, vouch) = (expected.describe(), found.describe());
                println!("| {name}: {suite} {invariant} | {forge} | {vouch} | {agreement} |");
            }
        }
    }
    println!("\n{same} invariants agree, {different} do not, {unknown} are unknown");
    ensure!(same + different + unknown > 0, "no invariants in {}", folder.display());
    ensure!(different == 0, "the results of {different} invariants differ");
    Ok(())
}

/// Returns the folder itself or the folders in it that have a `foundry.toml`, sorted.
fn list_projects(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_project = |path: &PathBuf| path.join("foundry.toml").is_file();
    if is_project(&folder.to_owned()) {
        return Ok(vec![folder.to_owned()]);
    }
    let read =
        fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut projects: Vec<_> = paths.into_iter().filter(is_project).collect();
    projects.sort();
    ensure!(!projects.is_empty(), "no project with a foundry.toml in {}", folder.display());
    Ok(projects)
}

/// Runs `forge test` on the invariants. Returns the results of each test contract by `path:Name`.
fn run_forge(peers: &FuzzPeers, project: &Path) -> Result<BTreeMap<String, SuiteResults>> {
    let forge = peers.forge.as_ref().map_err(|reason| anyhow::anyhow!("no forge: {reason}"))?;
    let mut command = peers.command(forge)?;
    command
        .args(["test", "--json", "--offline", "--match-test", "^(invariant|statefulFuzz)", "--use"])
        .arg(peers.solc())
        .current_dir(project)
        .stdin(Stdio::null());
    let output = command.output().context("failed to start forge")?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Events of the campaign are printed before the document.
    let document = text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(Value::Object(suites)) = document else {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("forge printed no results for {}:\n{error}", project.display());
    };
    Ok(suites.into_iter().map(|(name, suite)| (name, parse_suite(&suite))).collect())
}

/// Returns the results of the invariants. A failed `setUp()` is a result too.
pub(super) fn parse_suite(suite: &Value) -> SuiteResults {
    let results = suite["test_results"].as_object();
    let parse = |(name, result): (&String, &Value)| {
        let reason = first_line(result["reason"].as_str().unwrap_or_default()).to_owned();
        let parsed = match result["status"].as_str() {
            Some("Failure") => SuiteResult::Broken(reason),
            Some("Success") => SuiteResult::NotBroken,
            _ => SuiteResult::Unknown(reason),
        };
        (name.trim_end_matches("()").to_owned(), parsed)
    };
    results.into_iter().flatten().map(parse).collect()
}

pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Reads the artifacts that forge has just written.
fn load_project(peers: &FuzzPeers, project: &Path) -> Result<SolidityBuild> {
    let toolchain = Toolchain {
        solc: Some(peers.solc()),
        project: ProjectPrograms::None,
        ..Toolchain::default()
    };
    solidity::load_build(project, &toolchain)
        .with_context(|| format!("failed to load {}", project.display()))
}

fn run_vouch(
    build: &Arc<SolidityBuild>,
    project: &Path,
    suite: &str,
    seconds: u64,
) -> Result<SuiteResults> {
    let whole = |result| Ok(BTreeMap::from([(WHOLE.to_owned(), result)]));
    let mut settings = CampaignSettings {
        test_mode: TestMode::Property,
        seed: Some(1),
        timeout: Some(Duration::from_secs(seconds)),
        ..CampaignSettings::default()
    };
    let config = fs::read_to_string(project.join("foundry.toml"))?;
    apply_foundry_toml(&mut settings.foundry, &config)?;
    let mut contracts = build.contracts.iter();
    let Some(index) = contracts.position(|contract| contract.qualified_name() == suite) else {
        return whole(SuiteResult::Unknown("not part of the build".to_owned()));
    };
    if !uses_foundry_rules(&build.contracts[index], &settings) {
        return whole(SuiteResult::Unknown("not tested by Foundry's rules".to_owned()));
    }
    let target = match deploy_target(build.clone(), index, &settings) {
        Ok(target) => target,
        // Forge reports a failed setUp() and invalid targets as failures of the suite.
        Err(error) => return whole(SuiteResult::Broken(error.to_string())),
    };
    let campaign = Campaign::start(CampaignOptions {
        dictionary: ValueDictionary::from_target(&target, &target.settings),
        settings: target.settings.clone(),
        target: Arc::new(target),
        workers: 1,
        corpus: Vec::new(),
        commands: Vec::new(),
        recorder: Box::new(()),
    })?;
    let shared = campaign.shared().clone();
    campaign.wait();
    let verdicts = shared.verdicts();
    let tests = || shared.target.tests.iter().zip(&verdicts);
    let is_invariant = |kind: &TestKind| matches!(kind, TestKind::Invariant { .. });
    // Forge reports these as failures of every invariant.
    let common = tests().find(|(test, verdict)| !is_invariant(&test.kind) && verdict.is_failed());
    let judge = |verdict: &TestVerdict| match verdict {
        TestVerdict::Failed { .. } => SuiteResult::Broken("failed".to_owned()),
        TestVerdict::NotRun(TestNotRun::SetUpFailed(reason)) => SuiteResult::Broken(reason.clone()),
        TestVerdict::NotRun(reason) => SuiteResult::Unknown(reason.to_string()),
        // Calls that only revert break nothing in forge either.
        _ => common
            .map_or(SuiteResult::NotBroken, |(test, _)| SuiteResult::Broken(test.name.clone())),
    };
    let invariants = tests().filter(|(test, _)| is_invariant(&test.kind));
    let mut results: SuiteResults =
        invariants.map(|(test, verdict)| (test.name.clone(), judge(verdict))).collect();
    if let Some(first) = results.values().next().cloned() {
        results.insert("setUp".to_owned(), first);
    }
    Ok(results)
}

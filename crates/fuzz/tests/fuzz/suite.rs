//! The targets under `tests/targets`: their compiled build and the expectations of their tests.
//!
//! `compile.mjs` compiles the sources to `targets.json`, so that the tests need no compiler. Each target is a source file
//! with a contract of the same name. Lines at its top such as `// mode: assertion` are settings; expectations are stated
//! above the functions (see [`expectation`]).

pub(crate) mod expectation;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use alloy_primitives::{U256, keccak256};
use fuzz::call::SequenceCall;
use fuzz::campaign::{
    Campaign, CampaignCommand, CampaignOptions, CampaignState, CampaignSummary, CorpusEntry,
};
use fuzz::config::{CampaignSettings, TestMode};
use fuzz::deploy::{DeployError, deploy_target};
use fuzz::generate::ValueDictionary;
use fuzz::target::FuzzTarget;
use solidity::{SolidityBuild, Toolchain};

use expectation::Expectation;

/// Contracts that cannot be fuzzed; see the deployment tests.
pub(crate) const BAD: &str = "Bad";

/// Enough to find all expected failures with each seed.
const CALLS: u64 = 200_000;

/// Folders of targets, each compiled by a different compiler version.
const FOLDERS: [&str; 2] = ["targets", "targets-0.7"];

static BUILDS: LazyLock<[SolidityBuild; FOLDERS.len()]> = LazyLock::new(|| {
    FOLDERS.map(|name| {
        let file = folder().join(format!("{name}.json"));
        solidity::load_build(&file, &Toolchain::default()).unwrap()
    })
});

/// A target with its settings and expectations.
pub(crate) struct TargetSubject {
    /// Name of the source file.
    pub(crate) file: String,
    /// Name of the contract, usually that of the file.
    pub(crate) name: String,
    pub(crate) settings: CampaignSettings,
    pub(crate) expectations: Vec<Expectation>,
}

/// A campaign that has ended.
pub(crate) struct FinishedRun {
    pub(crate) target: Arc<FuzzTarget>,
    pub(crate) summary: CampaignSummary,
    pub(crate) corpus: Vec<Arc<CorpusEntry>>,
    pub(crate) shared: Arc<CampaignState>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn read_source(name: &str) -> String {
    let folder = folder().join(FOLDERS[folder_index(name)]);
    fs::read_to_string(folder.join(format!("{name}.sol"))).unwrap()
}

/// Returns the index of the folder that contains the target.
fn folder_index(name: &str) -> usize {
    let holds = |at: &str| folder().join(at).join(format!("{name}.sol")).is_file();
    FOLDERS.iter().position(|at| holds(at)).unwrap()
}

/// Returns all targets, sorted by name.
pub(crate) fn subjects() -> Vec<TargetSubject> {
    let names: BTreeSet<String> = FOLDERS.iter().flat_map(|at| names(at)).collect();
    names.iter().filter(|name| *name != BAD).map(|name| subject(name)).collect()
}

fn names(at: &str) -> BTreeSet<String> {
    let files = fs::read_dir(folder().join(at)).unwrap();
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.map(|file| name(file.unwrap().path())).collect()
}

pub(crate) fn subject(name: &str) -> TargetSubject {
    let text = read_source(name);
    let mut settings = CampaignSettings { test_limit: CALLS, ..CampaignSettings::default() };
    for line in text.lines() {
        let Some((key, value)) = line.strip_prefix("// ").and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        match key {
            "mode" => settings.test_mode = value.parse::<TestMode>().unwrap(),
            "balance" => settings.contract_balance = value.parse().unwrap(),
            "calls" => settings.test_limit = value.parse().unwrap(),
            "SPDX-License-Identifier" => {}
            _ => panic!("{name}.sol: `{key}` is not a target setting"),
        }
    }
    TargetSubject {
        file: name.to_owned(),
        name: name.to_owned(),
        settings,
        expectations: expectation::read_expectations(name, &text),
    }
}

/// Returns the build of one source, without the others: their constants would pollute its dictionary.
pub(crate) fn build(name: &str) -> SolidityBuild {
    let path = format!("{name}.sol");
    let mut build = BUILDS[folder_index(name)].clone();
    build.contracts.retain(|contract| contract.source == path);
    build.sources.retain(|source| source.path == path);
    for source in &mut build.sources {
        source.text = read_source(name).into();
    }
    build
}

/// Deploys one contract of the build.
pub(crate) fn deploy_contract(
    build: SolidityBuild,
    contract: &str,
    settings: &CampaignSettings,
) -> Result<FuzzTarget, DeployError> {
    let index = build.contracts.iter().position(|other| other.name == contract).unwrap();
    deploy_target(Arc::new(build), index, settings)
}

impl TargetSubject {
    /// Runs a campaign to completion.
    pub(crate) fn run(&self, seed: u64, workers: usize) -> FinishedRun {
        self.run_from(Vec::new(), seed, workers)
    }

    /// Runs a campaign that starts with sequences of an earlier one.
    pub(crate) fn run_from(
        &self,
        corpus: Vec<Vec<SequenceCall>>,
        seed: u64,
        workers: usize,
    ) -> FinishedRun {
        wait_for_end(self.start(corpus, |_| Vec::new(), seed, workers))
    }

    /// Runs a campaign with commands to completion.
    pub(crate) fn run_steered(
        &self,
        commands: impl FnOnce(&FuzzTarget) -> Vec<(u64, CampaignCommand)>,
        seed: u64,
        workers: usize,
    ) -> FinishedRun {
        wait_for_end(self.start(Vec::new(), commands, seed, workers))
    }

    pub(crate) fn start(
        &self,
        corpus: Vec<Vec<SequenceCall>>,
        commands: impl FnOnce(&FuzzTarget) -> Vec<(u64, CampaignCommand)>,
        seed: u64,
        workers: usize,
    ) -> Campaign {
        let settings = CampaignSettings { seed: Some(seed), ..self.settings.clone() };
        let target = deploy_contract(build(&self.file), &self.name, &settings)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let campaign = Campaign::start(CampaignOptions {
            dictionary: ValueDictionary::from_target(&target, &target.settings),
            commands: commands(&target),
            settings: target.settings.clone(),
            target: Arc::new(target),
            workers,
            corpus,
            recorder: Box::new(()),
        });
        campaign.unwrap()
    }
}

fn wait_for_end(campaign: Campaign) -> FinishedRun {
    let shared = campaign.shared().clone();
    let summary = campaign.wait();
    FinishedRun { target: shared.target.clone(), summary, corpus: shared.corpus(), shared }
}

#[test]
fn compiled_builds_match_the_sources() {
    FOLDERS.iter().for_each(|at| check_compiled(at));
}

fn check_compiled(at: &str) {
    let file = folder().join(format!("{at}.json"));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let sources = json["sources"].as_object().unwrap();
    let compiled: BTreeSet<String> =
        sources.keys().map(|path| path.trim_end_matches(".sol").to_owned()).collect();
    let command = "run `node crates/fuzz/tests/compile.mjs PATH_OF_SOLC`";
    assert_eq!(compiled, names(at), "{command}");
    for name in names(at) {
        let hash = U256::from_be_bytes(keccak256(read_source(&name)).0);
        let compiled = sources[&format!("{name}.sol")]["keccak256"].as_str().unwrap();
        let compiled = U256::from_str_radix(compiled, 16).unwrap();
        assert!(hash == compiled, "{name}.sol has changed: {command}");
    }
}

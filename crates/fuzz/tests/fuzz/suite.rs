//! The targets under `tests/targets`: what was compiled from them, and what is expected of their tests.
//!
//! `targets.json` is what `compile.mjs` makes of the sources, so that the tests need no compiler. Each target is a source
//! file with a contract of the same name. Lines at its top such as `// mode: assertion` are settings; expectations stand
//! above the functions that they concern (see [`expectation`]).

pub(crate) mod expectation;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use alloy_primitives::{U256, keccak256};
use fuzz::call::Call;
use fuzz::campaign::{Campaign, Command, Entry, Shared, Start, Summary};
use fuzz::config::{Settings, TestMode};
use fuzz::deploy::{DeployError, deploy};
use fuzz::generate::Dictionary;
use fuzz::target::Target;
use solidity::{Build, Toolchain};

use expectation::Expectation;

/// Contracts that cannot be fuzzed; see the tests of deploying.
pub(crate) const BAD: &str = "Bad";

/// Enough for everything that is expected to fail, in each of the seeds.
const CALLS: u64 = 200_000;

/// Folders of targets, each compiled by another compiler.
const FOLDERS: [&str; 2] = ["targets", "targets-0.7"];

static BUILDS: LazyLock<[Build; FOLDERS.len()]> = LazyLock::new(|| {
    FOLDERS.map(|name| {
        let file = folder().join(format!("{name}.json"));
        solidity::load(&file, &Toolchain::default()).unwrap()
    })
});

/// A source file with what is known of it.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) settings: Settings,
    pub(crate) expectations: Vec<Expectation>,
}

/// A campaign that has ended.
pub(crate) struct Ran {
    pub(crate) target: Arc<Target>,
    pub(crate) summary: Summary,
    pub(crate) corpus: Vec<Arc<Entry>>,
    pub(crate) shared: Arc<Shared>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn text(name: &str) -> String {
    let folder = folder().join(FOLDERS[place(name)]);
    fs::read_to_string(folder.join(format!("{name}.sol"))).unwrap()
}

/// Which folder the target is in.
fn place(name: &str) -> usize {
    let holds = |at: &str| folder().join(at).join(format!("{name}.sol")).is_file();
    FOLDERS.iter().position(|at| holds(at)).unwrap()
}

/// All targets, by name.
pub(crate) fn subjects() -> Vec<Subject> {
    let names: BTreeSet<String> = FOLDERS.iter().flat_map(|at| names(at)).collect();
    names.iter().filter(|name| *name != BAD).map(|name| subject(name)).collect()
}

fn names(at: &str) -> BTreeSet<String> {
    let files = fs::read_dir(folder().join(at)).unwrap();
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.map(|file| name(file.unwrap().path())).collect()
}

pub(crate) fn subject(name: &str) -> Subject {
    let text = text(name);
    let mut settings = Settings { test_limit: CALLS, ..Settings::default() };
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
            _ => panic!("{name}.sol: `{key}` is no setting of a target"),
        }
    }
    Subject { name: name.to_owned(), settings, expectations: expectation::read(name, &text) }
}

/// What was compiled from one source, without the others: their constants are not its own.
pub(crate) fn build(name: &str) -> Build {
    let path = format!("{name}.sol");
    let mut build = BUILDS[place(name)].clone();
    build.contracts.retain(|contract| contract.source == path);
    build.sources.retain(|source| source.path == path);
    build
}

/// Deploys one contract of the build.
pub(crate) fn deployed(
    build: Build,
    contract: &str,
    settings: &Settings,
) -> Result<Target, DeployError> {
    let index = build.contracts.iter().position(|other| other.name == contract).unwrap();
    deploy(Arc::new(build), index, settings)
}

impl Subject {
    /// Runs a campaign to its end.
    pub(crate) fn run(&self, seed: u64, workers: usize) -> Ran {
        self.run_from(Vec::new(), seed, workers)
    }

    /// The same, beginning with sequences of an earlier campaign.
    pub(crate) fn run_from(&self, corpus: Vec<Vec<Call>>, seed: u64, workers: usize) -> Ran {
        ended(self.start(corpus, |_| Vec::new(), seed, workers))
    }

    /// Runs a campaign that is told something, to its end.
    pub(crate) fn run_steered(
        &self,
        commands: impl FnOnce(&Target) -> Vec<(u64, Command)>,
        seed: u64,
        workers: usize,
    ) -> Ran {
        ended(self.start(Vec::new(), commands, seed, workers))
    }

    pub(crate) fn start(
        &self,
        corpus: Vec<Vec<Call>>,
        commands: impl FnOnce(&Target) -> Vec<(u64, Command)>,
        seed: u64,
        workers: usize,
    ) -> Campaign {
        let settings = Settings { seed: Some(seed), ..self.settings.clone() };
        let target = deployed(build(&self.name), &self.name, &settings)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let campaign = Campaign::start(Start {
            dictionary: Dictionary::of(&target, &settings),
            commands: commands(&target),
            target: Arc::new(target),
            settings: Arc::new(settings),
            workers,
            corpus,
            recorder: Box::new(()),
        });
        campaign.unwrap()
    }
}

fn ended(campaign: Campaign) -> Ran {
    let shared = campaign.shared().clone();
    let summary = campaign.wait();
    Ran { target: shared.target.clone(), summary, corpus: shared.corpus(), shared }
}

#[test]
fn what_was_compiled_is_what_is_there() {
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
        let hash = U256::from_be_bytes(keccak256(text(&name)).0);
        let compiled = sources[&format!("{name}.sol")]["keccak256"].as_str().unwrap();
        let compiled = U256::from_str_radix(compiled, 16).unwrap();
        assert!(hash == compiled, "{name}.sol has changed: {command}");
    }
}

//! Tests of verdicts: a test that was not exercised never reads as one that holds.
//!
//! The targets are in `tests/verdicts`, compiled by `compile.mjs` to `verdicts.json`.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use alloy_primitives::{Address, B256, U256, address, keccak256};
use fuzz::abi::AbiValue;
use fuzz::call::{CallPayload, SequenceCall};
use fuzz::campaign::{
    Campaign, CampaignOptions, CampaignState, CampaignSummary, TestVerdict, WorkerEndReason,
};
use fuzz::chain::{RemoteAccount, RemoteBlock, RemoteError, RemoteState};
use fuzz::config::{CampaignSettings, TestMode};
use fuzz::deploy::deploy_target;
use fuzz::generate::ValueDictionary;
use fuzz::target::FuzzTarget;
use fuzz::trace::describe_revert_reasons;
use solidity::{SolidityBuild, Toolchain};

const CHEATCODES: Address = address!("0x7109709ECfa91a80626fF3989D68f67F5b1DD12D");

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn settings(mode: TestMode) -> CampaignSettings {
    CampaignSettings {
        test_mode: mode,
        test_limit: 20_000,
        seed: Some(1),
        ..CampaignSettings::default()
    }
}

/// Deploys a contract of one source, without the others: their constants would pollute its dictionary.
fn deploy(source: &str, contract: &str, settings: &CampaignSettings) -> FuzzTarget {
    let mut build: SolidityBuild =
        solidity::load_build(&folder().join("verdicts.json"), &Toolchain::default()).unwrap();
    let path = format!("{source}.sol");
    build.contracts.retain(|contract| contract.source == path);
    build.sources.retain(|source| source.path == path);
    let index = build.contracts.iter().position(|it| it.name == contract).unwrap();
    deploy_target(Arc::new(build), index, settings).unwrap_or_else(|error| panic!("{error}"))
}

fn options(target: FuzzTarget, settings: CampaignSettings, workers: usize) -> CampaignOptions {
    CampaignOptions {
        dictionary: ValueDictionary::from_target(&target, &settings),
        target: Arc::new(target),
        settings: Arc::new(settings),
        workers,
        corpus: Vec::new(),
        commands: Vec::new(),
        recorder: Box::new(()),
    }
}

fn run(source: &str, contract: &str, settings: CampaignSettings) -> (Report, CampaignSummary) {
    let target = deploy(source, contract, &settings);
    let campaign = Campaign::start(options(target, settings, 2)).unwrap();
    let shared = campaign.shared().clone();
    let summary = campaign.wait();
    (Report::new(&shared, &summary), summary)
}

/// The verdicts of a campaign as text, without numbers.
struct Report {
    lines: Vec<String>,
    end: Option<WorkerEndReason>,
}

impl Report {
    fn new(shared: &CampaignState, summary: &CampaignSummary) -> Self {
        let tests = shared.target.tests.iter().zip(&summary.verdicts);
        let lines = tests.map(|(test, verdict)| {
            let mut line = format!("{}: {}", test.name, hide_numbers(&verdict.to_string()));
            if let TestVerdict::OnlyReverted { reasons, calls } = verdict {
                assert_eq!(reasons.iter().map(|reason| reason.count).sum::<u64>(), *calls);
                let mut texts = describe_revert_reasons(&shared.target, reasons);
                texts.sort();
                line.push_str(&format!(" [{}]", texts.join("; ")));
            }
            line
        });
        Self { lines: lines.collect(), end: shared.end_reason() }
    }

    fn text(&self) -> String {
        self.lines.join("\n")
    }
}

/// Replaces decimal numbers of two and more digits, which depend on the generator.
fn hide_numbers(text: &str) -> String {
    let is_number = |word: &str| word.len() > 1 && word.bytes().all(|it| it.is_ascii_digit());
    let words = text.split(' ').map(|word| if is_number(word) { "N" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn compiled_build_matches_the_sources() {
    let file = folder().join("verdicts.json");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    for (name, source) in json["sources"].as_object().unwrap() {
        let text = fs::read_to_string(folder().join("verdicts").join(name)).unwrap();
        let hash = format!("{:x}", keccak256(text));
        let command = "run `node crates/fuzz/tests/compile.mjs PATH_OF_SOLC verdicts`";
        assert_eq!(source["keccak256"], hash, "{name} has changed: {command}");
    }
}

#[test]
fn property_is_not_exercised_by_calls_that_revert_or_change_nothing() {
    let (report, _) = run("OnlyReverts", "OnlyReverts", settings(TestMode::Property));
    insta::assert_snapshot!(report.text());
    assert_eq!(report.end, Some(WorkerEndReason::CallLimitReached));
}

#[test]
fn assertion_tests_are_judged_by_calls_of_their_own_function() {
    let (report, _) = run("OnlyReverts", "OnlyReverts", settings(TestMode::Assertion));
    insta::assert_snapshot!(report.text());
}

#[test]
fn optimization_test_needs_a_successful_call() {
    let (report, _) = run("OnlyReverts", "NoMaximum", settings(TestMode::Optimization));
    insta::assert_snapshot!(report.text());
}

#[test]
fn property_of_a_target_without_functions_is_exercised_by_time() {
    let (report, _) = run("Lending", "Clock", settings(TestMode::Property));
    insta::assert_snapshot!(report.text());
}

#[test]
fn unit_tests_that_cannot_be_run_do_not_stop_the_others() {
    let (report, summary) = run("Cheats", "SomeTests", settings(TestMode::Foundry));
    insta::assert_snapshot!(report.text());
    assert_eq!(summary.failures.len(), 1);
}

#[test]
fn property_that_cannot_be_evaluated_in_some_states_can_still_fail() {
    let (report, summary) = run("Cheats", "LateCheats", settings(TestMode::Property));
    insta::assert_snapshot!(report.text());
    assert_eq!(summary.failures.len(), 1);
}

#[test]
fn call_that_cannot_be_run_is_undone() {
    let (report, summary) = run("Cheats", "Handlers", settings(TestMode::Property));
    insta::assert_snapshot!(report.text());
    assert!(summary.failures.is_empty());
}

#[test]
fn no_test_is_run_after_a_failed_set_up() {
    let ends = ["FailingSetUp", "UnsupportedSetUp"].map(|contract| {
        let (report, summary) = run("Cheats", contract, settings(TestMode::Property));
        assert_eq!((summary.calls, report.end), (0, Some(WorkerEndReason::NothingLeftToTest)));
        report.text()
    });
    insta::assert_snapshot!(ends.join("\n"));
}

#[test]
fn failed_set_up_without_tests_is_an_error() {
    let settings = settings(TestMode::Exploration);
    let build = solidity::load_build(&folder().join("verdicts.json"), &Toolchain::default());
    let build: SolidityBuild = build.unwrap();
    let index = build.contracts.iter().position(|it| it.name == "FailingSetUp").unwrap();
    let error = deploy_target(Arc::new(build), index, &settings).unwrap_err();
    let expected = "setUp() of `FailingSetUp` failed: reverted: nothing to set up";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn campaign_stopped_before_its_first_call_says_nothing() {
    for (source, contract, mode) in [
        ("Cheats", "Handlers", TestMode::Property),
        ("Cheats", "SomeTests", TestMode::Foundry),
        ("OnlyReverts", "OnlyReverts", TestMode::Assertion),
        ("OnlyReverts", "NoMaximum", TestMode::Optimization),
        ("Lending", "Clock", TestMode::Property),
    ] {
        let settings = settings(mode);
        let target = deploy(source, contract, &settings);
        let campaign = Campaign::start_paused(options(target, settings, 2)).unwrap();
        let shared = campaign.shared().clone();
        shared.kill();
        let summary = campaign.wait();
        assert_eq!((summary.calls, shared.end_reason()), (0, Some(WorkerEndReason::Stopped)));
        let is_exercised = summary.verdicts.iter().any(TestVerdict::is_exercised);
        assert!(!is_exercised, "{contract}: {:?}", summary.verdicts);
    }
}

/// Returns true if an argument is the word.
fn has_word(value: &AbiValue, word: U256) -> bool {
    match value {
        AbiValue::Word(own) => *own == word,
        AbiValue::Bytes(_) => false,
        AbiValue::List(values) => values.iter().any(|value| has_word(value, word)),
    }
}

#[test]
fn arguments_never_contain_the_cheat_code_address() {
    let settings = CampaignSettings { test_limit: 100_000, ..settings(TestMode::Property) };
    let target = deploy("Lending", "Lending", &settings);
    let campaign = Campaign::start(options(target, settings, 1)).unwrap();
    let shared = campaign.shared().clone();
    let summary = campaign.wait();
    assert!(summary.failures.is_empty(), "{:?}", summary.failures);
    let [TestVerdict::NotBroken(_)] = &summary.verdicts[..] else {
        panic!("{:?}", summary.verdicts)
    };
    let word = U256::from_be_bytes(CHEATCODES.into_word().0);
    for entry in shared.corpus() {
        for call in &entry.calls {
            let CallPayload::Function { args, .. } = &call.payload else { continue };
            assert!(!args.iter().any(|arg| has_word(arg, word)), "{call:?}");
        }
    }
}

/// A corpus of the user may contain the address. The campaign goes on, and the call only reverts.
#[test]
fn calls_of_the_cheat_code_address_from_a_corpus_do_not_end_the_campaign() {
    let settings = CampaignSettings { test_limit: 5_000, ..settings(TestMode::Assertion) };
    let target = deploy("Lending", "Lending", &settings);
    let word = |word: U256| AbiValue::Word(word);
    let call = |signature: &str, args: Vec<AbiValue>| {
        let function = target.find_function(signature, None).unwrap();
        SequenceCall {
            payload: CallPayload::Function { function, args },
            from: settings.senders[0],
            to: target.function(function).address,
            value: U256::ZERO,
            gas_price: 0,
            delay: Default::default(),
        }
    };
    let asset = || word(U256::from_be_bytes(CHEATCODES.into_word().0));
    let corpus = vec![
        vec![call("supply(address,uint256)", vec![asset(), word(U256::ONE)])],
        vec![
            call("setAsset(address)", vec![asset()]),
            call("supplyStored(uint256)", vec![word(U256::ONE)]),
        ],
    ];
    let campaign = Campaign::start(CampaignOptions { corpus, ..options(target, settings, 1) });
    let campaign = campaign.unwrap();
    let shared = campaign.shared().clone();
    let summary = campaign.wait();
    assert_eq!(shared.end_reason(), Some(WorkerEndReason::CallLimitReached));
    let is_not_run = |verdict: &TestVerdict| matches!(verdict, TestVerdict::NotRun(_));
    assert!(!summary.verdicts.iter().any(is_not_run), "{:?}", summary.verdicts);
    assert!(summary.calls >= 5_000);
}

/// Foundry contracts of `Forge.sol` whose functions `test_not_*` fail under forge, and whose other tests pass.
const AGREEING: [&str; 7] =
    ["Emits", "Reverts", "Calls", "Mocks", "StoredFailures", "Pranks", "Snapshots"];

#[test]
fn checks_of_cheat_codes_agree_with_forge() {
    let mut differences = Vec::new();
    for contract in AGREEING {
        let settings = settings(TestMode::Foundry);
        let target = deploy("Forge", contract, &settings);
        let campaign = Campaign::start(options(target, settings, 1)).unwrap();
        let shared = campaign.shared().clone();
        let summary = campaign.wait();
        for (test, verdict) in shared.target.tests.iter().zip(&summary.verdicts) {
            let fails = test.name.starts_with("test_not_");
            if !verdict.is_exercised() || verdict.is_failed() != fails {
                // A unit test that reverts is not exercised, but failed.
                differences.push(format!("{contract}.{}: {verdict}", test.name));
            }
        }
        assert!(summary.verdicts.len() > 3, "{contract}");
    }
    assert_eq!(differences.join("\n"), "");
}

/// Runs a Foundry campaign with short sequences, and returns the verdicts.
fn run_forge(contract: &str) -> String {
    let settings = CampaignSettings {
        test_limit: 400,
        sequence_length: NonZeroUsize::new(20).unwrap(),
        ..settings(TestMode::Foundry)
    };
    let (report, _) = run("Forge", contract, settings);
    // How often an invariant is evaluated depends on the generator.
    let lines = report.lines.iter().map(|line| line.split(", evaluated").next().unwrap());
    format!("{contract}: {}", lines.collect::<Vec<_>>().join(", "))
}

#[test]
fn assertions_that_fail_in_set_up_without_a_revert_count() {
    let contracts = [
        "FailedSetUp",
        "FailedConstructor",
        "FailedConstructorAndSetUp",
        "FailedExpectedCall",
        "FailedExpectedRevert",
    ];
    insta::assert_snapshot!(contracts.map(run_forge).join("\n"), @r#"
    FailedSetUp: invariant_x: not run: setUp() failed: an assertion failed, table_x(uint256): not run: setUp() failed: an assertion failed, test_x(): not run: setUp() failed: an assertion failed, assertions of the targets: not run: setUp() failed: an assertion failed
    FailedConstructor: test_x(): not run: setUp() failed: an assertion failed in the constructor
    FailedConstructorAndSetUp: test_x(): not run: setUp() failed: an assertion failed in the constructor
    FailedExpectedCall: test_x(): not run: setUp() failed: reverted: 1 calls of 0xb4c79daB8f259C7Aee6E5b2Aa729821864227e84 were expected, but 0 made
    FailedExpectedRevert: test_x(): not run: setUp() failed: reverted: a revert was expected, but no call followed
    "#);
}

#[test]
fn assertions_of_handlers_are_those_of_forge() {
    let contracts = [
        "BreaksByStored",
        "Caught",
        "CaughtPanic",
        "CaughtThenReverts",
        "CountsToTwenty",
        "ExpectsRevert",
        "FailsWithMessage",
        "MissesCall",
        "MissesEmit",
        "MissesRevert",
        "ReportsBubbled",
        "ReportsInnerText",
        "ReportsPanic",
        "ReportsStored",
        "ReportsText",
        "Wraps",
    ];
    insta::assert_snapshot!(contracts.map(run_forge).join("\n"), @r#"
    BreaksByStored: invariant_x: failed, assertions of the targets: not broken in N calls
    Caught: invariant_x: not broken in N calls, assertions of the targets: not broken in N calls
    CaughtPanic: invariant_x: not broken in N calls, assertions of the targets: not broken in N calls
    CaughtThenReverts: invariant_x: only reverted in N calls [reverted: "other"], assertions of the targets: only reverted in N calls [reverted: "other"]
    CountsToTwenty: invariant_x: not broken in N calls, afterInvariant: failed, assertions of the targets: not broken in N calls
    ExpectsRevert: invariant_x: not broken in N calls, assertions of the targets: not broken in N calls
    FailsWithMessage: invariant_x: only reverted in N calls [reverted: "boom"], assertions of the targets: failed
    MissesCall: invariant_x: not broken in N calls, assertions of the targets: not broken in N calls
    MissesEmit: invariant_x: not broken in N calls, assertions of the targets: not broken in N calls
    MissesRevert: invariant_x: not broken in N calls, assertions of the targets: not broken in N calls
    ReportsBubbled: invariant_x: only reverted in N calls [reverted: "assertion failed: 1 != 2"], assertions of the targets: failed
    ReportsInnerText: invariant_x: only reverted in N calls [reverted: "x assertion failed y"], assertions of the targets: failed
    ReportsPanic: invariant_x: only reverted in N calls [panicked: an assertion failed (0x01)], assertions of the targets: failed
    ReportsStored: invariant_x: not broken in N calls, assertions of the targets: failed
    ReportsText: invariant_x: only reverted in N calls [reverted: "assertion failed"], assertions of the targets: failed
    Wraps: invariant_x: only reverted in N calls [reverted: W(bytes)], assertions of the targets: only reverted in N calls [reverted: W(bytes)]
    "#);
}

#[test]
fn table_tests_hold_only_with_all_rows() {
    let contracts =
        ["TableAssume", "TableBig", "TableFail", "TableNone", "TableState", "TableUneven"];
    insta::assert_snapshot!(contracts.map(run_forge).join("\n"), @r#"
    TableAssume: tableT(uint256): not run: 2 of the 3 rows of the table were run
    TableBig: tableT(uint256): not run: the fixture for the parameter `n` has more than N values, or is too large
    TableFail: tableT(uint256): failed
    TableNone: tableT(uint256): not run: no fixture for the parameter `a`
    TableState: tableT(uint256): not broken in 3 calls
    TableUneven: tableT(uint256,uint256): not run: the fixtures are empty or have different lengths
    "#);
}

/// A node that answers until it is blocked, and then only after it is released.
#[derive(Debug, Default)]
struct BlockingNode {
    block: RemoteBlock,
    is_blocked: Mutex<bool>,
    released: Condvar,
}

impl BlockingNode {
    fn set_blocked(&self, is_blocked: bool) {
        *self.is_blocked.lock().unwrap() = is_blocked;
        self.released.notify_all();
    }

    fn wait(&self) {
        let guard = self.is_blocked.lock().unwrap();
        drop(self.released.wait_while(guard, |is_blocked| *is_blocked).unwrap());
    }
}

impl RemoteState for BlockingNode {
    fn endpoint(&self) -> &str {
        "node#0"
    }

    fn chain_id(&self) -> u64 {
        1
    }

    fn block(&self) -> &RemoteBlock {
        &self.block
    }

    fn account(&self, _: Address) -> Result<RemoteAccount, RemoteError> {
        self.wait();
        Ok(RemoteAccount::default())
    }

    fn storage(&self, _: Address, _: U256) -> Result<U256, RemoteError> {
        self.wait();
        Ok(U256::ZERO)
    }

    fn block_hash(&self, _: u64) -> Result<B256, RemoteError> {
        self.wait();
        Ok(B256::ZERO)
    }

    fn at_block(&self, _: u64) -> Result<Arc<dyn RemoteState>, RemoteError> {
        Err(RemoteError::new("it has one block"))
    }

    fn save(&self) {}
}

#[test]
fn time_limit_ends_a_call_that_waits_for_a_node() {
    let node = Arc::new(BlockingNode::default());
    let mut settings = CampaignSettings {
        timeout: Some(Duration::from_millis(50)),
        ..settings(TestMode::Assertion)
    };
    settings.forks.base = Some(node.clone());
    // `supply` calls any address, which the node has to be asked about.
    let target = deploy("Lending", "Lending", &settings);
    node.set_blocked(true);
    let campaign = Campaign::start(options(target, settings, 2)).unwrap();
    let shared = campaign.shared().clone();
    // It would wait for ever if the limit did not apply.
    let summary = campaign.wait();
    node.set_blocked(false);
    assert_eq!(shared.end_reason(), Some(WorkerEndReason::TimeLimitReached));
    assert_eq!(summary.failures.len(), 0);
    let made: u64 = shared.statistics().iter().map(|it| it.calls).sum();
    assert!(summary.calls >= made, "{summary:?}");
}

/// Returns a sequence of this many calls of a handler's `inc()`.
fn increments(target: &FuzzTarget, count: usize) -> Vec<SequenceCall> {
    let function = target.find_function("inc()", None).unwrap();
    let call = SequenceCall {
        payload: CallPayload::Function { function, args: Vec::new() },
        from: target.settings.senders[0],
        to: target.function(function).address,
        value: U256::ZERO,
        gas_price: 0,
        delay: Default::default(),
    };
    vec![call; count]
}

#[test]
fn replay_runs_all_calls_and_then_after_invariant() {
    // A sequence that is longer than those of the campaign, and one that is shorter.
    for depth in [5, 50] {
        let settings = CampaignSettings {
            sequence_length: NonZeroUsize::new(depth).unwrap(),
            test_limit: 0,
            ..settings(TestMode::Foundry)
        };
        let target = deploy("Forge", "CountsToTwenty", &settings);
        let corpus = vec![increments(&target, 20)];
        let options = CampaignOptions { corpus, ..options(target, settings, 1) };
        let campaign = Campaign::start_replay(options).unwrap();
        let shared = campaign.shared().clone();
        let summary = campaign.wait();
        let failed = summary.failures.iter().map(|it| shared.target.tests[it.test].name.as_str());
        assert_eq!(failed.collect::<Vec<_>>(), ["afterInvariant"], "{depth}");
        assert_eq!(summary.calls, 20);
    }
}

#[test]
fn after_invariant_without_a_sequence_of_full_length_was_never_called() {
    let settings = CampaignSettings {
        sequence_length: NonZeroUsize::new(50).unwrap(),
        test_limit: 20,
        ..settings(TestMode::Foundry)
    };
    let (report, _) = run("Forge", "CountsToTwenty", settings);
    assert!(report.text().contains("afterInvariant: never called"), "{}", report.text());
}

#[test]
fn table_test_of_a_stopped_campaign_is_not_run() {
    let settings = settings(TestMode::Foundry);
    let target = deploy("Forge", "TableState", &settings);
    let campaign = Campaign::start_paused(options(target, settings, 1)).unwrap();
    let shared = campaign.shared().clone();
    shared.stop();
    let report = Report::new(&shared, &campaign.wait());
    insta::assert_snapshot!(report.text(), @"tableT(uint256): not run: 0 of the 3 rows of the table were run");
}

//! `campaign_status`: summarizes the state of the campaign.

use std::time::SystemTime;

use contract::{CallContext, ToolError, ToolOutput, to_output};
use fuzz::campaign::{BestValue, TestFailure, TestVerdict};
use fuzz::target::{FunctionId, TargetTest};
use fuzz::trace::describe_revert_reasons;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::prioritize::list_prioritized;
use super::{CampaignToolSpec, build_example};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

/// Maximum number of listed functions and tests; the most relevant come first.
const MAX_LISTED: usize = 200;

#[derive(Deserialize, JsonSchema)]
struct CampaignStatusInput {}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CampaignRunState {
    Running,
    Paused,
    Ended,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CampaignStatusOutput {
    /// State of the campaign; before it starts, every tool returns UPSTREAM_UNAVAILABLE
    state: CampaignRunState,
    /// Reason that it ended; missing while it runs
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Number of calls made by all workers
    calls: u64,
    /// Calls per second over the last ten seconds, or since the last request
    calls_per_second: u64,
    /// Number of calls after which the campaign ends
    call_limit: u64,
    /// Gas used by all calls
    gas: u64,
    workers: u64,
    /// Seed; with it, the number of workers and the command log the campaign can be replayed
    seed: u64,
    /// Number of transactions in the corpus, as counted by get_corpus_size
    corpus_size: u64,
    /// Seconds since coverage last grew; missing if it has not grown yet
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_since_new_coverage: Option<f64>,
    /// Tests: failed ones first, then those about which nothing is known
    tests: Vec<TestStatusOutput>,
    /// Functions that the fuzzer calls, most productive first
    functions: Vec<FunctionStatsOutput>,
    /// Functions in the prioritized set
    prioritized_functions: Vec<String>,
    /// Problem of the campaign, such as a corpus folder that cannot be written
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TestStatusOutput {
    /// Name of the test, accepted by get_reproducer
    name: String,
    contract: String,
    state: TestState,
    /// State in words, with the calls that it is based on or the reason that the test was not run
    verdict: String,
    /// Reasons for which all calls reverted, most frequent first, for the state only-reverted
    #[serde(skip_serializing_if = "Option::is_none")]
    reverts: Option<Vec<RevertOutput>>,
    /// Shortest known sequence of calls that makes it fail, or reaches its largest value
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<Vec<String>>,
    /// Largest value so far, for an optimization test
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum TestState {
    /// Failed, and the sequence is fully shrunk
    Failed,
    /// Failed, and the sequence is still being shrunk
    Shrinking,
    /// Nothing is known: no call that exercises the test succeeded
    OnlyReverted,
    /// Nothing is known: no call that exercises the test was made yet
    NeverCalled,
    /// Nothing is known: the test cannot be run, for example because of an unsupported cheat code
    NotRun,
    /// Optimization test, which searches for a large value
    Maximizing,
    /// Exercised, and not failed so far
    NotBroken,
}

#[derive(Serialize, JsonSchema)]
struct RevertOutput {
    reason: String,
    /// Number of calls that reverted for this reason
    calls: u64,
}

#[derive(Serialize, JsonSchema)]
struct FunctionStatsOutput {
    /// Canonical signature
    function: String,
    contract: String,
    /// Number of sequences that reached new coverage and ended with this function
    found: u64,
    calls: u64,
    /// Number of calls that reverted, without those that vm.assume rejected
    reverts: u64,
    /// Number of newly generated calls; the others were replayed or mutated
    generated: u64,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    CampaignToolSpec {
        title: "Campaign status",
        description: "Summarizes the campaign: which tests failed and by which calls, how fast it runs, when coverage \
                      last grew, and which functions are productive or only revert. Call this first and between steps. \
                      If coverage has not grown for a while, check show_source_coverage and steer with \
                      inject_transaction or prioritize_function.",
        examples: vec![build_example(
            "current state",
            json!({}),
            json!({
                "state": "running", "calls": 120_000, "callsPerSecond": 61_000, "callLimit": 1_000_000,
                "gas": 5_200_000_000_u64, "workers": 4, "seed": 7, "corpusSize": 31, "secondsSinceNewCoverage": 1.5,
                "tests": [{
                    "name": "echidna_fee_stays_within_its_limit", "contract": "Vault", "state": "not-broken",
                    "verdict": "not broken in 81000 calls, evaluated 9000 times",
                }],
                "functions": [{
                    "function": "deposit(uint256)", "contract": "Vault", "found": 3, "calls": 40_000, "reverts": 9_000,
                    "generated": 11_000,
                }],
                "prioritizedFunctions": [],
            }),
        )],
        ..CampaignToolSpec::new(
            "campaign_status",
            ToolSchemas::from_types::<CampaignStatusInput, CampaignStatusOutput>(),
            campaign_status,
        )
    }
}

pub(super) fn run_state(campaign: &CampaignView) -> CampaignRunState {
    match (campaign.shared.has_ended(), campaign.shared.is_paused()) {
        (true, _) => CampaignRunState::Ended,
        (false, true) => CampaignRunState::Paused,
        (false, false) => CampaignRunState::Running,
    }
}

fn campaign_status(
    campaign: &CampaignView,
    _: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let shared = &campaign.shared;
    let calls = shared.calls();
    let since =
        shared.last_coverage_time().and_then(|then| SystemTime::now().duration_since(then).ok());
    to_output(&CampaignStatusOutput {
        state: run_state(campaign),
        reason: campaign.end_reason(),
        calls,
        calls_per_second: campaign.call_rate.calls_per_second(calls),
        call_limit: shared.settings.test_limit,
        gas: shared.gas(),
        workers: shared.worker_count() as u64,
        seed: shared.settings.seed.unwrap_or(0),
        corpus_size: campaign.corpus.current_snapshot(shared).len() as u64,
        seconds_since_new_coverage: since.map(|time| (time.as_secs_f64() * 10.0).round() / 10.0),
        tests: list_tests(campaign),
        functions: list_functions(campaign),
        prioritized_functions: list_prioritized(campaign),
        trouble: shared.recorder_error().map(|text| text::truncate_text(&text)),
    })
}

fn list_tests(campaign: &CampaignView) -> Vec<TestStatusOutput> {
    let (failures, best) = (campaign.shared.failures(), campaign.shared.best());
    let verdicts = campaign.shared.verdicts();
    let all = campaign.target().tests.iter().enumerate();
    let mut tests: Vec<(TestState, TestStatusOutput)> = all
        .map(|(index, test)| {
            let failures = failures.iter().filter(|failure| failure.test == index);
            let shortest = failures.min_by_key(|it| (!it.is_shrunk, it.calls.len()));
            let best = best.iter().find(|best| best.test == index);
            build_test_status(campaign, test, &verdicts[index], shortest, best)
        })
        .map(|tested| (tested.state, tested))
        .collect();
    tests.sort_by_key(|(verdict, _)| *verdict);
    tests.into_iter().take(MAX_LISTED).map(|(_, tested)| tested).collect()
}

fn build_test_status(
    campaign: &CampaignView,
    test: &TargetTest,
    verdict: &TestVerdict,
    failure: Option<&TestFailure>,
    best: Option<&BestValue>,
) -> TestStatusOutput {
    let (state, reverts) = match verdict {
        TestVerdict::Failed { is_shrunk: true } => (TestState::Failed, None),
        TestVerdict::Failed { is_shrunk: false } => (TestState::Shrinking, None),
        TestVerdict::Reached { .. } => (TestState::Maximizing, None),
        TestVerdict::NotBroken(_) => (TestState::NotBroken, None),
        TestVerdict::NeverCalled => (TestState::NeverCalled, None),
        TestVerdict::NotRun(_) => (TestState::NotRun, None),
        TestVerdict::OnlyReverted { reasons, .. } => {
            let texts = describe_revert_reasons(campaign.target(), reasons).into_iter();
            let reverts = texts.zip(reasons).map(|(reason, it)| RevertOutput {
                reason: text::truncate_text(&reason),
                calls: it.count,
            });
            (TestState::OnlyReverted, Some(reverts.collect()))
        }
    };
    let calls = failure.map(|it| &it.calls).or(best.map(|it| &it.calls));
    TestStatusOutput {
        name: text::truncate_text(&test.name),
        contract: text::truncate_text(&test.contract),
        state,
        verdict: text::truncate_text(&verdict.to_string()),
        reverts,
        counterexample: calls.map(|calls| text::format_calls(calls, campaign.target())),
        best: best.map(|best| best.value.to_string()),
    }
}

fn list_functions(campaign: &CampaignView) -> Vec<FunctionStatsOutput> {
    let target = campaign.target();
    let statistics = campaign.shared.statistics();
    let mut called: Vec<(FunctionId, fuzz::campaign::FunctionStatistics)> = target
        .callable
        .iter()
        .map(|id| (*id, statistics.get(id.0 as usize).copied().unwrap_or_default()))
        .collect();
    called.sort_by_key(|(_, it)| (std::cmp::Reverse(it.news), std::cmp::Reverse(it.calls)));
    let listed = called.into_iter().take(MAX_LISTED).map(|(id, it)| {
        let function = target.function(id);
        FunctionStatsOutput {
            function: text::truncate_text(&function.signature),
            contract: text::truncate_text(&target.contracts[function.contract].name),
            found: it.news,
            calls: it.calls,
            reverts: it.reverts,
            generated: it.generated,
        }
    });
    listed.collect()
}

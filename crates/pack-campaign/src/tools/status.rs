//! `campaign_status`: how the campaign does, at one glance.

use std::time::SystemTime;

use contract::{CallContext, Output, ToolError, to_output};
use fuzz::campaign::{Best, Failure};
use fuzz::target::{FunctionId, Test, TestKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::prioritize::prioritized;
use super::{Spec, example};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

/// Functions and tests that are told, those of most interest first.
const MAX_TOLD: usize = 200;

#[derive(Deserialize, JsonSchema)]
struct Input {}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Running,
    Paused,
    Ended,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Status {
    /// What the campaign does now; before it begins, every tool answers UPSTREAM_UNAVAILABLE
    state: State,
    /// Why it ended, once it has
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Calls that all workers have made
    calls: u64,
    /// Calls a second, over the last ten seconds or since the last look
    calls_per_second: u64,
    /// Calls after which it ends
    call_limit: u64,
    /// Gas that all calls used
    gas: u64,
    workers: u64,
    /// With it, the number of workers and the log of commands the campaign can be repeated
    seed: u64,
    /// Transactions of the corpus, as get_corpus_size counts them
    corpus_size: u64,
    /// Seconds since something new was covered; missing if nothing was so far
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_since_new_coverage: Option<f64>,
    /// What must hold, failed tests first
    tests: Vec<Tested>,
    /// Functions that the fuzzer calls, those first that found most
    functions: Vec<Called>,
    /// Functions that are called most of the time, as prioritize_function has set them
    prioritized_functions: Vec<String>,
    /// What could not be kept in the corpus folder
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Tested {
    /// The test, which get_reproducer takes
    name: String,
    contract: String,
    state: Verdict,
    /// The shortest sequence of calls so far that makes it fail, or reaches its largest number
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<Vec<String>>,
    /// The largest number so far, of a test that looks for one
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// It failed, and the sequence cannot be made shorter
    Failed,
    /// It failed, and its sequence is being made shorter
    Shrinking,
    /// It looks for a large number
    Maximizing,
    /// It has not failed so far
    Holds,
}

#[derive(Serialize, JsonSchema)]
struct Called {
    /// Canonical signature
    function: String,
    contract: String,
    /// Sequences that showed something new and ended with this function
    found: u64,
    calls: u64,
    reverts: u64,
}

pub(super) fn spec() -> Spec {
    Spec {
        title: "How the campaign does",
        description: "State of the campaign at one glance: which tests failed and by which calls, how fast it is, how \
                      long ago it found something new, and which functions found it or only revert. Ask this first and \
                      between steps. If nothing new was found for a while, look at show_source_coverage and steer with \
                      inject_transaction or prioritize_function.",
        examples: vec![example(
            "at one glance",
            json!({}),
            json!({
                "state": "running", "calls": 120_000, "callsPerSecond": 61_000, "callLimit": 1_000_000,
                "gas": 5_200_000_000_u64, "workers": 4, "seed": 7, "corpusSize": 31, "secondsSinceNewCoverage": 1.5,
                "tests": [{
                    "name": "echidna_fee_stays_within_its_limit", "contract": "Vault", "state": "holds",
                }],
                "functions": [{
                    "function": "deposit(uint256)", "contract": "Vault", "found": 3, "calls": 40_000, "reverts": 9_000,
                }],
                "prioritizedFunctions": [],
            }),
        )],
        ..Spec::new("campaign_status", Schemas::of::<Input, Status>(), run)
    }
}

pub(super) fn state(running: &Running) -> State {
    match (running.shared.has_ended(), running.shared.is_paused()) {
        (true, _) => State::Ended,
        (false, true) => State::Paused,
        (false, false) => State::Running,
    }
}

fn run(running: &Running, _: Value, _: &CallContext) -> Result<Output, ToolError> {
    let shared = &running.shared;
    let calls = shared.calls();
    let since = shared.last_news().and_then(|then| SystemTime::now().duration_since(then).ok());
    to_output(&Status {
        state: state(running),
        reason: running.ended(),
        calls,
        calls_per_second: running.pace.per_second(calls),
        call_limit: shared.settings.test_limit,
        gas: shared.gas(),
        workers: shared.workers() as u64,
        seed: shared.settings.seed.unwrap_or(0),
        corpus_size: running.corpus.now(shared).len() as u64,
        seconds_since_new_coverage: since.map(|time| (time.as_secs_f64() * 10.0).round() / 10.0),
        tests: tests(running),
        functions: functions(running),
        prioritized_functions: prioritized(running),
        trouble: shared.trouble().or_else(|| shared.unsupported()).map(|text| text::bounded(&text)),
    })
}

fn tests(running: &Running) -> Vec<Tested> {
    let (failures, best) = (running.shared.failures(), running.shared.best());
    let all = running.target().tests.iter().enumerate();
    let mut tests: Vec<(Verdict, Tested)> = all
        .map(|(index, test)| {
            let failures = failures.iter().filter(|failure| failure.test == index);
            let shortest = failures.min_by_key(|it| (!it.is_shrunk, it.calls.len()));
            tested(running, test, shortest, best.iter().find(|best| best.test == index))
        })
        .map(|tested| (tested.state, tested))
        .collect();
    tests.sort_by_key(|(verdict, _)| *verdict);
    tests.into_iter().take(MAX_TOLD).map(|(_, tested)| tested).collect()
}

fn tested(
    running: &Running,
    test: &Test,
    failure: Option<&Failure>,
    best: Option<&Best>,
) -> Tested {
    let state = match (failure, &test.kind) {
        (Some(failure), _) if failure.is_shrunk => Verdict::Failed,
        (Some(_), _) => Verdict::Shrinking,
        (None, TestKind::Maximum { .. }) => Verdict::Maximizing,
        (None, _) => Verdict::Holds,
    };
    let calls = failure.map(|it| &it.calls).or(best.map(|it| &it.calls));
    Tested {
        name: text::bounded(&test.name),
        contract: text::bounded(&test.contract),
        state,
        counterexample: calls.map(|calls| text::calls(calls, running.target())),
        best: best.map(|best| best.value.to_string()),
    }
}

fn functions(running: &Running) -> Vec<Called> {
    let target = running.target();
    let statistics = running.shared.statistics();
    let mut called: Vec<(FunctionId, fuzz::campaign::Statistics)> = target
        .callable
        .iter()
        .map(|id| (*id, statistics.get(id.0 as usize).copied().unwrap_or_default()))
        .collect();
    called.sort_by_key(|(_, it)| (std::cmp::Reverse(it.news), std::cmp::Reverse(it.calls)));
    let told = called.into_iter().take(MAX_TOLD).map(|(id, it)| {
        let function = target.function(id);
        Called {
            function: text::bounded(&function.signature),
            contract: text::bounded(&target.contracts[function.contract].name),
            found: it.news,
            calls: it.calls,
            reverts: it.reverts,
        }
    });
    told.collect()
}

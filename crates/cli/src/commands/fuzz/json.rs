//! Results as JSON: the object that Echidna prints, with additional keys.

use std::collections::BTreeMap;

use ::fuzz::campaign::{TestExercise, TestVerdict};
use ::fuzz::chain::ForkSummary;
use serde_json::{Value, json};

use super::results::{CallStep, CampaignResults, FunctionUsage, TestResult};

pub(super) fn results_to_json(results: &CampaignResults) -> Value {
    let error = describe_error(results);
    let forks = results.forks.iter().map(fork_to_json);
    let mut object = json!({
        "success": !results.has_failed() && error.is_none(),
        "error": error,
        "tests": results.tests.iter().map(test_to_json).collect::<Vec<_>>(),
        "seed": results.seed,
        "coverage": coverage_to_json(results),
        "gas_info": results.functions.iter().map(function_to_json).collect::<Vec<_>>(),
        "contract": results.contract,
        "workers": results.workers,
        "calls": results.calls,
        "gas": results.gas,
        "seconds": results.elapsed.as_secs_f64(),
        "callsPerSecond": results.calls_per_second(),
        "branches": results.branches,
        "corpusSize": results.corpus_transactions,
        "corpusSequences": results.corpus,
        "endReason": results.end_reason.map(|reason| reason.to_string()),
        "ended": results.ended.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    if !results.forks.is_empty() {
        object["forks"] = forks.collect();
    }
    object
}

/// Returns a fork without its URL, which may contain an API key.
fn fork_to_json(fork: &ForkSummary) -> Value {
    json!({
        "host": fork.host(),
        "chainId": fork.chain_id,
        "block": fork.block.number,
        "blockHash": fork.block.hash,
    })
}

fn describe_error(results: &CampaignResults) -> Option<String> {
    let crashed = "a worker crashed, which is a bug in the fuzzer";
    let crashed = results.has_crashed().then(|| crashed.to_owned());
    let nothing = results.has_exercised_nothing().then(|| "no test was exercised".to_owned());
    let fork = results.fork_failure.as_ref().map(ToString::to_string);
    crashed.or_else(|| results.trouble.clone()).or(fork).or(nothing)
}

fn test_to_json(test: &TestResult) -> Value {
    let has_calls =
        matches!(test.verdict, TestVerdict::Failed { .. } | TestVerdict::Reached { .. });
    let mut object = json!({
        "contract": test.contract,
        "name": test.name,
        "verdict": test.verdict.name(),
        "status": echidna_status(&test.verdict),
        "error": (!test.verdict.is_exercised()).then(|| test.verdict.to_string()),
        "reason": test.location,
        "events": [],
        "type": test.kind,
        "transactions": has_calls.then(|| test.calls.iter().map(call_to_json).collect::<Vec<_>>()),
    });
    match &test.verdict {
        TestVerdict::NotBroken(exercise) => add_exercise(&mut object, exercise),
        TestVerdict::Reached { value, exercise } => {
            object["value"] = json!(value.to_string());
            add_exercise(&mut object, exercise);
        }
        TestVerdict::OnlyReverted { calls, .. } => {
            let reverts = test.reverts.iter();
            let reverts = reverts.map(|(text, count)| json!({"reason": text, "calls": count}));
            object["calls"] = json!(calls);
            object["reverts"] = reverts.collect();
        }
        TestVerdict::NotRun(reason) => object["notRun"] = json!(reason.to_string()),
        TestVerdict::Failed { .. } | TestVerdict::NeverCalled => {}
    }
    object
}

/// Returns Echidna's word for the state of a test. Its `passed` is not used: it does not tell whether the test was exercised.
fn echidna_status(verdict: &TestVerdict) -> &'static str {
    match verdict {
        TestVerdict::Failed { is_shrunk: true } | TestVerdict::Reached { .. } => "solved",
        TestVerdict::Failed { is_shrunk: false } => "shrinking",
        TestVerdict::NotBroken(_) | TestVerdict::NeverCalled => "fuzzing",
        TestVerdict::OnlyReverted { .. } | TestVerdict::NotRun(_) => "error",
    }
}

fn add_exercise(object: &mut Value, exercise: &TestExercise) {
    object["calls"] = json!(exercise.calls);
    object["rejected"] = json!(exercise.rejected);
    if let Some(evaluations) = exercise.evaluations {
        object["evaluations"] = json!(evaluations);
    }
}

fn call_to_json(step: &CallStep) -> Value {
    let CallStep { call, .. } = step;
    json!({
        "contract": step.contract,
        "function": step.function,
        "arguments": step.arguments,
        "gas": step.gas,
        "gasprice": call.gas_price.to_string(),
        "src": call.from,
        "dst": call.to,
        "value": call.value.to_string(),
        "delay": [call.delay.seconds, call.delay.blocks],
        "text": step.line,
    })
}

/// Returns the coverage of each smart contract that ran, by `path:Name`.
fn coverage_to_json(results: &CampaignResults) -> Value {
    let contracts = results.report.contracts.iter();
    let contracts: BTreeMap<String, Value> = contracts
        .map(|it| {
            let name = format!("{}:{}", it.source, it.name);
            (name, json!({"lines": it.lines, "branches": it.branches}))
        })
        .collect();
    json!(contracts)
}

fn function_to_json(used: &FunctionUsage) -> Value {
    let it = used.statistics;
    json!({
        "function": used.name,
        "calls": it.calls,
        "reverts": it.reverts,
        "rejected": it.rejected,
        "gas": it.gas,
        "maxGas": it.max_gas,
    })
}

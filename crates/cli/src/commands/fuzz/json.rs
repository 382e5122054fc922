//! Results as JSON: the object that Echidna prints, with additional keys.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::results::{CallStep, CampaignResults, FinalVerdict, FunctionUsage, TestResult};

pub(super) fn results_to_json(results: &CampaignResults) -> Value {
    let error = describe_error(results);
    json!({
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
        "corpusSize": results.corpus,
        "ended": results.ended.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn describe_error(results: &CampaignResults) -> Option<String> {
    let crashed = "a worker crashed, which is a bug in the fuzzer";
    let crashed = results.has_crashed().then(|| crashed.to_owned());
    crashed.or_else(|| results.unsupported.clone()).or_else(|| results.trouble.clone())
}

fn test_to_json(test: &TestResult) -> Value {
    let (status, value) = match test.verdict {
        FinalVerdict::Passed => ("passed", None),
        FinalVerdict::Inconclusive => ("fuzzing", None),
        FinalVerdict::Failed { is_shrunk: true } => ("solved", None),
        FinalVerdict::Failed { is_shrunk: false } => ("shrinking", None),
        FinalVerdict::Reached(value) => ("solved", value),
    };
    let has_calls = !matches!(test.verdict, FinalVerdict::Passed | FinalVerdict::Inconclusive);
    let mut object = json!({
        "contract": test.contract,
        "name": test.name,
        "status": status,
        "error": null,
        "reason": test.location,
        "events": [],
        "type": test.kind,
        "transactions": has_calls.then(|| test.calls.iter().map(call_to_json).collect::<Vec<_>>()),
    });
    if let Some(value) = value {
        object["value"] = json!(value.to_string());
    }
    object
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
        "gas": it.gas,
        "maxGas": it.max_gas,
    })
}

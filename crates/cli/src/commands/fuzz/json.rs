//! The results for programs: the object that Echidna prints, with more in it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::results::{Results, Step, Tested, Used, Verdict};

pub(super) fn of(results: &Results) -> Value {
    let error = error(results);
    json!({
        "success": !results.has_failed() && error.is_none(),
        "error": error,
        "tests": results.tests.iter().map(test).collect::<Vec<_>>(),
        "seed": results.seed,
        "coverage": coverage(results),
        "gas_info": results.functions.iter().map(function).collect::<Vec<_>>(),
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

fn error(results: &Results) -> Option<String> {
    let crashed = "a worker crashed, which is a defect of the fuzzer";
    let crashed = results.has_crashed().then(|| crashed.to_owned());
    crashed.or_else(|| results.unsupported.clone()).or_else(|| results.trouble.clone())
}

fn test(test: &Tested) -> Value {
    let (status, value) = match test.verdict {
        Verdict::Passed => ("passed", None),
        Verdict::Open => ("fuzzing", None),
        Verdict::Failed { is_shrunk: true } => ("solved", None),
        Verdict::Failed { is_shrunk: false } => ("shrinking", None),
        Verdict::Reached(value) => ("solved", value),
    };
    let has_calls = !matches!(test.verdict, Verdict::Passed | Verdict::Open);
    let mut object = json!({
        "contract": test.contract,
        "name": test.name,
        "status": status,
        "error": null,
        "reason": test.place,
        "events": [],
        "type": test.kind,
        "transactions": has_calls.then(|| test.calls.iter().map(step).collect::<Vec<_>>()),
    });
    if let Some(value) = value {
        object["value"] = json!(value.to_string());
    }
    object
}

fn step(step: &Step) -> Value {
    let Step { call, .. } = step;
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

/// By contract, of those that ran.
fn coverage(results: &Results) -> Value {
    let contracts = results.report.contracts.iter();
    let contracts: BTreeMap<String, Value> = contracts
        .map(|it| {
            let name = format!("{}:{}", it.source, it.name);
            (name, json!({"lines": it.lines, "branches": it.branches}))
        })
        .collect();
    json!(contracts)
}

fn function(used: &Used) -> Value {
    let it = used.statistics;
    json!({
        "function": used.name,
        "calls": it.calls,
        "reverts": it.reverts,
        "gas": it.gas,
        "maxGas": it.max_gas,
    })
}

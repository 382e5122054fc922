//! `sample_function`: what a function does in the fuzzer's next calls of it.

use std::time::Duration;

use contract::{CallContext, Output, ToolError, parse, to_output};
use fuzz::abi;
use fuzz::campaign::{self, Sampled};
use fuzz::target::FunctionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LONG_TIME, Spec, example, invalid, reads, signature};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

/// How long calls are waited for; what is left of the time limit is for the answer.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How often somebody who waits looks whether anybody still wants to know.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// Canonical signature of a function that the fuzzer calls, such as balanceOf(address)
    function_signature: String,
    /// How many of its next calls are looked at
    #[serde(default = "calls")]
    #[schemars(range(min = 1, max = 1_000_000))]
    calls: u64,
}

fn calls() -> u64 {
    1000
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Answer {
    /// Canonical signature
    function: String,
    contract: String,
    /// Calls that were seen; fewer than were asked for if time ran out
    calls: u64,
    reverts: u64,
    /// Part of the calls that reverted, in percent; missing if there was no call
    #[serde(skip_serializing_if = "Option::is_none")]
    revert_share: Option<f64>,
    /// The least gas of a call
    #[serde(skip_serializing_if = "Option::is_none")]
    min_gas: Option<u64>,
    /// The most gas of a call
    #[serde(skip_serializing_if = "Option::is_none")]
    max_gas: Option<u64>,
    /// For each value that it returns
    returns: Vec<Returned>,
    /// Whether all calls that were asked for were seen
    complete: bool,
}

#[derive(Serialize, JsonSchema)]
struct Returned {
    #[serde(rename = "type")]
    kind: String,
    /// The least that was returned; missing if nothing was, or it has no order
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<String>,
    /// The largest that was returned
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<String>,
}

pub(super) fn spec() -> Spec {
    let mut constraints = reads();
    constraints.timeout = LONG_TIME;
    constraints.rules = vec![
        "Waits for at most 1.5 seconds; what was seen until then is told, and `complete` says whether it is all.".into(),
        "Where several contracts have the function, the first one is looked at.".into(),
    ];
    Spec {
        title: "Sample a function",
        description: "Watches the fuzzer's next calls of a function, and tells how many reverted and between which \
                      numbers its return values lie. Use it to find out whether a function is only ever refused, or to \
                      see the range of a number without a property for it.",
        constraints,
        examples: vec![example(
            "a thousand calls",
            json!({"functionSignature": "deposit(uint256)", "calls": 1000}),
            json!({
                "function": "deposit(uint256)", "contract": "Vault", "calls": 1000, "reverts": 612, "revertShare": 61.2,
                "minGas": 400, "maxGas": 45000, "returns": [], "complete": true,
            }),
        )],
        check: |running, arguments| {
            let Input { function_signature, .. } = parse(arguments.clone())?;
            signature::callable(&function_signature, running.target()).map(drop)
        },
        ..Spec::new("sample_function", Schemas::of::<Input, Answer>(), run)
    }
}

fn run(running: &Running, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
    let Input { function_signature, calls } = parse(arguments)?;
    let function = signature::callable(&function_signature, running.target())?[0];
    if let Some(reason) = running.ended() {
        let message =
            format!("the campaign has ended ({reason}), so there are no calls to look at");
        return Err(invalid("functionSignature", message).with("state", "ended"));
    }
    let sample = running.shared.sample(function, calls);
    let looks = PATIENCE.as_millis() / LOOK.as_millis();
    let mut seen = sample.wait(Duration::ZERO);
    for _ in 0..looks {
        ctx.check_cancelled()?;
        if seen.calls >= calls || running.shared.has_ended() {
            break;
        }
        seen = sample.wait(LOOK);
    }
    to_output(&told(running, function, calls, &seen))
}

fn told(running: &Running, id: FunctionId, wanted: u64, seen: &Sampled) -> Answer {
    let target = running.target();
    let function = target.function(id);
    #[expect(clippy::cast_precision_loss, reason = "a share to one decimal")]
    let share = |part: u64| (part as f64 * 1000.0 / seen.calls as f64).round() / 10.0;
    Answer {
        function: text::bounded(&function.signature),
        contract: text::bounded(&target.contracts[function.contract].name),
        calls: seen.calls,
        reverts: seen.reverts,
        revert_share: (seen.calls > 0).then(|| share(seen.reverts)),
        min_gas: seen.gas.map(|(least, _)| least),
        max_gas: seen.gas.map(|(_, most)| most),
        returns: seen.outputs.iter().map(returned).collect(),
        complete: seen.calls >= wanted,
    }
}

fn returned(output: &campaign::Output) -> Returned {
    let value = |value| abi::text::value(&output.ty, value);
    let (min, max) = match &output.range {
        Some((min, max)) => (Some(value(min)), Some(value(max))),
        None => (None, None),
    };
    Returned { kind: text::bounded(&output.ty.to_string()), min, max }
}

//! `execute_sequence`: what a sequence would do, without the campaign noticing.

use std::time::{Duration, Instant};

use alloy_primitives::U256;
use contract::{CallContext, Output, ToolError, parse, to_output};
use fuzz::call::{Call, Delay, What};
use fuzz::script::{Pattern, Step};
use fuzz::target::{Target, TestKind};
use fuzz::trace::{Done, Tracer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sequence::{self, Sequence};
use super::{LONG_TIME, Spec, example, invalid, reads};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

/// For all calls together: what is left of the time limit is for the answer.
const BUDGET: Duration = Duration::from_millis(1500);
/// For one call, whatever gas it has.
const CALL_TIME: Duration = Duration::from_millis(500);
/// Tests that are asked afterwards.
const MAX_TESTS: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[expect(
    dead_code,
    reason = "only its schema is used; the arguments are those of `sequence::Input`"
)]
struct Input {
    /// Calls in order, such as "transfer(0x1234567890abcdef1234567890abcdef12345678, 1 ether)"; values only, no `?`
    #[schemars(length(min = 1, max = 100))]
    sequence: Vec<String>,
    /// Who makes the calls
    #[serde(default = "sender")]
    #[schemars(regex(pattern = "^0x[0-9a-fA-F]{40}$"))]
    sender: String,
    /// Wei that go with payable calls, as decimal digits
    #[serde(default = "value")]
    #[schemars(regex(pattern = "^[0-9]+$"))]
    value: String,
}

fn sender() -> String {
    "0x0000000000000000000000000000000000010000".to_owned()
}

fn value() -> String {
    "0".to_owned()
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Answer {
    /// What each call did, in order
    calls: Vec<Executed>,
    /// What the tests that are calls of their own say afterwards
    tests: Vec<Tested>,
    /// True if time ran out before the last call
    cut_short: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Executed {
    call: String,
    success: bool,
    gas_used: u64,
    /// The calls within it as an indented tree, then events, then what came back or why it failed
    trace: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Tested {
    name: String,
    /// Whether it holds after the sequence
    holds: bool,
}

pub(super) fn spec() -> Spec {
    let mut constraints = reads();
    constraints.timeout = LONG_TIME;
    constraints.max_input_bytes = 8 << 20;
    constraints.rules = vec![
        "Runs on a copy of the state after deployment; the campaign and its corpus do not change.".into(),
        "Values only: `?` is refused.".into(),
        "All calls together have 1.5 seconds; what was not reached is left out, and `cutShort` says so.".into(),
    ];
    Spec {
        title: "Execute a sequence",
        description: "Runs one concrete sequence of calls on a copy of the state after deployment, and tells what each \
                      call did: the calls within it with decoded arguments, events, what it returned or why it \
                      reverted, and which properties hold afterwards. Use it to find out why a call reverts before you \
                      inject a sequence.",
        constraints,
        examples: vec![example(
            "why does it revert?",
            json!({"sequence": ["withdraw(1)"]}),
            json!({
                "calls": [{
                    "call": "withdraw(1)", "success": false, "gasUsed": 2600, "trace": ["reverted: balance, 2600 gas"],
                }],
                "tests": [{"name": "echidna_fee_stays_within_its_limit", "holds": true}],
                "cutShort": false,
            }),
        )],
        check: |running, arguments| read(running, arguments.clone()).map(drop),
        ..Spec::new("execute_sequence", Schemas::of::<Input, Answer>(), run)
    }
}

fn read(running: &Running, arguments: Value) -> Result<Vec<Call>, ToolError> {
    let sequence = parse::<sequence::Input>(arguments)?.read(running.target())?;
    let call = |(index, step)| concrete(index, step, &sequence, running.target());
    sequence.steps.iter().enumerate().map(call).collect()
}

fn concrete(
    index: usize,
    step: &Step,
    sequence: &Sequence,
    target: &Target,
) -> Result<Call, ToolError> {
    let value = |pattern: &Pattern| match pattern {
        Pattern::Value(value) => Some(value.clone()),
        Pattern::Any | Pattern::Array(_) | Pattern::Tuple(_) => None,
    };
    let args: Option<Vec<_>> = step.args.iter().map(value).collect();
    let args = args.ok_or_else(|| {
        let message = format!(
            "call {}: `?` leaves a value to the fuzzer, and here is none; write the value, or use inject_transaction",
            index + 1
        );
        invalid(&format!("sequence.{index}"), message).with("call", index + 1)
    })?;
    let function = target.function(step.function);
    Ok(Call {
        what: What::Function { function: step.function, args },
        from: sequence.sender,
        to: function.address,
        value: if function.is_payable { sequence.value } else { U256::ZERO },
        gas_price: 0,
        delay: Delay::default(),
    })
}

fn run(running: &Running, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
    let begun = Instant::now();
    let calls = read(running, arguments)?;
    let target = running.target();
    let mut tracer = Tracer::new(target, &running.shared.settings, CALL_TIME);
    let mut executed = Vec::new();
    for call in &calls {
        ctx.check_cancelled()?;
        if begun.elapsed() > BUDGET {
            break;
        }
        executed.extend(tracer.call(call).done.map(|done| told(call, &done, target)));
    }
    let cut_short = executed.len() < calls.len();
    let mut tests = Vec::new();
    for (index, test) in target.tests.iter().enumerate().take(MAX_TESTS) {
        if cut_short || begun.elapsed() > BUDGET {
            break;
        }
        ctx.check_cancelled()?;
        let holds = tracer.ask(index).map(|done| holds(&test.kind, &done));
        tests.extend(holds.map(|holds| Tested { name: text::bounded(&test.name), holds }));
    }
    to_output(&Answer { calls: executed, tests, cut_short })
}

fn told(call: &Call, done: &Done, target: &Target) -> Executed {
    Executed {
        call: text::call(call, target),
        success: done.is_success(),
        gas_used: done.outcome.gas_used,
        trace: done.lines().iter().map(|line| text::bounded(&line.to_string())).collect(),
    }
}

/// Whether a test that is a call of its own holds, by what it did.
fn holds(kind: &TestKind, done: &Done) -> bool {
    let outcome = &done.outcome;
    let succeeds = outcome.is_success() && !outcome.breaks_assertion();
    match kind {
        TestKind::Property { .. } => {
            let word = outcome.output.get(..32).map(U256::from_be_slice);
            succeeds && word == Some(U256::ONE)
        }
        TestKind::MustRevert { .. } => outcome.is_revert(),
        _ => succeeds,
    }
}

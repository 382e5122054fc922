//! `execute_sequence`: shows what a sequence would do, without affecting the campaign.

use std::time::{Duration, Instant};

use alloy_primitives::U256;
use contract::{CallContext, ToolError, ToolOutput, parse_arguments, to_output};
use fuzz::call::{CallDelay, CallPayload, SequenceCall};
use fuzz::script::{ArgumentPattern, ScriptStep};
use fuzz::target::{FuzzTarget, TargetTest, TestKind};
use fuzz::trace::{CallExecution, Tracer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sequence::{self, CallSequence};
use super::{
    CampaignToolSpec, LONG_CALL_TIMEOUT, build_example, invalid_argument, read_constraints,
};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

/// Time for all calls together; the rest of the time limit is for building the output.
const SEQUENCE_TIME: Duration = Duration::from_millis(1500);
/// Time limit of one call, regardless of its gas.
const CALL_TIME: Duration = Duration::from_millis(500);
/// Maximum number of tests evaluated after the sequence.
const MAX_TESTS: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[expect(
    dead_code,
    reason = "only its schema is used; the arguments are parsed as `SequenceInput`"
)]
struct ExecuteSequenceInput {
    /// Calls in order, such as "transfer(0x1234567890abcdef1234567890abcdef12345678, 1 ether)"; concrete values
    /// only, no `?`
    #[schemars(length(min = 1, max = 100))]
    sequence: Vec<String>,
    /// Sender of the calls
    #[serde(default = "default_sender")]
    #[schemars(regex(pattern = "^0x[0-9a-fA-F]{40}$"))]
    sender: String,
    /// Wei sent with each payable call, as decimal digits
    #[serde(default = "default_value")]
    #[schemars(regex(pattern = "^[0-9]+$"))]
    value: String,
}

fn default_sender() -> String {
    "0x0000000000000000000000000000000000010000".to_owned()
}

fn default_value() -> String {
    "0".to_owned()
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExecuteSequenceOutput {
    /// Result of each call, in order
    calls: Vec<ExecutedCallOutput>,
    /// Results of the tests that can be evaluated after the sequence
    tests: Vec<TestResultOutput>,
    /// True if the time ran out before the last call
    cut_short: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExecutedCallOutput {
    call: String,
    success: bool,
    gas_used: u64,
    /// Nested calls as an indented tree, then events, then the return value or the reason of the failure
    trace: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TestResultOutput {
    name: String,
    /// True if the test holds after the sequence; missing if it could not be run
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    /// Reason that the test could not be run, such as an unsupported cheat code
    #[serde(skip_serializing_if = "Option::is_none")]
    not_run: Option<String>,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.timeout = LONG_CALL_TIMEOUT;
    constraints.max_input_bytes = 8 << 20;
    constraints.rules = vec![
        "Runs on a copy of the state after deployment; the campaign and its corpus are unaffected.".into(),
        "Arguments must be concrete values: `?` is refused.".into(),
        "All calls together have 1.5 seconds; calls not reached in time are omitted and `cutShort` is true.".into(),
    ];
    CampaignToolSpec {
        title: "Execute a sequence",
        description: "Runs one concrete sequence of calls on a copy of the state after deployment. Returns for each \
                      call the nested calls with decoded arguments, the events, and the return value or revert reason, \
                      and which properties hold afterwards. Use it to find out why a call reverts before you inject a \
                      sequence.",
        constraints,
        examples: vec![build_example(
            "find out why a call reverts",
            json!({"sequence": ["withdraw(1)"]}),
            json!({
                "calls": [{
                    "call": "withdraw(1)", "success": false, "gasUsed": 2600, "trace": ["reverted: balance, 2600 gas"],
                }],
                "tests": [{"name": "echidna_fee_stays_within_its_limit", "holds": true}],
                "cutShort": false,
            }),
        )],
        check: |campaign, arguments| parse_calls(campaign, arguments.clone()).map(drop),
        ..CampaignToolSpec::new(
            "execute_sequence",
            ToolSchemas::from_types::<ExecuteSequenceInput, ExecuteSequenceOutput>(),
            execute_sequence,
        )
    }
}

fn parse_calls(campaign: &CampaignView, arguments: Value) -> Result<Vec<SequenceCall>, ToolError> {
    let sequence =
        parse_arguments::<sequence::SequenceInput>(arguments)?.parse_sequence(campaign.target())?;
    let call = |(index, step)| build_call(index, step, &sequence, campaign.target());
    sequence.steps.iter().enumerate().map(call).collect()
}

fn build_call(
    index: usize,
    step: &ScriptStep,
    sequence: &CallSequence,
    target: &FuzzTarget,
) -> Result<SequenceCall, ToolError> {
    let value = |pattern: &ArgumentPattern| match pattern {
        ArgumentPattern::Value(value) => Some(value.clone()),
        ArgumentPattern::Any | ArgumentPattern::Array(_) | ArgumentPattern::Tuple(_) => None,
    };
    let args: Option<Vec<_>> = step.args.iter().map(value).collect();
    let args = args.ok_or_else(|| {
        let message = format!(
            "call {}: `?` is not supported here; write a concrete value, or use inject_transaction",
            index + 1
        );
        invalid_argument(&format!("sequence.{index}"), message).with_detail("call", index + 1)
    })?;
    let function = target.function(step.function);
    Ok(SequenceCall {
        payload: CallPayload::Function { function: step.function, args },
        from: sequence.sender,
        to: function.address,
        value: if function.is_payable { sequence.value } else { U256::ZERO },
        gas_price: 0,
        delay: CallDelay::default(),
    })
}

fn execute_sequence(
    campaign: &CampaignView,
    arguments: Value,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let begun = Instant::now();
    let calls = parse_calls(campaign, arguments)?;
    let target = campaign.target();
    let mut tracer = Tracer::new(target, &campaign.shared.settings, CALL_TIME);
    let mut executed = Vec::new();
    for call in &calls {
        ctx.check_cancelled()?;
        if begun.elapsed() > SEQUENCE_TIME {
            break;
        }
        executed
            .extend(tracer.trace_call(call).done.map(|done| to_call_output(call, &done, target)));
    }
    let mut cut_short = executed.len() < calls.len();
    let mut tests = Vec::new();
    for (index, test) in target.tests.iter().enumerate().take(MAX_TESTS) {
        cut_short = cut_short || begun.elapsed() > SEQUENCE_TIME;
        if cut_short {
            break;
        }
        ctx.check_cancelled()?;
        // It says nothing after a sequence that is not of full length.
        if matches!(test.kind, TestKind::AfterInvariant { .. }) {
            continue;
        }
        let done = tracer.check_test(index);
        tests.extend(done.map(|done| to_test_output(test, &done)));
    }
    to_output(&ExecuteSequenceOutput { calls: executed, tests, cut_short })
}

fn to_call_output(
    call: &SequenceCall,
    done: &CallExecution,
    target: &FuzzTarget,
) -> ExecutedCallOutput {
    ExecutedCallOutput {
        call: text::format_call(call, target),
        success: done.is_success(),
        gas_used: done.outcome.gas_used,
        trace: done.lines().iter().map(|line| text::truncate_text(&line.to_string())).collect(),
    }
}

fn to_test_output(test: &TargetTest, done: &CallExecution) -> TestResultOutput {
    let not_run = done.outcome.not_run_reason().map(ToString::to_string);
    TestResultOutput {
        name: text::truncate_text(&test.name),
        // `vm.assume` may have rejected the state.
        holds: (!done.outcome.is_discarded()).then(|| test_holds(&test.kind, done)),
        not_run: not_run.map(|reason| text::truncate_text(&reason)),
    }
}

/// Returns whether a test holds, judged by the outcome of its call.
fn test_holds(kind: &TestKind, done: &CallExecution) -> bool {
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

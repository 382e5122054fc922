//! `sample_function`: observes the fuzzer's next calls of a function.

use std::time::Duration;

use contract::{CallContext, ToolError, ToolOutput, parse_arguments, to_output};
use fuzz::abi;
use fuzz::campaign::{self, SampleSummary};
use fuzz::target::FunctionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CampaignToolSpec, LONG_CALL_TIMEOUT, build_example, invalid_argument, read_constraints,
    signature,
};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

/// Maximum wait for calls; the rest of the time limit is for building the output.
const MAX_WAIT: Duration = Duration::from_millis(1500);
/// Interval at which a waiting call checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SampleFunctionInput {
    /// Canonical signature of a function that the fuzzer calls, such as balanceOf(address)
    function_signature: String,
    /// Number of next calls to observe
    #[serde(default = "default_calls")]
    #[schemars(range(min = 1, max = 1_000_000))]
    calls: u64,
}

fn default_calls() -> u64 {
    1000
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SampleFunctionOutput {
    /// Canonical signature
    function: String,
    contract: String,
    /// Number of observed calls; fewer than requested if the time ran out
    calls: u64,
    reverts: u64,
    /// Percentage of calls that reverted; missing if there was no call
    #[serde(skip_serializing_if = "Option::is_none")]
    revert_share: Option<f64>,
    /// Lowest gas used by a call
    #[serde(skip_serializing_if = "Option::is_none")]
    min_gas: Option<u64>,
    /// Highest gas used by a call
    #[serde(skip_serializing_if = "Option::is_none")]
    max_gas: Option<u64>,
    /// Range of each return value
    returns: Vec<ReturnRangeOutput>,
    /// True if all requested calls were observed
    complete: bool,
}

#[derive(Serialize, JsonSchema)]
struct ReturnRangeOutput {
    #[serde(rename = "type")]
    kind: String,
    /// Smallest returned value; missing if nothing was returned or the type has no order
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<String>,
    /// Largest returned value
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<String>,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    let mut constraints = read_constraints();
    constraints.timeout = LONG_CALL_TIMEOUT;
    constraints.rules = vec![
        "Waits at most 1.5 seconds and returns the calls observed until then; `complete` is true if these are all.".into(),
        "If several smart contracts have the function, the first one is observed.".into(),
    ];
    CampaignToolSpec {
        title: "Sample a function",
        description: "Observes the fuzzer's next calls of a function and returns how many reverted and the range of \
                      its return values. Use it to find out whether a function always reverts, or to see the range of \
                      a value without writing a property for it.",
        constraints,
        examples: vec![build_example(
            "a thousand calls",
            json!({"functionSignature": "deposit(uint256)", "calls": 1000}),
            json!({
                "function": "deposit(uint256)", "contract": "Vault", "calls": 1000, "reverts": 612, "revertShare": 61.2,
                "minGas": 400, "maxGas": 45000, "returns": [], "complete": true,
            }),
        )],
        check: |campaign, arguments| {
            let SampleFunctionInput { function_signature, .. } =
                parse_arguments(arguments.clone())?;
            signature::find_callable(&function_signature, campaign.target()).map(drop)
        },
        ..CampaignToolSpec::new(
            "sample_function",
            ToolSchemas::from_types::<SampleFunctionInput, SampleFunctionOutput>(),
            sample_function,
        )
    }
}

fn sample_function(
    campaign: &CampaignView,
    arguments: Value,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let SampleFunctionInput { function_signature, calls } = parse_arguments(arguments)?;
    let function = signature::find_callable(&function_signature, campaign.target())?[0];
    if let Some(reason) = campaign.end_reason() {
        let message =
            format!("the campaign has ended ({reason}); there are no more calls to observe");
        return Err(invalid_argument("functionSignature", message).with_detail("state", "ended"));
    }
    let sample = campaign.shared.start_sample(function, calls);
    let looks = MAX_WAIT.as_millis() / POLL_INTERVAL.as_millis();
    let mut seen = sample.wait(Duration::ZERO);
    for _ in 0..looks {
        ctx.check_cancelled()?;
        if seen.calls >= calls || campaign.shared.has_ended() {
            break;
        }
        seen = sample.wait(POLL_INTERVAL);
    }
    to_output(&build_output(campaign, function, calls, &seen))
}

fn build_output(
    campaign: &CampaignView,
    id: FunctionId,
    wanted: u64,
    seen: &SampleSummary,
) -> SampleFunctionOutput {
    let target = campaign.target();
    let function = target.function(id);
    #[expect(clippy::cast_precision_loss, reason = "a share to one decimal")]
    let share = |part: u64| (part as f64 * 1000.0 / seen.calls as f64).round() / 10.0;
    SampleFunctionOutput {
        function: text::truncate_text(&function.signature),
        contract: text::truncate_text(&target.contracts[function.contract].name),
        calls: seen.calls,
        reverts: seen.reverts,
        revert_share: (seen.calls > 0).then(|| share(seen.reverts)),
        min_gas: seen.gas.map(|(least, _)| least),
        max_gas: seen.gas.map(|(_, most)| most),
        returns: seen.outputs.iter().map(to_return_range).collect(),
        complete: seen.calls >= wanted,
    }
}

fn to_return_range(output: &campaign::SampledOutput) -> ReturnRangeOutput {
    let value = |value| abi::text::format_value(&output.ty, value);
    let (min, max) = match &output.range {
        Some((min, max)) => (Some(value(min)), Some(value(max))),
        None => (None, None),
    };
    ReturnRangeOutput { kind: text::truncate_text(&output.ty.to_string()), min, max }
}

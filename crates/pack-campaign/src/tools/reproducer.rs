//! `get_reproducer`: returns the calls that make a test fail.

use contract::{CallContext, ErrorCode, ToolError, ToolOutput, parse_arguments, to_output};
use fuzz::call::SequenceCall;
use fuzz::reproducer::foundry::{self, ReproducedFinding};
use fuzz::target::{FuzzTarget, TargetTest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CampaignToolSpec, build_example};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

/// Maximum number of reproducers of one test; assertions can fail in several locations.
const MAX_REPRODUCERS: usize = 10;

#[derive(Deserialize, JsonSchema)]
struct GetReproducerInput {
    /// Name of the test as listed by campaign_status, alone or as `Contract.name`
    property: String,
}

#[derive(Serialize, JsonSchema)]
struct GetReproducerOutput {
    property: String,
    contract: String,
    /// Reproducers of the distinct failures, or of the largest value of an optimization test
    reproducers: Vec<ReproducerOutput>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReproducerOutput {
    /// Calls in order, each on the state left by those before it
    calls: Vec<ReproducerCallOutput>,
    /// False while the sequence is still being shrunk
    shrunk: bool,
    /// Value that is reached, for an optimization test
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Test for `forge test` that fails as long as the bug exists
    #[serde(skip_serializing_if = "Option::is_none")]
    foundry_test: Option<FoundryTestOutput>,
    /// Reason that no Foundry test is available
    #[serde(skip_serializing_if = "Option::is_none")]
    no_foundry_test: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundryTestOutput {
    /// Suggested file name
    file_name: String,
    /// Contents of the file
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReproducerCallOutput {
    call: String,
    sender: String,
    /// Wei sent with the call
    value: String,
    /// Seconds that pass before the call
    delay_seconds: u64,
    /// Blocks that pass before the call
    delay_blocks: u64,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    CampaignToolSpec {
        title: "Get the reproducer of a failure",
        description: "Returns the calls that make a test fail, with sender, value and delay of each, shrunk as far as \
                      possible so far. Also returns a Foundry test that fails as long as the bug exists; save it under \
                      test/ and run it with `forge test`.",
        errors: &[ErrorCode::NotFound],
        examples: vec![build_example(
            "a failed property",
            json!({"property": "echidna_nobody_owns_more_than_there_is"}),
            json!({
                "property": "echidna_nobody_owns_more_than_there_is",
                "contract": "Vault",
                "reproducers": [{
                    "calls": [{
                        "call": "deposit(1)", "sender": "0x0000000000000000000000000000000000010000", "value": "0",
                        "delaySeconds": 0, "delayBlocks": 0,
                    }],
                    "shrunk": true,
                    "noFoundryTest": "this campaign has no record of how its smart contracts were deployed",
                }],
            }),
        )],
        ..CampaignToolSpec::new(
            "get_reproducer",
            ToolSchemas::from_types::<GetReproducerInput, GetReproducerOutput>(),
            get_reproducer,
        )
    }
}

fn get_reproducer(
    campaign: &CampaignView,
    arguments: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let GetReproducerInput { property } = parse_arguments(arguments)?;
    let target = campaign.target();
    let is_meant = |test: &TargetTest| {
        test.name == property || format!("{}.{}", test.contract, test.name) == property
    };
    let index = target.tests.iter().position(is_meant);
    let index = index.ok_or_else(|| unknown_property_error(&property, target))?;
    let test = &target.tests[index];
    let reproducers = build_reproducers(campaign, index);
    if reproducers.is_empty() {
        let name = guard::display_path(&test.name);
        let message = format!("`{name}` has not failed so far; there is nothing to reproduce");
        return Err(ToolError::new(ErrorCode::NotFound, message).with_detail("property", name));
    }
    to_output(&GetReproducerOutput {
        property: text::truncate_text(&test.name),
        contract: text::truncate_text(&test.contract),
        reproducers,
    })
}

fn build_reproducers(campaign: &CampaignView, index: usize) -> Vec<ReproducerOutput> {
    let test = &campaign.target().tests[index];
    let mut failures = campaign.shared.failures();
    failures.retain(|failure| failure.test == index);
    failures.sort_by_key(|failure| (!failure.is_shrunk, failure.calls.len()));
    let failed = failures.iter().map(|failure| {
        let finding = ReproducedFinding { test, calls: &failure.calls, best: None };
        build_reproducer(campaign, &finding, failure.is_shrunk)
    });
    let mut reproducers: Vec<ReproducerOutput> = failed.take(MAX_REPRODUCERS).collect();
    if let Some(best) = campaign.shared.best().iter().find(|best| best.test == index) {
        let finding = ReproducedFinding { test, calls: &best.calls, best: Some(best.value) };
        reproducers.push(build_reproducer(campaign, &finding, best.is_shrunk));
    }
    reproducers
}

fn build_reproducer(
    campaign: &CampaignView,
    finding: &ReproducedFinding<'_>,
    shrunk: bool,
) -> ReproducerOutput {
    let target = campaign.target();
    let written = match &campaign.scene {
        None => {
            Err("this campaign has no record of how its smart contracts were deployed".to_owned())
        }
        Some(scene) => {
            foundry::write_foundry_test(scene, target, finding).map_err(|error| error.to_string())
        }
    };
    let (foundry_test, no_foundry_test) = match written {
        Ok(file) => (Some(FoundryTestOutput { file_name: file.file_name, text: file.text }), None),
        Err(reason) => (None, Some(text::truncate_text(&reason))),
    };
    ReproducerOutput {
        calls: finding.calls.iter().map(|call| to_call_output(call, target)).collect(),
        shrunk,
        value: finding.best.map(|best| best.to_string()),
        foundry_test,
        no_foundry_test,
    }
}

fn to_call_output(call: &SequenceCall, target: &FuzzTarget) -> ReproducerCallOutput {
    ReproducerCallOutput {
        call: text::format_call(call, target),
        sender: text::format_address(call.from),
        value: call.value.to_string(),
        delay_seconds: call.delay.seconds,
        delay_blocks: call.delay.blocks,
    }
}

fn unknown_property_error(property: &str, target: &FuzzTarget) -> ToolError {
    let shown = guard::display_path(property);
    let known = text::list_names(target.tests.iter().map(|test| test.name.as_str()));
    let message = format!("unknown property `{shown}`; known properties: {known}");
    ToolError::new(ErrorCode::NotFound, message).with_detail("property", shown)
}

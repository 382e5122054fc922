//! `get_reproducer`: how a test is made to fail.

use contract::{CallContext, Code, Output, ToolError, parse, to_output};
use fuzz::call::Call;
use fuzz::reproducer::foundry::{self, Finding};
use fuzz::target::{Target, Test};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Spec, example};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

/// Ways to fail of one test that are told; assertions can fail in several places.
const MAX_TOLD: usize = 10;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Name of the test as campaign_status has it, alone or as `Contract.name`
    property: String,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    property: String,
    contract: String,
    /// The ways in which it fails, or the largest number of a test that looks for one
    reproducers: Vec<Reproducer>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Reproducer {
    /// The calls in order, each from the state that those before it left
    calls: Vec<Step>,
    /// False while it is still being made shorter
    shrunk: bool,
    /// The number that is reached, of a test that looks for a large one
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// A test for `forge test` that fails as long as the bug is there
    #[serde(skip_serializing_if = "Option::is_none")]
    foundry_test: Option<FoundryTest>,
    /// Why there is no Foundry test
    #[serde(skip_serializing_if = "Option::is_none")]
    no_foundry_test: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundryTest {
    /// A name for the file
    file_name: String,
    /// What to write into it
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Step {
    call: String,
    sender: String,
    /// Wei that go with it
    value: String,
    /// Seconds that go by before it
    delay_seconds: u64,
    /// Blocks that go by before it
    delay_blocks: u64,
}

pub(super) fn spec() -> Spec {
    Spec {
        title: "Get the reproducer of a failure",
        description: "The calls that make a test fail, with sender, value and delay of each, as short as they could be \
                      made so far; and a Foundry test that fails as long as the bug is there, to be saved under test/ \
                      and run with `forge test`.",
        errors: &[Code::NotFound],
        examples: vec![example(
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
                    "noFoundryTest": "this campaign keeps no record of how its contracts were deployed",
                }],
            }),
        )],
        ..Spec::new("get_reproducer", Schemas::of::<Input, Answer>(), run)
    }
}

fn run(running: &Running, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
    let Input { property } = parse(arguments)?;
    let target = running.target();
    let is_meant = |test: &Test| {
        test.name == property || format!("{}.{}", test.contract, test.name) == property
    };
    let index = target.tests.iter().position(is_meant);
    let index = index.ok_or_else(|| unknown(&property, target))?;
    let test = &target.tests[index];
    let reproducers = reproducers(running, index);
    if reproducers.is_empty() {
        let name = guard::shown(&test.name);
        let message = format!("`{name}` has not failed so far, so there is nothing to reproduce");
        return Err(ToolError::new(Code::NotFound, message).with("property", name));
    }
    to_output(&Answer {
        property: text::bounded(&test.name),
        contract: text::bounded(&test.contract),
        reproducers,
    })
}

fn reproducers(running: &Running, index: usize) -> Vec<Reproducer> {
    let test = &running.target().tests[index];
    let mut failures = running.shared.failures();
    failures.retain(|failure| failure.test == index);
    failures.sort_by_key(|failure| (!failure.is_shrunk, failure.calls.len()));
    let failed = failures.iter().map(|failure| {
        let finding = Finding { test, calls: &failure.calls, best: None };
        reproducer(running, &finding, failure.is_shrunk)
    });
    let mut told: Vec<Reproducer> = failed.take(MAX_TOLD).collect();
    if let Some(best) = running.shared.best().iter().find(|best| best.test == index) {
        let finding = Finding { test, calls: &best.calls, best: Some(best.value) };
        told.push(reproducer(running, &finding, best.is_shrunk));
    }
    told
}

fn reproducer(running: &Running, finding: &Finding<'_>, shrunk: bool) -> Reproducer {
    let target = running.target();
    let written = match &running.scene {
        None => Err("this campaign keeps no record of how its contracts were deployed".to_owned()),
        Some(scene) => foundry::write(scene, target, finding).map_err(|error| error.to_string()),
    };
    let (foundry_test, no_foundry_test) = match written {
        Ok(file) => (Some(FoundryTest { file_name: file.file_name, text: file.text }), None),
        Err(reason) => (None, Some(text::bounded(&reason))),
    };
    Reproducer {
        calls: finding.calls.iter().map(|call| step(call, target)).collect(),
        shrunk,
        value: finding.best.map(|best| best.to_string()),
        foundry_test,
        no_foundry_test,
    }
}

fn step(call: &Call, target: &Target) -> Step {
    Step {
        call: text::call(call, target),
        sender: text::address(call.from),
        value: call.value.to_string(),
        delay_seconds: call.delay.seconds,
        delay_blocks: call.delay.blocks,
    }
}

fn unknown(property: &str, target: &Target) -> ToolError {
    let shown = guard::shown(property);
    let known = text::names(target.tests.iter().map(|test| test.name.as_str()));
    let message = format!("there is no property `{shown}`; the known ones are {known}");
    ToolError::new(Code::NotFound, message).with("property", shown)
}

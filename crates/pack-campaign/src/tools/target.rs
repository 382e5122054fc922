//! `campaign_target`: what is fuzzed.

use contract::{CallContext, Output, ToolError, to_output};
use fuzz::target::{FunctionId, TestKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Spec, example};
use crate::running::Running;
use crate::schema::Schemas;
use crate::text;

/// The version of what these tools take and answer. The first number changes when something is taken away.
pub const PROTOCOL_VERSION: &str = "1.0";

/// Of each list; a target with more is not read by anybody.
const MAX_TOLD: usize = 2000;

#[derive(Deserialize, JsonSchema)]
struct Input {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Answer {
    /// Version of the tools of this pack: `major.minor`, and a new major number takes something away
    protocol_version: String,
    /// property, assertion, foundry, optimization, overflow or exploration
    test_mode: String,
    /// Contracts on the chain, the one under test first
    contracts: Vec<Deployed>,
    /// All functions of these contracts
    functions: Vec<Function>,
    /// What must hold
    properties: Vec<Property>,
    /// Who makes calls
    senders: Vec<String>,
    /// Wei that each sender has at first
    sender_balance: String,
    /// The most wei that the fuzzer sends with a call
    max_value: String,
    /// Calls of one sequence
    sequence_length: u64,
}

#[derive(Serialize, JsonSchema)]
struct Deployed {
    name: String,
    address: String,
    /// Path of its source, which show_source_coverage takes
    source: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Function {
    contract: String,
    /// Canonical signature, which prioritize_function takes
    signature: String,
    mutability: Mutability,
    /// Types of what it returns
    returns: Vec<String>,
    /// Whether the fuzzer calls it; tests and what a filter leaves out it does not
    called: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mutability {
    /// It promises to change nothing
    View,
    Payable,
    Nonpayable,
}

#[derive(Serialize, JsonSchema)]
struct Property {
    /// The test, which get_reproducer takes
    name: String,
    contract: String,
    /// How it fails
    kind: String,
}

pub(super) fn spec() -> Spec {
    Spec {
        title: "What is fuzzed",
        description: "The target of the campaign: contracts with their addresses, canonical signatures of their \
                      functions, the properties that must hold, who makes calls, and the version of these tools. It \
                      does not change while the campaign runs; ask it once, before you write calls.",
        examples: vec![example(
            "the target",
            json!({}),
            json!({
                "protocolVersion": PROTOCOL_VERSION,
                "testMode": "property",
                "contracts": [{
                    "name": "Vault", "address": "0x00a329c0648769a73afac7f9381e08fb43dbea72", "source": "Vault.sol",
                }],
                "functions": [{
                    "contract": "Vault", "signature": "deposit(uint256)", "mutability": "nonpayable", "returns": [],
                    "called": true,
                }],
                "properties": [{
                    "name": "echidna_fee_stays_within_its_limit", "contract": "Vault", "kind": "returns false or reverts",
                }],
                "senders": ["0x0000000000000000000000000000000000010000"],
                "senderBalance": "4294967295", "maxValue": "100000000000000000000", "sequenceLength": 100,
            }),
        )],
        ..Spec::new("campaign_target", Schemas::of::<Input, Answer>(), run)
    }
}

fn run(running: &Running, _: Value, _: &CallContext) -> Result<Output, ToolError> {
    let (target, settings) = (running.target(), &running.shared.settings);
    let contracts = target.contracts.iter().map(|it| Deployed {
        name: text::bounded(&it.name),
        address: text::address(it.address),
        source: text::bounded(&target.build.contracts[it.contract].source),
    });
    let properties = target.tests.iter().map(|test| Property {
        name: text::bounded(&test.name),
        contract: text::bounded(&test.contract),
        kind: kind(&test.kind).to_owned(),
    });
    to_output(&Answer {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        test_mode: settings.test_mode.to_string(),
        contracts: contracts.take(MAX_TOLD).collect(),
        functions: functions(running),
        properties: properties.take(MAX_TOLD).collect(),
        senders: settings.senders.iter().copied().map(text::address).collect(),
        sender_balance: settings.sender_balance.to_string(),
        max_value: settings.max_value.to_string(),
        sequence_length: settings.sequence_length.get() as u64,
    })
}

fn functions(running: &Running) -> Vec<Function> {
    let target = running.target();
    let told = (0..).map(FunctionId).zip(&target.functions).map(|(id, it)| Function {
        contract: text::bounded(&target.contracts[it.contract].name),
        signature: text::bounded(&it.signature),
        mutability: match (it.is_view, it.is_payable) {
            (true, _) => Mutability::View,
            (_, true) => Mutability::Payable,
            _ => Mutability::Nonpayable,
        },
        returns: it.outputs.iter().map(|ty| text::bounded(&ty.to_string())).collect(),
        called: target.callable.contains(&id),
    });
    told.take(MAX_TOLD).collect()
}

/// How a test fails.
fn kind(kind: &TestKind) -> &'static str {
    match kind {
        TestKind::Property { .. } => "returns false or reverts",
        TestKind::MustRevert { .. } => "does not revert",
        TestKind::Invariant { .. } => "reverts",
        TestKind::Assertion { .. } => "breaks an assertion when it is called",
        TestKind::Unit { .. } => "reverts when it is called on the first state",
        TestKind::Event => "an event says that an assertion failed",
        TestKind::Maximum { .. } => "returns a number that is to be as large as possible",
        TestKind::Overflow { .. } => "overflows when it is called",
        TestKind::Destruction { .. } => "the contract destroys itself",
    }
}

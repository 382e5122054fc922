//! `campaign_target`: describes the target of the campaign.

use contract::{CallContext, ToolError, ToolOutput, to_output};
use fuzz::target::{FunctionId, TestKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CampaignToolSpec, build_example};
use crate::schema::ToolSchemas;
use crate::text;
use crate::view::CampaignView;

/// Version of the inputs and outputs of these tools. The major number changes when something is removed.
pub const PROTOCOL_VERSION: &str = "2.0";

/// Maximum length of each list; larger targets are truncated.
const MAX_LISTED: usize = 2000;

#[derive(Deserialize, JsonSchema)]
struct CampaignTargetInput {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CampaignTargetOutput {
    /// Version of these tools as `major.minor`; a new major version removes something
    protocol_version: String,
    /// Test mode: property, assertion, foundry, optimization, overflow or exploration
    test_mode: String,
    /// Deployed smart contracts, the one under test first
    contracts: Vec<DeployedContractOutput>,
    /// All functions of these smart contracts
    functions: Vec<TargetFunctionOutput>,
    /// Properties and other tests that are checked
    properties: Vec<TargetPropertyOutput>,
    /// Addresses that calls are sent from
    senders: Vec<String>,
    /// Initial balance of each sender in wei
    sender_balance: String,
    /// Maximum wei that the fuzzer sends with a call
    max_value: String,
    /// Number of calls in a sequence
    sequence_length: u64,
}

#[derive(Serialize, JsonSchema)]
struct DeployedContractOutput {
    name: String,
    address: String,
    /// Path of its source file, accepted by show_source_coverage
    source: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TargetFunctionOutput {
    contract: String,
    /// Canonical signature, accepted by prioritize_function
    signature: String,
    mutability: FunctionMutability,
    /// Types of its return values
    returns: Vec<String>,
    /// True if the fuzzer calls it; tests and filtered functions are not called
    called: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FunctionMutability {
    /// View or pure function
    View,
    Payable,
    Nonpayable,
}

#[derive(Serialize, JsonSchema)]
struct TargetPropertyOutput {
    /// Name of the test, accepted by get_reproducer
    name: String,
    contract: String,
    /// Condition under which it fails
    kind: String,
}

pub(super) fn build_spec() -> CampaignToolSpec {
    CampaignToolSpec {
        title: "Campaign target",
        description: "Describes the target of the campaign: deployed smart contracts with their addresses, canonical \
                      signatures of their functions, the properties that must hold, the senders, and the version of \
                      these tools. It does not change while the campaign runs; call this once before you write calls.",
        examples: vec![build_example(
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
        ..CampaignToolSpec::new(
            "campaign_target",
            ToolSchemas::from_types::<CampaignTargetInput, CampaignTargetOutput>(),
            describe_target,
        )
    }
}

fn describe_target(
    campaign: &CampaignView,
    _: Value,
    _: &CallContext,
) -> Result<ToolOutput, ToolError> {
    let (target, settings) = (campaign.target(), &campaign.shared.settings);
    let contracts = target.contracts.iter().map(|it| DeployedContractOutput {
        name: text::truncate_text(&it.name),
        address: text::format_address(it.address),
        source: text::truncate_text(&target.build.contracts[it.contract].source),
    });
    let properties = target.tests.iter().map(|test| TargetPropertyOutput {
        name: text::truncate_text(&test.name),
        contract: text::truncate_text(&test.contract),
        kind: describe_failure(&test.kind).to_owned(),
    });
    to_output(&CampaignTargetOutput {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        test_mode: settings.test_mode.to_string(),
        contracts: contracts.take(MAX_LISTED).collect(),
        functions: list_functions(campaign),
        properties: properties.take(MAX_LISTED).collect(),
        senders: settings.senders.iter().copied().map(text::format_address).collect(),
        sender_balance: settings.sender_balance.to_string(),
        max_value: settings.max_value.to_string(),
        sequence_length: settings.sequence_length.get() as u64,
    })
}

fn list_functions(campaign: &CampaignView) -> Vec<TargetFunctionOutput> {
    let target = campaign.target();
    let listed =
        (0..).map(FunctionId).zip(&target.functions).map(|(id, it)| TargetFunctionOutput {
            contract: text::truncate_text(&target.contracts[it.contract].name),
            signature: text::truncate_text(&it.signature),
            mutability: match (it.is_view, it.is_payable) {
                (true, _) => FunctionMutability::View,
                (_, true) => FunctionMutability::Payable,
                _ => FunctionMutability::Nonpayable,
            },
            returns: it.outputs.iter().map(|ty| text::truncate_text(&ty.to_string())).collect(),
            called: target.callable.contains(&id),
        });
    listed.take(MAX_LISTED).collect()
}

/// Returns the condition under which a test fails.
fn describe_failure(kind: &TestKind) -> &'static str {
    match kind {
        TestKind::Property { .. } => "returns false or reverts",
        TestKind::MustRevert { .. } => "does not revert",
        TestKind::Invariant { .. } => "reverts",
        TestKind::AfterInvariant { .. } => "reverts after a sequence of full length",
        TestKind::HandlerAssertion => "a call violates an assertion",
        TestKind::Assertion { .. } => "violates an assertion when called",
        TestKind::Unit { .. } => "reverts when called on the initial state",
        TestKind::AssertionEvent => "an event reports a failed assertion",
        TestKind::Maximum { .. } => "returns a value to maximize",
        TestKind::Overflow { .. } => "overflows when called",
        TestKind::Destruction { .. } => "the smart contract self-destructs",
    }
}

//! Writes a failure as a Foundry test without dependencies that fails under `forge test` until the bug is fixed.
//!
//! Steps are low-level calls with encoded arguments, for two reasons. A reverting step must not end the test, as it did
//! not end the sequence; and any argument can be encoded, even invalid UTF-8. A comment above each step shows the decoded
//! call.
//!
//! Contracts are placed at the fuzzer's addresses by running their constructors there. So arguments that contain an
//! address stay valid, and contracts that create others behave as before.

mod check;
mod names;
mod scene;
mod template;

use std::fmt::Write as _;

use alloy_primitives::{Address, I256, U256, hex, keccak256};

use super::solidity;
use crate::call::{CallPayload, SequenceCall};
use crate::target::{FuzzTarget, TargetTest, TestKind, assertion_topics};
use check::ReplayCheck;
use names::ImportNames;
pub use scene::SceneSource;

/// Variable with the URL of the node. The URL itself may contain an API key, and is never written to a file.
const RPC_VARIABLE: &str = "ETH_RPC_URL";

/// Maximum characters of a call in a comment; the step below it is complete.
const SHOWN: usize = 160;

/// The chain before the sequence.
#[derive(Clone, Debug)]
pub struct ReproducerScene {
    /// In deployment order; the contract under test is the last.
    pub deployments: Vec<SceneDeployment>,
    pub deployer: Address,
    /// Accounts with an initial balance of [`Self::sender_balance`].
    pub senders: Vec<Address>,
    pub sender_balance: U256,
    /// Sender of property calls.
    pub property_sender: Address,
    pub call_gas: u64,
    pub property_gas: u64,
    pub timestamp: u64,
    pub block: u64,
    pub chain_id: u64,
    /// Balance of the contract under test before its deployment.
    pub target_balance: U256,
    /// The contract to call `setUp()` on.
    pub set_up: Option<Address>,
    pub fork: SceneFork,
}

/// How forks take part in a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneFork {
    None,
    /// The contracts under test create forks.
    Created,
    /// The chain starts from this block of the node that `ETH_RPC_URL` names.
    Base {
        block: u64,
    },
}

/// A deployed contract.
#[derive(Clone, Debug)]
pub struct SceneDeployment {
    pub code: DeploymentCode,
    pub address: Address,
    /// Encoded constructor arguments.
    pub arguments: Vec<u8>,
    /// Wei sent to the constructor.
    pub value: U256,
}

/// Source of a contract's code.
#[derive(Clone, Debug)]
pub enum DeploymentCode {
    /// A contract of a source file; `import` is the path to use in the test's import statement.
    Source { import: String, name: String },
    /// Creation code.
    Bytes(Vec<u8>),
}

/// A test and the sequence after which it fails.
#[derive(Clone, Copy, Debug)]
pub struct ReproducedFinding<'a> {
    pub test: &'a TargetTest,
    pub calls: &'a [SequenceCall],
    /// The value that the sequence reaches, for a test that maximizes a number.
    pub best: Option<I256>,
}

/// A Foundry test file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundryTestFile {
    pub file_name: String,
    /// Name of the contract in it, unique among findings.
    pub contract: String,
    pub text: String,
}

/// Reason for which a finding cannot be written as a Foundry test.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoundryTestError {
    #[error("invalid Solidity contract name `{0}`")]
    InvalidName(String),
    #[error("the sequence that breaks `{0}` has no last call")]
    NoStep(String),
    #[error("the maximum that `{0}` reached is unknown")]
    UnknownMaximum(String),
    #[error("the overflow in `{0}` is unchecked, so a test contract cannot observe it")]
    UncheckedOverflow(String),
}

impl ReproducerScene {
    /// Returns the address of the contract under test.
    fn target(&self) -> Option<Address> {
        self.deployments.last().map(|deployment| deployment.address)
    }

    /// Returns the Solidity expression for an address.
    fn address_expression(&self, address: Address) -> String {
        match address {
            _ if Some(address) == self.target() => "TARGET".to_owned(),
            _ if address == self.deployer => "DEPLOYER".to_owned(),
            _ => address.to_string(),
        }
    }
}

/// Writes a finding as a Foundry test.
pub fn write_foundry_test(
    scene: &ReproducerScene,
    target: &FuzzTarget,
    finding: &ReproducedFinding<'_>,
) -> Result<FoundryTestFile, FoundryTestError> {
    let names = ImportNames::new(&scene.deployments)?;
    let set_up = write_set_up(scene, &names);
    let replay = write_replay(scene, target, finding)?;
    let contract = names::test_contract_name(finding.test, &compute_digest(&[&set_up, &replay]));
    let text = template::FoundryTestTemplate {
        finding: finding.test,
        imports: &names.import_statements(),
        contract: &contract,
        set_up: &set_up,
        fork: scene.fork,
        replay: &replay,
        call_gas: scene.call_gas,
        deployer: scene.deployer,
        target: scene.target(),
        topics: &assertion_topics(&target.build),
    }
    .to_string();
    Ok(FoundryTestFile { file_name: format!("{contract}.t.sol"), contract, text })
}

/// Writes the statements that restore the chain before the sequence.
fn write_set_up(scene: &ReproducerScene, names: &ImportNames) -> String {
    let mut out = String::new();
    let mut line = |line: String| {
        let _ = writeln!(out, "        {line}");
    };
    if let SceneFork::Base { block } = scene.fork {
        line(format!("vm.createSelectFork(vm.envString(\"{RPC_VARIABLE}\"), {block});"));
    }
    line(format!("vm.warp({});", scene.timestamp));
    line(format!("vm.roll({});", scene.block));
    line(format!("vm.chainId({});", scene.chain_id));
    let sent = scene.deployments.iter().map(|deployment| deployment.value);
    let sent = sent.fold(U256::ZERO, U256::saturating_add);
    for sender in &scene.senders {
        if *sender != scene.deployer {
            line(format!("vm.deal({sender}, {});", scene.sender_balance));
        }
    }
    line(format!("vm.deal(DEPLOYER, {});", scene.sender_balance.saturating_add(sent)));
    if !scene.target_balance.is_zero() && scene.target().is_some() {
        line(format!("vm.deal(TARGET, {});", scene.target_balance));
    }
    for (index, deployment) in scene.deployments.iter().enumerate() {
        let creation = match &deployment.code {
            DeploymentCode::Source { .. } => {
                format!("type({}).creationCode", names.imported_name(index))
            }
            DeploymentCode::Bytes(bytes) => format_hex_literal(bytes),
        };
        let creation = match deployment.arguments.as_slice() {
            [] => creation,
            arguments => format!("abi.encodePacked({creation}, {})", format_hex_literal(arguments)),
        };
        let address = scene.address_expression(deployment.address);
        line(format!("deploy({address}, {}, {creation});", deployment.value));
    }
    if scene.fork != SceneFork::None {
        // Forge allows cheat codes only to contracts that a test created, and keeps only the test itself across forks.
        for deployment in &scene.deployments {
            let address = scene.address_expression(deployment.address);
            line(format!("vm.allowCheatcodes({address});"));
            line(format!("vm.makePersistent({address});"));
        }
    }
    if let Some(address) = scene.set_up {
        let selector = &keccak256("setUp()")[..4];
        line("vm.prank(DEPLOYER, DEPLOYER);".to_owned());
        let address = scene.address_expression(address);
        line(format!("(bool isSetUp,) = {address}.call({});", format_hex_literal(selector)));
        line("require(isSetUp, \"setUp() reverted\");".to_owned());
    }
    out
}

/// Writes the statements that run the sequence and then check the test.
fn write_replay(
    scene: &ReproducerScene,
    target: &FuzzTarget,
    finding: &ReproducedFinding<'_>,
) -> Result<String, FoundryTestError> {
    if matches!(finding.test.kind, TestKind::Overflow { .. }) && target.codes.has_unchecked() {
        return Err(FoundryTestError::UncheckedOverflow(finding.test.name.clone()));
    }
    let check = ReplayCheck::from_finding(finding, scene)?;
    let mut out = String::new();
    let mut calls = finding.calls;
    let mut last = None;
    if check.function.is_none() {
        let split = calls.split_last().filter(|(last, _)| last.payload != CallPayload::WaitOnly);
        let (judged, before) =
            split.ok_or_else(|| FoundryTestError::NoStep(finding.test.name.clone()))?;
        (calls, last) = (before, Some(judged));
    }
    for call in calls {
        write_step(&mut out, call, scene, target, "");
    }
    if let Some(last) = last {
        out.push_str(&check.before);
        write_step(&mut out, last, scene, target, check.binding);
    }
    check.write_statements(&mut out, scene, target);
    Ok(out)
}

fn write_step(
    out: &mut String,
    call: &SequenceCall,
    scene: &ReproducerScene,
    target: &FuzzTarget,
    results: &str,
) {
    if !call.delay.is_zero() {
        let _ = writeln!(out, "        elapse({}, {});", call.delay.seconds, call.delay.blocks);
    }
    let mut data = Vec::new();
    let Some(transaction) = call.to_transaction(target, &mut data) else { return };
    if call.gas_price != 0 {
        let _ = writeln!(out, "        vm.txGasPrice({});", call.gas_price);
    }
    let _ = writeln!(out, "        // {}", sanitize_comment(&solidity::format_call(call, target)));
    let (from, to) =
        (scene.address_expression(transaction.from), scene.address_expression(transaction.to));
    let (value, data) = (transaction.value, format_hex_literal(&transaction.data));
    let _ = writeln!(out, "        {results}step({from}, {to}, {value}, {data});");
    if call.gas_price != 0 {
        let _ = writeln!(out, "        vm.txGasPrice(0);");
    }
}

fn format_hex_literal(bytes: &[u8]) -> String {
    format!("hex\"{}\"", hex::encode(bytes))
}

/// Makes text safe for a one-line comment: names come from untrusted source files.
fn sanitize_comment(text: &str) -> String {
    let plain = |character: char| match character {
        ' '..='~' => character,
        _ => '?',
    };
    let more = if text.chars().count() > SHOWN { " ..." } else { "" };
    text.chars().take(SHOWN).map(plain).collect::<String>() + more
}

/// Returns a short hash that distinguishes the findings of one test.
fn compute_digest(parts: &[&str]) -> String {
    hex::encode(&keccak256(parts.concat())[..4])
}

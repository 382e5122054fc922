//! A failure as a Foundry test: it fails under `forge test` as long as the bug is there, and needs no library.
//!
//! Steps are low-level calls with encoded arguments, for two reasons. A step that reverts must not end the test, as it
//! did not end the sequence; and any argument can be written so, even text that is no text. What a step means stands
//! above it in a comment.
//!
//! Contracts are put where the fuzzer had them, by running their constructors there: arguments that name a contract, and
//! contracts that made others, mean the same as before.

mod check;
mod frame;
mod names;
mod scene;

use std::fmt::Write as _;

use alloy_primitives::{Address, I256, U256, hex, keccak256};

use super::solidity;
use crate::call::{Call, What};
use crate::target::{Target, Test, TestKind, assertion_topics};
use check::Check;
use names::Names;
pub use scene::SceneSource;

/// What a comment shows of a call; arguments can be of any length, and the step below has all of them.
const SHOWN: usize = 160;

/// What was on the chain before the sequence.
#[derive(Clone, Debug)]
pub struct Scene {
    /// In the order in which they were made; the contract under test is the last.
    pub deployments: Vec<Deployment>,
    pub deployer: Address,
    /// Accounts that were given [`Self::sender_balance`].
    pub senders: Vec<Address>,
    pub sender_balance: U256,
    /// Who calls properties.
    pub property_sender: Address,
    pub call_gas: u64,
    pub property_gas: u64,
    pub timestamp: u64,
    pub block: u64,
    pub chain_id: u64,
    /// The contract whose `setUp()` was called.
    pub set_up: Option<Address>,
}

/// A contract that was deployed.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub code: Code,
    pub address: Address,
    /// The constructor's, encoded.
    pub arguments: Vec<u8>,
    /// Wei that the constructor was sent.
    pub value: U256,
}

/// Where a contract's code comes from.
#[derive(Clone, Debug)]
pub enum Code {
    /// A contract of a source file; the path is as the test's `import` has to say it.
    Source { import: String, name: String },
    /// The code that deploys it.
    Bytes(Vec<u8>),
}

/// A test that fails after a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Finding<'a> {
    pub test: &'a Test,
    pub calls: &'a [Call],
    /// What the sequence reaches, where the test asks for the largest number.
    pub best: Option<I256>,
}

/// A file for the folder of Foundry's tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFile {
    pub file_name: String,
    /// The contract in it, whose name no other finding's has.
    pub contract: String,
    pub text: String,
}

/// Why there is no test for a finding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTest {
    #[error("`{0}` is no name of a contract in Solidity")]
    Name(String),
    #[error("the last step breaks `{0}`, and there is no step")]
    NoStep(String),
    #[error("what `{0}` reaches is not known")]
    NoNumber(String),
    #[error("what overflows in `{0}` wraps without a word, which no other contract sees")]
    Silent(String),
}

impl Scene {
    /// The contract under test.
    fn target(&self) -> Option<Address> {
        self.deployments.last().map(|deployment| deployment.address)
    }

    /// An address as the file says it.
    fn name(&self, address: Address) -> String {
        match address {
            _ if Some(address) == self.target() => "TARGET".to_owned(),
            _ if address == self.deployer => "DEPLOYER".to_owned(),
            _ => address.to_string(),
        }
    }
}

/// Writes the test.
pub fn write(scene: &Scene, target: &Target, finding: &Finding<'_>) -> Result<TestFile, NoTest> {
    let names = Names::new(&scene.deployments)?;
    let set_up = set_up(scene, &names);
    let replay = replay(scene, target, finding)?;
    let contract = names::test_contract(finding.test, &digest(&[&set_up, &replay]));
    let text = frame::File {
        finding: finding.test,
        imports: &names.imports(),
        contract: &contract,
        set_up: &set_up,
        replay: &replay,
        call_gas: scene.call_gas,
        deployer: scene.deployer,
        target: scene.target(),
        topics: &assertion_topics(&target.build),
    }
    .to_string();
    Ok(TestFile { file_name: format!("{contract}.t.sol"), contract, text })
}

/// The statements that bring the chain to where the sequence began.
fn set_up(scene: &Scene, names: &Names) -> String {
    let mut out = String::new();
    let mut line = |line: String| {
        let _ = writeln!(out, "        {line}");
    };
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
    for (index, deployment) in scene.deployments.iter().enumerate() {
        let creation = match &deployment.code {
            Code::Source { .. } => format!("type({}).creationCode", names.local(index)),
            Code::Bytes(bytes) => literal(bytes),
        };
        let creation = match deployment.arguments.as_slice() {
            [] => creation,
            arguments => format!("abi.encodePacked({creation}, {})", literal(arguments)),
        };
        let address = scene.name(deployment.address);
        line(format!("deploy({address}, {}, {creation});", deployment.value));
    }
    if let Some(address) = scene.set_up {
        let selector = &keccak256("setUp()")[..4];
        line("vm.prank(DEPLOYER, DEPLOYER);".to_owned());
        let address = scene.name(address);
        line(format!("(bool isSetUp,) = {address}.call({});", literal(selector)));
        line("require(isSetUp, \"setUp() reverted\");".to_owned());
    }
    out
}

/// The statements that run the sequence and then check the test.
fn replay(scene: &Scene, target: &Target, finding: &Finding<'_>) -> Result<String, NoTest> {
    if matches!(finding.test.kind, TestKind::Overflow { .. }) && target.codes.has_unchecked() {
        return Err(NoTest::Silent(finding.test.name.clone()));
    }
    let check = Check::of(finding, scene)?;
    let mut out = String::new();
    let mut calls = finding.calls;
    let mut last = None;
    if check.asks.is_none() {
        let split = calls.split_last().filter(|(last, _)| last.what != What::Nothing);
        let (judged, before) = split.ok_or_else(|| NoTest::NoStep(finding.test.name.clone()))?;
        (calls, last) = (before, Some(judged));
    }
    for call in calls {
        step(&mut out, call, scene, target, "");
    }
    if let Some(last) = last {
        out.push_str(&check.before);
        step(&mut out, last, scene, target, check.keeps);
    }
    check.write(&mut out, scene, target);
    Ok(out)
}

fn step(out: &mut String, call: &Call, scene: &Scene, target: &Target, results: &str) {
    if !call.delay.is_none() {
        let _ = writeln!(out, "        elapse({}, {});", call.delay.seconds, call.delay.blocks);
    }
    let mut data = Vec::new();
    let Some(transaction) = call.transaction(target, &mut data) else { return };
    if call.gas_price != 0 {
        let _ = writeln!(out, "        vm.txGasPrice({});", call.gas_price);
    }
    let _ = writeln!(out, "        // {}", comment(&solidity::call(call, target)));
    let (from, to) = (scene.name(transaction.from), scene.name(transaction.to));
    let (value, data) = (transaction.value, literal(&transaction.data));
    let _ = writeln!(out, "        {results}step({from}, {to}, {value}, {data});");
    if call.gas_price != 0 {
        let _ = writeln!(out, "        vm.txGasPrice(0);");
    }
}

fn literal(bytes: &[u8]) -> String {
    format!("hex\"{}\"", hex::encode(bytes))
}

/// Text that stays on its line, whatever it is: names come from files that anybody may have written.
fn comment(text: &str) -> String {
    let plain = |character: char| match character {
        ' '..='~' => character,
        _ => '?',
    };
    let more = if text.chars().count() > SHOWN { " ..." } else { "" };
    text.chars().take(SHOWN).map(plain).collect::<String>() + more
}

/// A few digits that tell findings of one test apart.
fn digest(parts: &[&str]) -> String {
    hex::encode(&keccak256(parts.concat())[..4])
}

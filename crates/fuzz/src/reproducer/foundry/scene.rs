//! What was on the chain before a sequence, as a Foundry test has to make it again.

use crate::chain::{CallLimits, CodePart, EvmMachine};
use crate::config::CampaignSettings;
use crate::reproducer::foundry::{DeploymentCode, ReproducerScene, SceneDeployment};
use crate::target::FuzzTarget;
use alloy_primitives::{Address, U256};
use solidity::SolidityContract;

/// Ethereum's, which the fuzzer's chain has too.
const CHAIN_ID: u64 = 1;

/// The contract under test on its chain.
#[derive(Clone, Copy)]
pub struct SceneSource<'a> {
    pub target: &'a FuzzTarget,
    /// The index of the contract under test in the build.
    pub contract: usize,
    /// True if its source is on no disk, so that a test needs its code.
    pub is_bundled: bool,
}

impl ReproducerScene {
    /// Returns the scene of a target that was deployed with these settings.
    pub fn from_source(subject: SceneSource<'_>, settings: &CampaignSettings) -> Self {
        let target = subject.target;
        let main = &target.build.contracts[subject.contract];
        let limits = CallLimits { gas: settings.call_gas, time: std::time::Duration::ZERO };
        let machine =
            EvmMachine::new(target.state.clone(), target.codes.clone(), Vec::new(), limits);
        let (timestamp, block) = machine.now();
        let has_set_up = main.abi.functions().any(|it| it.signature() == "setUp()");
        ReproducerScene {
            deployments: deployments(subject, settings),
            deployer: settings.deployer,
            senders: settings.senders.clone(),
            sender_balance: settings.sender_balance,
            property_sender: settings.property_sender,
            call_gas: settings.call_gas,
            property_gas: settings.property_gas,
            timestamp,
            block,
            chain_id: CHAIN_ID,
            set_up: has_set_up.then_some(settings.contract_address),
        }
    }
}

/// In the order of [`crate::deploy`]. Libraries are left out: `forge` links what it compiles.
fn deployments(subject: SceneSource<'_>, settings: &CampaignSettings) -> Vec<SceneDeployment> {
    let contracts = &subject.target.build.contracts;
    let args = &settings.constructor_args;
    let mut deployments = Vec::new();
    for (address, name) in &settings.deploy_contracts {
        if let Some(place) = contracts.iter().position(|contract| contract.name == *name) {
            let written = args.named.get(name).map_or(&[][..], Vec::as_slice);
            let arguments = arguments(&contracts[place], written);
            deployments.push(deployment(subject, place, *address, arguments, U256::ZERO));
        }
    }
    for (address, bytes) in &settings.deploy_bytecodes {
        deployments.push(SceneDeployment {
            code: DeploymentCode::Bytes(bytes.clone()),
            address: *address,
            arguments: Vec::new(),
            value: U256::ZERO,
        });
    }
    let main = &contracts[subject.contract];
    let arguments = arguments(main, args.named.get(&main.name).unwrap_or(&args.main));
    let (address, value) = (settings.contract_address, settings.contract_balance);
    deployments.push(deployment(subject, subject.contract, address, arguments, value));
    deployments
}

fn deployment(
    subject: SceneSource<'_>,
    place: usize,
    address: Address,
    arguments: Vec<u8>,
    value: U256,
) -> SceneDeployment {
    let SolidityContract { name, source, .. } = &subject.target.build.contracts[place];
    let code = match subject.is_bundled {
        true => DeploymentCode::Bytes(creation(subject.target, place)),
        // From the root of the project, as Foundry resolves it.
        false => DeploymentCode::Source { import: source.clone(), name: name.clone() },
    };
    SceneDeployment { code, address, arguments, value }
}

fn creation(target: &FuzzTarget, place: usize) -> Vec<u8> {
    let mut known = target.codes.entries().iter();
    let code = known.find(|it| it.contract == place && it.part == CodePart::Creation);
    code.map(|code| code.bytes.clone()).unwrap_or_default()
}

/// The constructor's arguments, encoded. They were understood when the contract was deployed.
fn arguments(contract: &SolidityContract, written: &[String]) -> Vec<u8> {
    crate::deploy::encode_constructor_arguments(contract, written).unwrap_or_default()
}

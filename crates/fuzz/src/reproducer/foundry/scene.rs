//! Builds the [`ReproducerScene`]: the chain state before a sequence, which a Foundry test recreates.

use crate::chain::{CallLimits, CodePart, EvmMachine};
use crate::config::CampaignSettings;
use crate::reproducer::foundry::{DeploymentCode, ReproducerScene, SceneDeployment, SceneFork};
use crate::target::FuzzTarget;
use alloy_primitives::{Address, U256};
use solidity::SolidityContract;

/// The deployed target from which a scene is built.
#[derive(Clone, Copy)]
pub struct SceneSource<'a> {
    pub target: &'a FuzzTarget,
    /// Index of the contract under test in the build.
    pub contract: usize,
    /// True if the source is not on disk, so that a test must contain the bytecode.
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
            deployments: list_deployments(subject, settings),
            deployer: settings.deployer,
            senders: settings.senders.clone(),
            sender_balance: settings.sender_balance,
            property_sender: settings.property_sender,
            call_gas: settings.call_gas,
            property_gas: settings.property_gas,
            timestamp,
            block,
            chain_id: machine.chain_id(),
            target_balance: subject.initial_balance(settings),
            set_up: has_set_up.then_some(settings.contract_address),
            fork: describe_fork(target, settings),
        }
    }
}

impl SceneSource<'_> {
    /// Returns the balance of the contract under test before its deployment.
    fn initial_balance(self, settings: &CampaignSettings) -> U256 {
        let main = &self.target.build.contracts[self.contract];
        match crate::deploy::uses_foundry_rules(main, settings) {
            true => settings.foundry.initial_balance,
            false => U256::ZERO,
        }
    }
}

fn describe_fork(target: &FuzzTarget, settings: &CampaignSettings) -> SceneFork {
    match (&settings.forks.base, &settings.forks.chains) {
        (Some(base), _) => SceneFork::Base { block: base.block().number },
        (None, Some(_)) if !target.state.forks().is_empty() => SceneFork::Created,
        _ => SceneFork::None,
    }
}

/// Returns the deployments in the order of [`crate::deploy`], without libraries: `forge` links what it compiles.
fn list_deployments(subject: SceneSource<'_>, settings: &CampaignSettings) -> Vec<SceneDeployment> {
    let contracts = &subject.target.build.contracts;
    let args = &settings.constructor_args;
    let mut deployments = Vec::new();
    for (address, name) in &settings.deploy_contracts {
        if let Some(index) = contracts.iter().position(|contract| contract.name == *name) {
            let written = args.named.get(name).map_or(&[][..], Vec::as_slice);
            let arguments = encode_arguments(&contracts[index], written);
            deployments.push(build_deployment(subject, index, *address, arguments, U256::ZERO));
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
    let arguments = encode_arguments(main, args.named.get(&main.name).unwrap_or(&args.main));
    let (address, value) = (settings.contract_address, settings.contract_balance);
    deployments.push(build_deployment(subject, subject.contract, address, arguments, value));
    deployments
}

fn build_deployment(
    subject: SceneSource<'_>,
    index: usize,
    address: Address,
    arguments: Vec<u8>,
    value: U256,
) -> SceneDeployment {
    let SolidityContract { name, source, .. } = &subject.target.build.contracts[index];
    let code = match subject.is_bundled {
        true => DeploymentCode::Bytes(creation_code(subject.target, index)),
        // Relative to the project root, as Foundry resolves imports.
        false => DeploymentCode::Source { import: source.clone(), name: name.clone() },
    };
    SceneDeployment { code, address, arguments, value }
}

fn creation_code(target: &FuzzTarget, index: usize) -> Vec<u8> {
    let mut entries = target.codes.entries().iter();
    let code = entries.find(|it| it.contract == index && it.part == CodePart::Creation);
    code.map(|code| code.bytes.clone()).unwrap_or_default()
}

/// Returns the encoded constructor arguments. They are valid, because the contract was deployed with them.
fn encode_arguments(contract: &SolidityContract, written: &[String]) -> Vec<u8> {
    crate::deploy::encode_constructor_arguments(contract, written).unwrap_or_default()
}

//! Deploys contracts in order: libraries, contracts that the settings name, the contract under test.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use alloy_primitives::{Address, Bytes, U256};
use solidity::{SolidityBuild, SolidityContract};

use super::foundry::{CREATE2_DEPLOYER, CREATE2_DEPLOYER_CODE};
use super::{DeployError, DeployPlan, LIMITS, describe_failure};
use crate::abi::{self, AbiType};
use crate::chain::{EvmMachine, EvmTransaction};
use crate::config::CampaignSettings;
use crate::script;

/// Deploys contracts on a chain.
pub(super) struct ChainDeployer<'a> {
    build: &'a SolidityBuild,
    libraries: &'a BTreeMap<String, Address>,
    machine: &'a mut EvmMachine,
    plan: &'a DeployPlan<'a>,
    placed: DeploymentResult,
}

/// Result of the deployment.
#[derive(Default)]
pub(super) struct DeploymentResult {
    /// Build index of the contract at each address.
    pub(super) contracts: BTreeMap<Address, usize>,
    /// Reason that `setUp()` failed.
    pub(super) set_up_failure: Option<String>,
    /// Warnings for the user.
    pub(super) warnings: Vec<String>,
}

impl<'a> ChainDeployer<'a> {
    pub(super) fn new(
        build: &'a SolidityBuild,
        libraries: &'a BTreeMap<String, Address>,
        machine: &'a mut EvmMachine,
        plan: &'a DeployPlan<'a>,
    ) -> Self {
        Self { build, libraries, machine, plan, placed: DeploymentResult::default() }
    }

    /// Deploys everything in order.
    pub(super) fn deploy_all(mut self) -> Result<DeploymentResult, DeployError> {
        self.fund_accounts();
        self.deploy_libraries()?;
        self.deploy_configured()?;
        self.deploy_contract_under_test()?;
        self.run_set_up();
        Ok(self.placed)
    }

    fn fund_accounts(&mut self) {
        let CampaignSettings { senders, sender_balance, contract_balance, deployer, .. } =
            self.plan.settings;
        for &sender in senders {
            self.machine.set_balance(sender, *sender_balance);
        }
        if self.plan.is_foundry {
            return self.fund_foundry_accounts();
        }
        // The value sent to the constructor is added, so that the deployer ends up with the same balance as the senders.
        self.machine.set_balance(*deployer, sender_balance.saturating_add(*contract_balance));
    }

    /// Prepares the accounts as forge does.
    fn fund_foundry_accounts(&mut self) {
        let CampaignSettings { deployer, contract_address, ref foundry, .. } = *self.plan.settings;
        for account in [deployer, contract_address] {
            self.machine.set_balance(account, foundry.initial_balance);
        }
        self.machine.set_code(CREATE2_DEPLOYER, CREATE2_DEPLOYER_CODE.into());
    }

    /// Deploys the contracts and bytecode that the settings assign to addresses.
    fn deploy_configured(&mut self) -> Result<(), DeployError> {
        let settings = self.plan.settings;
        for (address, name) in &settings.deploy_contracts {
            let contract = self.build.contracts.iter().position(|contract| contract.name == *name);
            let contract = contract.ok_or_else(|| DeployError::UnknownContract(name.clone()))?;
            let written = settings.constructor_args.named.get(name);
            let arguments = encode_constructor_arguments(
                &self.build.contracts[contract],
                written.map_or(&[], Vec::as_slice),
            )?;
            self.check_code_size(contract)?;
            self.deploy_contract(contract, *address, &arguments, U256::ZERO)?;
        }
        for (address, code) in &settings.deploy_bytecodes {
            self.create_contract(&format!("{address}"), *address, code.clone(), U256::ZERO)?;
        }
        Ok(())
    }

    /// Deploys the contract under test.
    fn deploy_contract_under_test(&mut self) -> Result<(), DeployError> {
        let DeployPlan { contract, settings, .. } = *self.plan;
        let args = &settings.constructor_args;
        let named = args.named.get(&self.build.contracts[contract].name);
        let written = named.unwrap_or(&args.main);
        let arguments = encode_constructor_arguments(&self.build.contracts[contract], written)?;
        // The code size limit does not apply to the contract under test, which is often a large test harness. Echidna does
        // the same.
        let limit = settings.code_size;
        if let Err(too_large) = self.check_code_size(contract) {
            self.placed
                .warnings
                .push(format!("{too_large}, which is not applied to the contract under test"));
            self.machine.set_code_size_limit(u64::MAX);
        }
        self.deploy_contract(
            contract,
            settings.contract_address,
            &arguments,
            settings.contract_balance,
        )?;
        self.machine.set_code_size_limit(limit);
        Ok(())
    }

    fn deploy_libraries(&mut self) -> Result<(), DeployError> {
        for index in 0..self.build.contracts.len() {
            let contract = &self.build.contracts[index];
            if let Some(&address) = self.libraries.get(&contract.qualified_name()) {
                self.check_code_size(index)?;
                self.deploy_contract(index, address, &[], U256::ZERO)?;
            }
        }
        Ok(())
    }

    fn deploy_contract(
        &mut self,
        index: usize,
        address: Address,
        arguments: &[u8],
        value: U256,
    ) -> Result<(), DeployError> {
        let contract = &self.build.contracts[index];
        let name = || contract.name.clone();
        if !contract.is_deployable() {
            return Err(DeployError::Abstract(name()));
        }
        let mut code = contract
            .creation
            .link_libraries(self.libraries)
            .map_err(|unlinked| DeployError::Unlinked { contract: name(), library: unlinked.0 })?;
        code.extend_from_slice(arguments);
        self.create_contract(&contract.name, address, code, value)?;
        self.placed.contracts.insert(address, index);
        Ok(())
    }

    fn create_contract(
        &mut self,
        name: &str,
        address: Address,
        code: Vec<u8>,
        value: U256,
    ) -> Result<(), DeployError> {
        let from = self.plan.settings.deployer;
        if self.plan.settings.forks.base.is_some() {
            if !self.machine.code(address).is_empty() {
                let contract = name.to_owned();
                return Err(DeployError::AddressInUse { contract, address });
            }
            // Transactions of the account on the remote chain must not prevent the deployment.
            self.machine.reset_nonce(address);
        }
        if address == from {
            return self.create_at_deployer(name, code);
        }
        let (outcome, created) = self.machine.deploy_code(from, Some(address), code.into(), value);
        if created.is_some() && outcome.is_success() {
            return Ok(());
        }
        Err(DeployError::ConstructorFailed {
            contract: name.to_owned(),
            reason: describe_failure(&outcome),
        })
    }

    /// Deploys a contract at the address of its deployer, which Echidna allows: harnesses have the address that they have in
    /// Foundry, and expect to be called by themselves. A creation would collide with the account of the deployer, so its
    /// code is called where the contract will be.
    fn create_at_deployer(&mut self, name: &str, code: Vec<u8>) -> Result<(), DeployError> {
        /// Nonce of a contract before it creates others.
        const FIRST_NONCE: u64 = 1;
        let address = self.plan.settings.deployer;
        self.machine.set_code(address, code.into());
        self.machine.set_nonce(address, FIRST_NONCE);
        // The value would come from the account itself.
        let creation = EvmTransaction {
            from: address,
            to: address,
            value: U256::ZERO,
            gas_price: 0,
            data: Bytes::new(),
        };
        let outcome = self.machine.call_with_limits(&creation, LIMITS);
        if outcome.is_success() {
            self.machine.set_code(address, outcome.output);
            return Ok(());
        }
        Err(DeployError::ConstructorFailed {
            contract: name.to_owned(),
            reason: describe_failure(&outcome),
        })
    }

    /// Runs `setUp()`, if the contract under test has one. It fails too if an assertion failed without a revert.
    fn run_set_up(&mut self) {
        if self.machine.has_noted_failure() {
            let text = "an assertion failed in the constructor";
            self.placed.set_up_failure = Some(text.to_owned());
            return;
        }
        let contract = &self.build.contracts[self.plan.contract];
        let set_up = contract.abi.functions().find(|function| function.signature() == "setUp()");
        let Some(set_up) = set_up else { return };
        let outcome = self.machine.call_with_limits(
            &EvmTransaction {
                from: self.plan.settings.deployer,
                to: self.plan.settings.contract_address,
                value: U256::ZERO,
                gas_price: 0,
                data: Bytes::copy_from_slice(set_up.selector().as_slice()),
            },
            LIMITS,
        );
        if !outcome.is_success() {
            self.placed.set_up_failure = Some(describe_failure(&outcome));
        } else if outcome.breaks_assertion() || self.machine.has_noted_failure() {
            self.placed.set_up_failure = Some("an assertion failed".to_owned());
        }
    }

    fn check_code_size(&self, contract: usize) -> Result<(), DeployError> {
        let contract = &self.build.contracts[contract];
        let (size, limit) = (contract.runtime.bytes.len() as u64, self.plan.settings.code_size);
        if size <= limit {
            return Ok(());
        }
        Err(DeployError::TooLarge { contract: contract.name.clone(), size, limit })
    }
}

/// Encodes constructor arguments that are written as in Solidity.
///
/// Returns an error if their number or types do not match the constructor.
pub fn encode_constructor_arguments(
    contract: &SolidityContract,
    written: &[String],
) -> Result<Vec<u8>, DeployError> {
    let name = || contract.name.clone();
    let inputs = contract.abi.constructor.as_ref().map_or(&[][..], |it| &it.inputs);
    if inputs.len() != written.len() {
        let (expected, given) = (inputs.len(), written.len());
        return Err(DeployError::ArgumentCount { contract: name(), expected, given });
    }
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for (input, text) in inputs.iter().zip(written) {
        let wrong = |reason: String| DeployError::InvalidArgument {
            contract: name(),
            argument: input.name.clone(),
            ty: input.selector_type().into_owned(),
            reason,
        };
        let ty = AbiType::from_param(input).map_err(|unknown| wrong(unknown.to_string()))?;
        values.push(script::parse_argument(text, &ty).map_err(wrong)?);
        types.push(ty);
    }
    let with_selector = abi::encode_call([0; 4], &types, &values);
    Ok(with_selector[4..].to_vec())
}

/// Returns an address for each library that the contracts need, in a range that contract creation does not use.
pub(super) fn assign_library_addresses(
    build: &SolidityBuild,
    plan: &DeployPlan<'_>,
) -> BTreeMap<String, Address> {
    let named = plan.settings.deploy_contracts.iter();
    let mut users: Vec<usize> = named
        .filter_map(|(_, name)| build.contracts.iter().position(|it| it.name == *name))
        .chain([plan.contract])
        .collect();
    let mut libraries = BTreeMap::new();
    while let Some(user) = users.pop() {
        let user = &build.contracts[user];
        for link in user.creation.links.iter().chain(&user.runtime.links) {
            let library = build.contracts.iter().position(|contract| {
                contract.name == link.library || contract.qualified_name() == link.library
            });
            let Some(library) = library else { continue };
            let name = build.contracts[library].qualified_name();
            if let Entry::Vacant(vacant) = libraries.entry(name) {
                let mut address = [0; 20];
                address[..4].copy_from_slice(b"\x11ib\x00");
                address[16..].copy_from_slice(&(library as u32 + 1).to_be_bytes());
                vacant.insert(Address::from(address));
                users.push(library);
            }
        }
    }
    libraries
}

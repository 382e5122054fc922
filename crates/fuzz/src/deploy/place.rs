//! Puts contracts on a chain, in their order: libraries, what the settings name, the contract under test.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use alloy_primitives::{Address, Bytes, U256};
use solidity::{Build, Contract};

use super::{DeployError, LIMITS, Plan, reason};
use crate::abi::{self, Type};
use crate::chain::{Machine, Transaction};
use crate::config::Settings;
use crate::script;

/// A chain that contracts are put on.
pub(super) struct Chain<'a> {
    build: &'a Build,
    libraries: &'a BTreeMap<String, Address>,
    machine: &'a mut Machine,
    plan: &'a Plan<'a>,
    placed: Placed,
}

/// What was done.
#[derive(Default)]
pub(super) struct Placed {
    /// The places in the build of the contracts at these addresses.
    pub(super) places: BTreeMap<Address, usize>,
    /// What its owner should know.
    pub(super) warnings: Vec<String>,
}

impl<'a> Chain<'a> {
    pub(super) fn new(
        build: &'a Build,
        libraries: &'a BTreeMap<String, Address>,
        machine: &'a mut Machine,
        plan: &'a Plan<'a>,
    ) -> Self {
        Self { build, libraries, machine, plan, placed: Placed::default() }
    }

    /// Deploys everything in its order.
    pub(super) fn fill(mut self) -> Result<Placed, DeployError> {
        self.fund();
        self.deploy_libraries()?;
        self.deploy_first()?;
        self.deploy_main()?;
        self.set_up()?;
        Ok(self.placed)
    }

    fn fund(&mut self) {
        let Settings { senders, sender_balance, contract_balance, deployer, .. } =
            self.plan.settings;
        for &sender in senders {
            self.machine.set_balance(sender, *sender_balance);
        }
        // What the constructor is sent comes on top, so that the deployer has afterwards what all have.
        self.machine.set_balance(*deployer, sender_balance.saturating_add(*contract_balance));
    }

    /// Contracts and code that the settings want at certain addresses.
    fn deploy_first(&mut self) -> Result<(), DeployError> {
        let settings = self.plan.settings;
        for (address, name) in &settings.deploy_contracts {
            let contract = self.build.contracts.iter().position(|contract| contract.name == *name);
            let contract = contract.ok_or_else(|| DeployError::NoSuchContract(name.clone()))?;
            let written = settings.constructor_args.named.get(name);
            let arguments =
                arguments(&self.build.contracts[contract], written.map_or(&[], Vec::as_slice))?;
            self.check_size(contract)?;
            self.deploy(contract, *address, &arguments, U256::ZERO)?;
        }
        for (address, code) in &settings.deploy_bytecodes {
            self.create(&format!("{address}"), *address, code.clone(), U256::ZERO)?;
        }
        Ok(())
    }

    /// The contract under test.
    fn deploy_main(&mut self) -> Result<(), DeployError> {
        let Plan { contract, settings } = *self.plan;
        let args = &settings.constructor_args;
        let named = args.named.get(&self.build.contracts[contract].name);
        let written = named.unwrap_or(&args.main);
        let arguments = arguments(&self.build.contracts[contract], written)?;
        // What tests a system need not fit on a chain, unlike the system; Echidna has it so, too.
        let limit = settings.code_size;
        if let Err(too_large) = self.check_size(contract) {
            self.placed
                .warnings
                .push(format!("{too_large}, which is not applied to the contract under test"));
            self.machine.limit_code(u64::MAX);
        }
        self.deploy(contract, settings.contract_address, &arguments, settings.contract_balance)?;
        self.machine.limit_code(limit);
        Ok(())
    }

    fn deploy_libraries(&mut self) -> Result<(), DeployError> {
        for index in 0..self.build.contracts.len() {
            let contract = &self.build.contracts[index];
            if let Some(&address) = self.libraries.get(&contract.qualified_name()) {
                self.check_size(index)?;
                self.deploy(index, address, &[], U256::ZERO)?;
            }
        }
        Ok(())
    }

    fn deploy(
        &mut self,
        place: usize,
        address: Address,
        arguments: &[u8],
        value: U256,
    ) -> Result<(), DeployError> {
        let contract = &self.build.contracts[place];
        let name = || contract.name.clone();
        if !contract.is_deployable() {
            return Err(DeployError::Abstract(name()));
        }
        let mut code = contract
            .creation
            .linked(self.libraries)
            .map_err(|unlinked| DeployError::Unlinked { contract: name(), library: unlinked.0 })?;
        code.extend_from_slice(arguments);
        self.create(&contract.name, address, code, value)?;
        self.placed.places.insert(address, place);
        Ok(())
    }

    fn create(
        &mut self,
        name: &str,
        address: Address,
        code: Vec<u8>,
        value: U256,
    ) -> Result<(), DeployError> {
        let from = self.plan.settings.deployer;
        let (outcome, created) = self.machine.deploy(from, Some(address), code.into(), value);
        if created.is_some() && outcome.is_success() {
            return Ok(());
        }
        Err(DeployError::Constructor { contract: name.to_owned(), reason: reason(&outcome) })
    }

    fn set_up(&mut self) -> Result<(), DeployError> {
        let contract = &self.build.contracts[self.plan.contract];
        let set_up = contract.abi.functions().find(|function| function.signature() == "setUp()");
        let Some(set_up) = set_up else { return Ok(()) };
        let outcome = self.machine.call_within(
            &Transaction {
                from: self.plan.settings.deployer,
                to: self.plan.settings.contract_address,
                value: U256::ZERO,
                gas_price: 0,
                data: Bytes::copy_from_slice(set_up.selector().as_slice()),
            },
            LIMITS,
        );
        if outcome.is_success() {
            return Ok(());
        }
        Err(DeployError::SetUp { contract: contract.name.clone(), reason: reason(&outcome) })
    }

    fn check_size(&self, contract: usize) -> Result<(), DeployError> {
        let contract = &self.build.contracts[contract];
        let (size, limit) = (contract.runtime.bytes.len() as u64, self.plan.settings.code_size);
        if size <= limit {
            return Ok(());
        }
        Err(DeployError::TooLarge { contract: contract.name.clone(), size, limit })
    }
}

/// Encodes arguments of a constructor that are written as in Solidity.
pub fn arguments(contract: &Contract, written: &[String]) -> Result<Vec<u8>, DeployError> {
    let name = || contract.name.clone();
    let inputs = contract.abi.constructor.as_ref().map_or(&[][..], |it| &it.inputs);
    if inputs.len() != written.len() {
        let (expected, given) = (inputs.len(), written.len());
        return Err(DeployError::Arguments { contract: name(), expected, given });
    }
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for (input, text) in inputs.iter().zip(written) {
        let wrong = |reason: String| DeployError::Argument {
            contract: name(),
            argument: input.name.clone(),
            ty: input.selector_type().into_owned(),
            reason,
        };
        let ty = Type::of(input).map_err(|unknown| wrong(unknown.to_string()))?;
        values.push(script::argument(text, &ty).map_err(wrong)?);
        types.push(ty);
    }
    let with_selector = abi::encode([0; 4], &types, &values);
    Ok(with_selector[4..].to_vec())
}

/// Addresses for the libraries that the contracts need, far from those that contracts get.
pub(super) fn libraries(build: &Build, plan: &Plan<'_>) -> BTreeMap<String, Address> {
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
            if let Entry::Vacant(place) = libraries.entry(name) {
                let mut address = [0; 20];
                address[..4].copy_from_slice(b"\x11ib\x00");
                address[16..].copy_from_slice(&(library as u32 + 1).to_be_bytes());
                place.insert(Address::from(address));
                users.push(library);
            }
        }
    }
    libraries
}

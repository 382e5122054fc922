//! Selects the functions that a campaign of Foundry invariants calls, by the rules of forge.
//!
//! The rules are those of `select_contract_artifacts` and `select_contracts_and_senders` in forge's
//! `crates/evm/evm/src/executors/invariant`; `docs/fuzz.md` describes them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use alloy_json_abi::{Function, StateMutability};
use alloy_primitives::{Address, hex};
use solidity::{SolidityBuild, SolidityContract};

use super::foundry::{CREATE2_DEPLOYER, FoundryFunctionKind};
use super::target_getters::{FunctionSelector, TargetGetters};
use super::{DeployError, TargetSelectionError};
use crate::chain::{CHEATCODE_ADDRESS, CONSOLE_ADDRESS};

/// Ethereum's precompiles have the addresses from 1 to this one.
const LAST_PRECOMPILE: u8 = 0x11;

/// A contract whose functions are called.
#[derive(Debug)]
pub(super) struct InvariantTarget {
    pub(super) address: Address,
    /// Build index of the contract whose ABI applies.
    pub(super) contract: usize,
    pub(super) functions: Vec<Function>,
}

/// A contract while it is being selected.
struct SelectedContract {
    contract: usize,
    abi: BTreeMap<FunctionSelector, Function>,
    targeted: BTreeSet<FunctionSelector>,
    excluded: BTreeSet<FunctionSelector>,
}

/// Selects targets; see the module documentation.
pub(super) struct TargetSelector<'a> {
    pub(super) build: &'a SolidityBuild,
    /// Build index of the test contract.
    pub(super) test_contract: usize,
    pub(super) test_address: Address,
    /// The contracts on the chain after `setUp()` with their build index, without libraries.
    pub(super) deployed: BTreeMap<Address, usize>,
    pub(super) getters: TargetGetters,
}

/// Artifacts by build index. `targeted` has the functions to call; none means all.
#[derive(Default)]
struct ArtifactFilter {
    targeted: BTreeMap<usize, BTreeSet<FunctionSelector>>,
    excluded: BTreeSet<usize>,
}

impl TargetSelector<'_> {
    /// Returns the contracts and functions to call, sorted by address.
    pub(super) fn select_targets(&self) -> Result<Vec<InvariantTarget>, DeployError> {
        self.try_select().map_err(|source| self.to_error(source))
    }

    /// Returns the accounts that calls come from: those that the test contract names, else `usual`.
    pub(super) fn select_senders(&self, usual: Vec<Address>) -> Vec<Address> {
        let is_allowed = |sender: &Address| {
            !self.getters.excluded_senders.contains(sender)
                && !sender.is_zero()
                && *sender != CHEATCODE_ADDRESS
                && *sender != CONSOLE_ADDRESS
                && *sender != CREATE2_DEPLOYER
                && !is_precompile(*sender)
        };
        let mut senders: Vec<Address> = Vec::new();
        let named = self.getters.senders.iter().copied().filter(is_allowed);
        let named: Vec<Address> = named.collect();
        for sender in if named.is_empty() { usual } else { named } {
            if is_allowed(&sender) && !senders.contains(&sender) {
                senders.push(sender);
            }
        }
        senders
    }

    /// Returns the functions to call of contracts that a sequence creates, by build index. `created` are all that it may
    /// create. None are called if the test contract names the contracts to call.
    pub(super) fn select_created(
        &self,
        created: &BTreeSet<usize>,
    ) -> Result<Vec<(usize, Vec<Function>)>, DeployError> {
        if !self.getters.contracts.is_empty() {
            return Ok(Vec::new());
        }
        let artifacts = self.filter_artifacts().map_err(|source| self.to_error(source))?;
        let is_named = |contract: &&usize| {
            (artifacts.targeted.is_empty() || artifacts.targeted.contains_key(*contract))
                && !artifacts.excluded.contains(*contract)
        };
        let select = |&contract: &usize| {
            let mut selected = self.new_selected(contract);
            selected.targeted = artifacts.targeted.get(&contract).cloned().unwrap_or_default();
            (contract, selected.into_target(Address::ZERO).functions)
        };
        let all = created.iter().filter(is_named).map(select);
        Ok(all.filter(|(_, functions)| !functions.is_empty()).collect())
    }

    fn to_error(&self, source: TargetSelectionError) -> DeployError {
        let contract = self.build.contracts[self.test_contract].name.clone();
        DeployError::InvalidTargets { contract, source }
    }

    fn try_select(&self) -> Result<Vec<InvariantTarget>, TargetSelectionError> {
        let artifacts = self.filter_artifacts()?;
        let mut selected: BTreeMap<Address, SelectedContract> = self
            .deployed
            .iter()
            .filter(|(address, contract)| self.is_selected(**address, **contract, &artifacts))
            .map(|(address, contract)| (*address, self.new_selected(*contract)))
            .collect();
        self.add_interfaces(&mut selected);
        self.apply_selectors(&artifacts, &mut selected)?;
        if selected.is_empty() {
            return Err(TargetSelectionError::NoContracts);
        }
        let targets: Vec<InvariantTarget> = selected
            .into_iter()
            .map(|(address, selected)| selected.into_target(address))
            .filter(|target| !target.functions.is_empty())
            .collect();
        if targets.is_empty() { Err(TargetSelectionError::NoFunctions) } else { Ok(targets) }
    }

    /// Evaluates the getters that name artifacts.
    ///
    /// `targetArtifactSelectors` has precedence over `excludeArtifacts`, which has precedence over `targetArtifacts`.
    fn filter_artifacts(&self) -> Result<ArtifactFilter, TargetSelectionError> {
        let mut filter = ArtifactFilter::default();
        for (name, selectors) in &self.getters.artifact_selectors {
            let artifact = self.find_artifact(name)?;
            let known = collect_functions(&self.build.contracts[artifact]);
            for selector in selectors {
                check_selector(name, *selector, &known)?;
            }
            filter.targeted.entry(artifact).or_default().extend(selectors);
        }
        for name in &self.getters.excluded_artifacts {
            filter.excluded.insert(self.find_artifact(name)?);
        }
        for (index, contract) in self.build.contracts.iter().enumerate() {
            if !contract.abi.functions().any(is_mutable) {
                filter.excluded.insert(index);
            }
        }
        for name in &self.getters.artifacts {
            let artifact = self.find_artifact(name)?;
            if !filter.excluded.contains(&artifact) {
                filter.targeted.entry(artifact).or_default();
            }
        }
        Ok(filter)
    }

    /// Returns the build index of an artifact, given as `Name` or `path:Name`.
    fn find_artifact(&self, name: &str) -> Result<usize, TargetSelectionError> {
        let index = self.build.contracts.iter().position(|it| is_named(it, name));
        index.ok_or_else(|| TargetSelectionError::UnknownArtifact { name: name.to_owned() })
    }

    fn is_selected(&self, address: Address, contract: usize, artifacts: &ArtifactFilter) -> bool {
        let TargetGetters { contracts, excluded_contracts, .. } = &self.getters;
        if address == self.test_address {
            return contracts.contains(&address);
        }
        (contracts.is_empty() || contracts.contains(&address))
            && !excluded_contracts.contains(&address)
            && (artifacts.targeted.is_empty() || artifacts.targeted.contains_key(&contract))
            && !artifacts.excluded.contains(&contract)
    }

    fn new_selected(&self, contract: usize) -> SelectedContract {
        SelectedContract {
            contract,
            abi: collect_functions(&self.build.contracts[contract]),
            targeted: BTreeSet::new(),
            excluded: BTreeSet::new(),
        }
    }

    /// Gives addresses the functions of the interfaces that `targetInterfaces` names.
    fn add_interfaces(&self, selected: &mut BTreeMap<Address, SelectedContract>) {
        let mut combined: BTreeMap<Address, SelectedContract> = BTreeMap::new();
        for (address, names) in &self.getters.interfaces {
            for name in names {
                let found = self.build.contracts.iter().position(|it| is_named(it, name));
                let Some(index) = found else { continue };
                let abi = collect_functions(&self.build.contracts[index]);
                combined
                    .entry(*address)
                    .or_insert_with(|| self.new_selected(index))
                    .abi
                    .extend(abi);
            }
        }
        selected.extend(combined);
    }

    fn apply_selectors(
        &self,
        artifacts: &ArtifactFilter,
        selected: &mut BTreeMap<Address, SelectedContract>,
    ) -> Result<(), TargetSelectionError> {
        for (address, contract) in &self.deployed {
            if let Some(selectors) = artifacts.targeted.get(contract) {
                let selectors: Vec<_> = selectors.iter().copied().collect();
                self.add_selectors(*address, &selectors, false, selected)?;
            }
        }
        for (address, selectors) in &self.getters.selectors {
            self.add_selectors(*address, selectors, false, selected)?;
        }
        for (address, selectors) in &self.getters.excluded_selectors {
            self.add_selectors(*address, selectors, true, selected)?;
        }
        // Of the test contract, only functions that are not part of the harness are called, unless it names others.
        if let Some(own) = selected.get_mut(&self.test_address)
            && own.targeted.is_empty()
        {
            let callable = own.abi.iter().filter(|(_, function)| {
                is_mutable(function) && !FoundryFunctionKind::of(function).is_reserved()
            });
            own.targeted = callable.map(|(selector, _)| *selector).collect();
            if own.targeted.is_empty() {
                selected.remove(&self.test_address);
            }
        }
        Ok(())
    }

    fn add_selectors(
        &self,
        address: Address,
        selectors: &[FunctionSelector],
        excludes: bool,
        selected: &mut BTreeMap<Address, SelectedContract>,
    ) -> Result<(), TargetSelectionError> {
        if selectors.is_empty() {
            return Ok(());
        }
        let entry = match selected.entry(address) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let contract = self.deployed.get(&address);
                let contract = contract.ok_or(TargetSelectionError::UnknownAddress {
                    getter: if excludes { "excludeSelectors" } else { "targetSelectors" },
                    address,
                })?;
                entry.insert(self.new_selected(*contract))
            }
        };
        let name = &self.build.contracts[entry.contract].name;
        for selector in selectors {
            check_selector(name, *selector, &entry.abi)?;
            let list = if excludes { &mut entry.excluded } else { &mut entry.targeted };
            list.insert(*selector);
        }
        Ok(())
    }
}

impl SelectedContract {
    fn into_target(self, address: Address) -> InvariantTarget {
        let Self { contract, abi, targeted, excluded } = self;
        let is_called = |(selector, function): &(FunctionSelector, Function)| {
            let is_wanted = match targeted.is_empty() {
                true => is_mutable(function),
                false => targeted.contains(selector),
            };
            is_wanted && !excluded.contains(selector)
        };
        let functions = abi.into_iter().filter(is_called).map(|(_, function)| function).collect();
        InvariantTarget { address, contract, functions }
    }
}

fn collect_functions(contract: &SolidityContract) -> BTreeMap<FunctionSelector, Function> {
    let functions = contract.abi.functions();
    functions.map(|function| (function.selector().0, function.clone())).collect()
}

fn is_mutable(function: &Function) -> bool {
    !matches!(function.state_mutability, StateMutability::Pure | StateMutability::View)
}

fn is_named(contract: &SolidityContract, name: &str) -> bool {
    contract.name == name || contract.qualified_name() == name
}

fn is_precompile(address: Address) -> bool {
    address.0[..19].iter().all(|byte| *byte == 0) && address.0[19] <= LAST_PRECOMPILE
}

fn check_selector(
    contract: &str,
    selector: FunctionSelector,
    known: &BTreeMap<FunctionSelector, Function>,
) -> Result<(), TargetSelectionError> {
    if known.contains_key(&selector) {
        return Ok(());
    }
    let selector = hex::encode_prefixed(selector);
    Err(TargetSelectionError::UnknownSelector { contract: contract.to_owned(), selector })
}

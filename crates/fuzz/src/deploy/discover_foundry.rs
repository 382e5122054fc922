//! Selects the functions to call and the tests of a contract that is tested by Foundry's rules.
//!
//! Invariants call the targets that the test contract names (`invariant_targets`), never the test contract itself unless
//! it is one of them. Unit tests are called on the state after `setUp()`.

use std::collections::BTreeSet;

use alloy_json_abi::{Function, Param};
use alloy_primitives::{Address, U256};
use solidity::SolidityContract;

use super::created_contracts;
use super::discover::{check_selectors, check_test_signatures, create_property, is_allowed};
use super::fixtures::TestFixtures;
use super::foundry::{FoundryCampaign, FoundryFunctionKind};
use super::invariant_targets::{InvariantTarget, TargetSelector};
use super::target_getters::TargetGetters;
use super::{DeployError, DeployPlan, TestSignatureError};
use crate::abi::AbiType;
use crate::chain::EvmMachine;
use crate::config::TestMode;
use crate::target::{
    DeployedContract, FunctionId, FuzzTarget, TargetFunction, TargetTest, TestKind,
};

/// Name of the test that holds while no target violates an assertion.
const HANDLER_ASSERTION: &str = "assertions of the targets";

/// Maximum senders that are taken from the state after `setUp()`, in addition to the configured ones.
const MAX_KNOWN_SENDERS: usize = 16;

/// The chain after `setUp()`.
pub(super) struct FoundryChain<'a> {
    pub(super) machine: &'a mut EvmMachine,
    /// Addresses of linked libraries, which are no targets.
    pub(super) libraries: BTreeSet<Address>,
    /// `setUp()` succeeded, so that the targets are known.
    pub(super) is_set_up: bool,
}

/// Adds functions and tests to the target, and the settings that its getters decide.
///
/// Returns an error if nothing can be called or there are no tests.
pub(super) fn add_functions_and_tests(
    target: &mut FuzzTarget,
    plan: &DeployPlan<'_>,
    campaign: &mut FoundryCampaign,
    chain: FoundryChain<'_>,
) -> Result<(), DeployError> {
    let contract = &target.build.clone().contracts[plan.contract];
    target.foundry.is_active = true;
    add_known_functions(target, plan)?;
    let fixtures = TestFixtures::read(chain.machine, contract, plan.settings);
    let invariants = add_tests(target, plan, campaign, &fixtures)?;
    if campaign.derives_limit {
        // Each table test was counted as one call.
        let rows = target.seeds.len() as u64;
        campaign.settings.test_limit = campaign.settings.test_limit.saturating_add(rows);
    }
    let senders = match invariants > 0 && chain.is_set_up {
        true => add_targets(target, plan, chain, &fixtures)?,
        false => campaign.settings.senders.clone(),
    };
    if target.tests.is_empty() {
        let expected = "a function invariant*() or test*(), or other filters".to_owned();
        return Err(DeployError::NoTests { contract: contract.name.clone(), expected });
    }
    let mut settings = campaign.settings.clone();
    if !settings.foundry.given.contains("sender") {
        settings.senders = senders;
    }
    target.settings = settings.into();
    let mut warnings = std::mem::take(&mut campaign.warnings);
    warnings.dedup();
    target.warnings.extend(warnings);
    Ok(())
}

/// Adds the functions of all deployed contracts, so that they have an id. Functions with unknown types are left out.
fn add_known_functions(target: &mut FuzzTarget, plan: &DeployPlan<'_>) -> Result<(), DeployError> {
    let build = target.build.clone();
    for index in 0..target.contracts.len() {
        let DeployedContract { address, contract, .. } = target.contracts[index];
        let contract = &build.contracts[contract];
        let mut functions: Vec<TargetFunction> = (contract.abi.functions())
            .filter_map(|function| TargetFunction::from_function(index, address, function).ok())
            .collect();
        functions.sort_by(|a, b| a.signature.cmp(&b.signature));
        if address == plan.settings.contract_address {
            check_selectors(contract, &functions)?;
            check_test_signatures(contract, &functions, plan)?;
        }
        target.functions.extend(functions);
    }
    Ok(())
}

/// Adds the tests of the test contract. Returns the number of those that are checked between calls.
fn add_tests(
    target: &mut FuzzTarget,
    plan: &DeployPlan<'_>,
    campaign: &mut FoundryCampaign,
    fixtures: &TestFixtures,
) -> Result<usize, DeployError> {
    let build = target.build.clone();
    let contract = &build.contracts[plan.contract];
    let mut after = None;
    let mut invariants = 0;
    for index in 0..target.functions.len() {
        let function = target.functions[index].clone();
        if function.address != plan.settings.contract_address {
            continue;
        }
        let id = FunctionId(index as u32);
        let kind = FoundryFunctionKind::from_signature(&function.name, !function.inputs.is_empty());
        let is_table = kind == FoundryFunctionKind::Table;
        let mut not_run = None;
        if kind == FoundryFunctionKind::AfterInvariant {
            after = Some(id);
        }
        if !campaign.settings.foundry.filter.allows_name(&function.signature) {
            continue;
        }
        let test = match create_property(&function, id, plan) {
            Some(property) => Some(property),
            None => create_test(&function, id, kind, plan).map_err(|reason| {
                DeployError::InvalidTest {
                    contract: contract.name.clone(),
                    function: function.signature.clone(),
                    reason,
                }
            })?,
        };
        let Some(kind) = test else { continue };
        if matches!(kind, TestKind::Unit { .. }) {
            if !is_allowed(&function, contract, plan) {
                continue;
            }
            target.units.insert(id);
            let params = find_params(contract, &function.signature);
            if is_table {
                let sender = plan.settings.property_sender;
                not_run = fixtures.add_table(target, id, params, sender);
            } else {
                let own = campaign.test_settings(&contract.name, &function.name)?;
                let runs = if function.inputs.is_empty() { 1 } else { own.fuzz_runs };
                target.foundry.unit_runs.insert(id, runs);
                fixtures.add_to_function(target, id, params);
                target.callable.push(id);
            }
        } else {
            invariants += 1;
            let own = campaign.test_settings(&contract.name, &function.name)?;
            if own.fail_on_revert && matches!(kind, TestKind::Invariant { .. }) {
                target.reverts_fail.insert(target.tests.len());
            }
            let (depth, longest) = (own.invariant_depth, plan.settings.sequence_length);
            if depth < longest && !campaign.settings.foundry.given.contains("seqLen") {
                target.foundry.depths.insert(target.tests.len(), depth.get());
            }
        }
        let name = if kind.is_checked_by_call() { function.name } else { function.signature };
        target.tests.push(TargetTest { name, contract: contract.name.clone(), kind, not_run });
    }
    if invariants > 0 {
        let kinds = after.map(|function| ("afterInvariant", TestKind::AfterInvariant { function }));
        let kinds = kinds.into_iter().chain([(HANDLER_ASSERTION, TestKind::HandlerAssertion)]);
        target.tests.extend(kinds.map(|(name, kind)| TargetTest {
            name: name.to_owned(),
            contract: contract.name.clone(),
            kind,
            not_run: None,
        }));
    }
    Ok(invariants)
}

/// Returns the test that a function is, if any.
fn create_test(
    function: &TargetFunction,
    id: FunctionId,
    kind: FoundryFunctionKind,
    plan: &DeployPlan<'_>,
) -> Result<Option<TestKind>, TestSignatureError> {
    Ok(match kind {
        FoundryFunctionKind::Invariant if !function.inputs.is_empty() => {
            return Err(TestSignatureError::TakesArguments);
        }
        FoundryFunctionKind::Invariant if function.outputs == [AbiType::Int(256)] => {
            Some(TestKind::Maximum { function: id })
        }
        FoundryFunctionKind::Invariant => Some(TestKind::Invariant { function: id }),
        FoundryFunctionKind::Unit | FoundryFunctionKind::Fuzz | FoundryFunctionKind::Table
            if plan.settings.test_mode == TestMode::Foundry =>
        {
            Some(TestKind::Unit { function: id })
        }
        _ => None,
    })
}

/// Adds the functions that the campaign calls. Returns the senders of the calls.
fn add_targets(
    target: &mut FuzzTarget,
    plan: &DeployPlan<'_>,
    chain: FoundryChain<'_>,
    fixtures: &TestFixtures,
) -> Result<Vec<Address>, DeployError> {
    let FoundryChain { machine, libraries, .. } = chain;
    let build = target.build.clone();
    let getters = TargetGetters::read(machine, &build.contracts[plan.contract], plan.settings)?;
    target.warnings.extend(getters.warnings.iter().cloned());
    // Contracts of the remote chain were not deployed by the test, even if the project has their source.
    let mut is_own =
        |address| getters.contracts.contains(&address) || !machine.has_remote_code(address);
    let deployed: Vec<_> = (target.contracts.iter())
        .map(|it| (it.address, it.contract))
        .filter(|(address, _)| !libraries.contains(address))
        .collect();
    let deployed = deployed.into_iter().filter(|(address, _)| is_own(*address)).collect();
    let created = created_contracts::find_created_contracts(target, plan.settings.contract_address);
    let selector = TargetSelector {
        build: &build,
        test_contract: plan.contract,
        test_address: plan.settings.contract_address,
        deployed,
        getters,
    };
    for selected in selector.select_targets()? {
        for function in &selected.functions {
            let id = add_callable(target, &selected, function, plan)?;
            fixtures.add_to_function(target, id, &function.inputs);
        }
    }
    let senders = selector.select_senders(list_senders(target, plan, machine));
    for (contract, functions) in selector.select_created(&created)? {
        add_created_functions(target, contract, &functions, plan)?;
    }
    Ok(senders)
}

/// Adds functions of a contract that a sequence may create.
fn add_created_functions(
    target: &mut FuzzTarget,
    contract: usize,
    functions: &[Function],
    plan: &DeployPlan<'_>,
) -> Result<(), DeployError> {
    let build = target.build.clone();
    let index = find_or_add_contract(target, Address::ZERO, contract);
    let mut ids = Vec::new();
    for function in functions {
        let added = TargetFunction::from_function(index, Address::ZERO, function);
        let added = added.map_err(|source| DeployError::UnknownType {
            contract: build.contracts[contract].name.clone(),
            source,
        })?;
        if is_allowed(&added, &build.contracts[contract], plan) {
            ids.push(FunctionId(target.functions.len() as u32));
            target.functions.push(added);
        }
    }
    if !ids.is_empty() {
        target.foundry.created.insert(contract, ids);
    }
    Ok(())
}

/// Adds a function to those that are called.
fn add_callable(
    target: &mut FuzzTarget,
    selected: &InvariantTarget,
    function: &Function,
    plan: &DeployPlan<'_>,
) -> Result<FunctionId, DeployError> {
    let InvariantTarget { address, contract, .. } = *selected;
    let known = target.find_function(&function.signature(), Some(address));
    let id = match known {
        Some(id) => id,
        None => {
            // A function of an interface: the contract at this address is a proxy, or not part of the build.
            let index = find_or_add_contract(target, address, contract);
            let added = TargetFunction::from_function(index, address, function);
            let added = added.map_err(|source| DeployError::UnknownType {
                contract: target.build.contracts[contract].name.clone(),
                source,
            })?;
            target.functions.push(added);
            FunctionId(target.functions.len() as u32 - 1)
        }
    };
    let is_allowed = is_allowed(target.function(id), &target.build.contracts[contract], plan);
    if is_allowed && !target.callable.contains(&id) {
        target.callable.push(id);
    }
    Ok(id)
}

fn find_params<'a>(contract: &'a SolidityContract, signature: &str) -> &'a [Param] {
    let function = contract.abi.functions().find(|function| function.signature() == signature);
    function.map_or(&[], |function| &function.inputs)
}

fn find_or_add_contract(target: &mut FuzzTarget, address: Address, contract: usize) -> usize {
    let is_same = |it: &DeployedContract| it.address == address && it.contract == contract;
    target.contracts.iter().position(is_same).unwrap_or_else(|| {
        let name = target.build.contracts[contract].name.clone();
        target.contracts.push(DeployedContract { name, contract, address });
        target.contracts.len() - 1
    })
}

/// Returns the senders of a campaign whose test contract names none.
///
/// Forge makes up addresses, and takes some from the state. The state's addresses matter, because an owner may be among
/// them.
fn list_senders(target: &FuzzTarget, plan: &DeployPlan<'_>, machine: &EvmMachine) -> Vec<Address> {
    let settings = plan.settings;
    let deployed = target.contracts.iter().map(|it| it.address);
    let words = machine.stored_words();
    let stored = words.into_iter().filter(is_address_like);
    let stored = stored.map(|word| Address::from_word(word.into()));
    let known = [settings.contract_address, settings.deployer].into_iter();
    let known = known.chain(stored).chain(deployed).take(MAX_KNOWN_SENDERS);
    settings.senders.iter().copied().chain(known).collect()
}

/// Returns true for words that are more likely an address than a number.
fn is_address_like(word: &U256) -> bool {
    (U256::ONE << 96..U256::ONE << 160).contains(word)
}

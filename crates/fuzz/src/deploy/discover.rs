//! Selects the functions of the deployed contracts to call, and those that are tests.

use alloy_json_abi::{JsonAbi, StateMutability};
use solidity::SolidityContract;

use super::{DeployError, DeployPlan, TestSignatureError};
use crate::abi::AbiType;
use crate::config::TestMode;
use crate::target::{
    DeployedContract, FallbackContract, FunctionId, FuzzTarget, TargetFunction, TargetTest,
    TestKind,
};

/// Adds functions, fallbacks and tests to the target.
///
/// Returns an error if nothing can be called or there are no tests.
pub(super) fn add_functions_and_tests(
    target: &mut FuzzTarget,
    plan: &DeployPlan<'_>,
) -> Result<(), DeployError> {
    for index in 0..target.contracts.len() {
        add_contract(target, index, plan)?;
    }
    let name = || target.build.contracts[plan.contract].name.clone();
    if plan.settings.test_mode == TestMode::Assertion && plan.settings.all_contracts {
        // Echidna uses the same name.
        let event_name = "AssertionFailed(..)".to_owned();
        target.tests.push(TargetTest {
            name: event_name,
            contract: name(),
            kind: TestKind::AssertionEvent,
            not_run: None,
        });
    }
    // A contract that has only properties can still be fuzzed, because time passes.
    let has_nothing_to_run = target.tests.is_empty() || has_filtered_functions(target, plan);
    if target.callable.is_empty() && target.fallbacks.is_empty() && has_nothing_to_run {
        return Err(DeployError::NoFunctions { contract: name() });
    }
    if target.tests.is_empty() && plan.settings.test_mode != TestMode::Exploration {
        let expected = match plan.settings.test_mode {
            TestMode::Optimization => {
                format!("a function {}opt_*() returns (int256)", plan.settings.prefix)
            }
            _ => format!("a function {}*() returns (bool)", plan.settings.prefix),
        };
        return Err(DeployError::NoTests { contract: name(), expected });
    }
    Ok(())
}

/// Adds the functions and tests of one deployed contract.
fn add_contract(
    target: &mut FuzzTarget,
    index: usize,
    plan: &DeployPlan<'_>,
) -> Result<(), DeployError> {
    let DeployedContract { address, contract, ref name } = target.contracts[index];
    let build = target.build.clone();
    let contract = &build.contracts[contract];
    let is_under_test = address == plan.settings.contract_address;
    let is_reached = is_under_test || plan.settings.all_contracts;
    if is_reached && plan.settings.test_destruction {
        let contract = name.clone();
        let name = format!("{name} is not self-destructed");
        let kind = TestKind::Destruction { address };
        target.tests.push(TargetTest { name, contract, kind, not_run: None });
    }
    let functions = TargetFunction::from_abi(index, address, &contract.abi)
        .map_err(|source| DeployError::UnknownType { contract: contract.name.clone(), source })?;
    if is_under_test {
        check_selectors(contract, &functions)?;
        check_test_signatures(contract, &functions, plan)?;
    }
    for function in functions {
        let id = FunctionId(target.functions.len() as u32);
        let is_admitted = is_allowed(&function, contract, plan);
        // A test that observes a function which is never called would always hold.
        let test = is_under_test
            .then(|| create_test(&function, id, contract, plan))
            .flatten()
            .filter(|test| test.kind.is_checked_by_call() || is_admitted);
        let is_test = test.as_ref().is_some_and(|test| test.kind.is_checked_by_call());
        if let Some(TargetTest { kind: TestKind::Unit { function }, .. }) = &test {
            target.units.insert(*function);
        }
        target.tests.extend(test);
        if !is_test && is_reached && !is_test_helper(&function, plan) && is_admitted {
            target.callable.push(id);
        }
        target.functions.push(function);
    }
    if is_reached {
        target.fallbacks.extend(find_fallback(address, &contract.abi));
    }
    Ok(())
}

/// Returns true if the settings exclude a function of the contract under test that could be called.
fn has_filtered_functions(target: &FuzzTarget, plan: &DeployPlan<'_>) -> bool {
    let contract = &target.build.contracts[plan.contract];
    target.functions.iter().any(|function| {
        function.address == plan.settings.contract_address
            && !is_test_helper(function, plan)
            && !is_allowed(function, contract, plan)
    })
}

/// Returns the fallback description of a contract, or `None` if it has neither `fallback` nor `receive`.
fn find_fallback(address: alloy_primitives::Address, abi: &JsonAbi) -> Option<FallbackContract> {
    if abi.fallback.is_none() && abi.receive.is_none() {
        return None;
    }
    let pays =
        |fallback: &alloy_json_abi::Fallback| fallback.state_mutability == StateMutability::Payable;
    let is_payable = abi.receive.is_some() || abi.fallback.as_ref().is_some_and(pays);
    Some(FallbackContract { address, takes_data: abi.fallback.is_some(), is_payable })
}

/// Returns an error if the selector of any function is missing from the bytecode.
pub(super) fn check_selectors(
    contract: &SolidityContract,
    functions: &[TargetFunction],
) -> Result<(), DeployError> {
    let code = &contract.runtime.bytes;
    let is_missing = |function: &&TargetFunction| {
        // Leading zeros are not pushed.
        let digits = function.selector.iter().position(|&byte| byte != 0).unwrap_or(3);
        let wanted = &function.selector[digits..];
        !code.windows(wanted.len()).any(|window| window == wanted)
    };
    let mut missing = functions.iter().filter(is_missing);
    let Some(first) = missing.next() else { return Ok(()) };
    Err(DeployError::AbiMismatch {
        contract: contract.name.clone(),
        count: 1 + missing.count(),
        first: first.signature.clone(),
    })
}

/// Returns an error if a function has the name of a test but not its signature; it would be silently ignored.
pub(super) fn check_test_signatures(
    contract: &SolidityContract,
    functions: &[TargetFunction],
    plan: &DeployPlan<'_>,
) -> Result<(), DeployError> {
    let (returns, otherwise) = match plan.settings.test_mode {
        TestMode::Property => (AbiType::Bool, TestSignatureError::ReturnsNoBool),
        TestMode::Optimization => (AbiType::Int(256), TestSignatureError::ReturnsNoInteger),
        _ => return Ok(()),
    };
    for function in functions.iter().filter(|it| it.name.starts_with(&plan.settings.prefix)) {
        let reverts = function.name[plan.settings.prefix.len()..].starts_with("revert_");
        let reason = if !function.inputs.is_empty() {
            TestSignatureError::TakesArguments
        } else if !reverts && function.outputs != [returns.clone()] {
            otherwise
        } else {
            continue;
        };
        let (contract, function) = (contract.name.clone(), function.signature.clone());
        return Err(DeployError::InvalidTest { contract, function, reason });
    }
    Ok(())
}

/// Returns true for functions that belong to the test harness, such as `setUp()`.
fn is_test_helper(function: &TargetFunction, plan: &DeployPlan<'_>) -> bool {
    function.signature == "setUp()"
        || function.signature == "failed()"
        || function.signature == "IS_TEST()"
        || (plan.settings.test_mode != TestMode::Optimization
            && function.inputs.is_empty()
            && function.name.starts_with(&plan.settings.prefix))
}

/// Returns the property that the function is by its prefix, if any.
pub(super) fn create_property(
    function: &TargetFunction,
    id: FunctionId,
    plan: &DeployPlan<'_>,
) -> Option<TestKind> {
    let rest = function.name.strip_prefix(&plan.settings.prefix)?;
    if !function.inputs.is_empty() {
        None
    } else if rest.starts_with("revert_") {
        Some(TestKind::MustRevert { function: id })
    } else {
        (function.outputs == [AbiType::Bool]).then_some(TestKind::Property { function: id })
    }
}

/// Returns the test that the function represents in the current test mode, if any.
fn create_test(
    function: &TargetFunction,
    id: FunctionId,
    contract: &SolidityContract,
    plan: &DeployPlan<'_>,
) -> Option<TargetTest> {
    let is_bare = function.inputs.is_empty();
    let named = |suffix: &str| {
        function
            .name
            .strip_prefix(&plan.settings.prefix)
            .is_some_and(|rest| rest.starts_with(suffix))
    };
    let kind = match plan.settings.test_mode {
        TestMode::Property | TestMode::Foundry => {
            if let Some(property) = create_property(function, id, plan) {
                property
            } else if is_bare && function.name.starts_with("invariant") {
                TestKind::Invariant { function: id }
            } else if plan.settings.test_mode == TestMode::Foundry
                && function.name.starts_with("test")
            {
                TestKind::Unit { function: id }
            } else {
                return None;
            }
        }
        TestMode::Optimization
            if is_bare && named("") && function.outputs == [AbiType::Int(256)] =>
        {
            TestKind::Maximum { function: id }
        }
        TestMode::Assertion if !is_test_helper(function, plan) => {
            TestKind::Assertion { function: id }
        }
        TestMode::Overflow if !is_test_helper(function, plan) => {
            TestKind::Overflow { function: id }
        }
        TestMode::Assertion
        | TestMode::Overflow
        | TestMode::Optimization
        | TestMode::Exploration => return None,
    };
    let name =
        if kind.is_checked_by_call() { function.name.clone() } else { function.signature.clone() };
    Some(TargetTest { name, contract: contract.name.clone(), kind, not_run: None })
}

/// Returns true if the settings allow calling the function.
pub(super) fn is_allowed(
    function: &TargetFunction,
    contract: &SolidityContract,
    plan: &DeployPlan<'_>,
) -> bool {
    plan.settings.filter.allows_function(&contract.name, &function.signature)
        && !(plan.settings.exclude_view_pure && function.is_view)
}

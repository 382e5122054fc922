//! Which functions of the deployed contracts are called, and which are tests.

use alloy_json_abi::{JsonAbi, StateMutability};
use solidity::Contract;

use super::{DeployError, Malformed, Plan};
use crate::abi::Type;
use crate::config::TestMode;
use crate::target::{Deployed, Function, FunctionId, Open, Target, Test, TestKind};

/// Adds what is called and what is tested to the target.
pub(super) fn functions(target: &mut Target, plan: &Plan<'_>) -> Result<(), DeployError> {
    for index in 0..target.contracts.len() {
        add_contract(target, index, plan)?;
    }
    let name = || target.build.contracts[plan.contract].name.clone();
    if plan.settings.test_mode == TestMode::Assertion && plan.settings.all_contracts {
        let name_of_echidna = "AssertionFailed(..)".to_owned();
        target.tests.push(Test { name: name_of_echidna, contract: name(), kind: TestKind::Event });
    }
    // A contract of properties alone is run, too: time goes by.
    let has_nothing = target.tests.is_empty() || has_filtered(target, plan);
    if target.callable.is_empty() && target.open.is_empty() && has_nothing {
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

/// Adds one contract that is on the chain.
fn add_contract(target: &mut Target, index: usize, plan: &Plan<'_>) -> Result<(), DeployError> {
    let Deployed { address, contract, ref name } = target.contracts[index];
    let build = target.build.clone();
    let contract = &build.contracts[contract];
    let is_under_test = address == plan.settings.contract_address;
    let is_reached = is_under_test || plan.settings.all_contracts;
    if is_reached && plan.settings.test_destruction {
        let contract = name.clone();
        let name = format!("{name} is not self-destructed");
        target.tests.push(Test { name, contract, kind: TestKind::Destruction { address } });
    }
    let functions = Function::all(index, address, &contract.abi)
        .map_err(|source| DeployError::Type { contract: contract.name.clone(), source })?;
    if is_under_test {
        check_selectors(contract, &functions)?;
        check_tests(contract, &functions, plan)?;
    }
    for function in functions {
        let id = FunctionId(target.functions.len() as u32);
        let is_admitted = is_admitted(&function, contract, plan);
        // What is never called cannot break anything: a test that watches it would always hold.
        let test = is_under_test
            .then(|| test_of(&function, id, contract, plan))
            .flatten()
            .filter(|test| test.kind.is_own_call() || is_admitted);
        let is_test = test.as_ref().is_some_and(|test| test.kind.is_own_call());
        if let Some(Test { kind: TestKind::Unit { function }, .. }) = &test {
            target.units.insert(*function);
        }
        target.tests.extend(test);
        if !is_test && is_reached && !is_special(&function, plan) && is_admitted {
            target.callable.push(id);
        }
        target.functions.push(function);
    }
    if is_reached {
        target.open.extend(open(address, &contract.abi));
    }
    Ok(())
}

/// True if a function that could be called is not, because the settings say so.
fn has_filtered(target: &Target, plan: &Plan<'_>) -> bool {
    let contract = &target.build.contracts[plan.contract];
    target.functions.iter().any(|function| {
        function.address == plan.settings.contract_address
            && !is_special(function, plan)
            && !is_admitted(function, contract, plan)
    })
}

/// How the contract takes bytes or value that call no function.
fn open(address: alloy_primitives::Address, abi: &JsonAbi) -> Option<Open> {
    if abi.fallback.is_none() && abi.receive.is_none() {
        return None;
    }
    let pays =
        |fallback: &alloy_json_abi::Fallback| fallback.state_mutability == StateMutability::Payable;
    let is_payable = abi.receive.is_some() || abi.fallback.as_ref().is_some_and(pays);
    Some(Open { address, takes_data: abi.fallback.is_some(), is_payable })
}

/// Every function's selector stands in the code that dispatches it.
fn check_selectors(contract: &Contract, functions: &[Function]) -> Result<(), DeployError> {
    let code = &contract.runtime.bytes;
    let is_missing = |function: &&Function| {
        // Leading zeros are not pushed.
        let digits = function.selector.iter().position(|&byte| byte != 0).unwrap_or(3);
        let wanted = &function.selector[digits..];
        !code.windows(wanted.len()).any(|window| window == wanted)
    };
    let mut missing = functions.iter().filter(is_missing);
    let Some(first) = missing.next() else { return Ok(()) };
    Err(DeployError::Mismatch {
        contract: contract.name.clone(),
        count: 1 + missing.count(),
        first: first.signature.clone(),
    })
}

/// A function that is called as a test and cannot be one would go unnoticed.
fn check_tests(
    contract: &Contract,
    functions: &[Function],
    plan: &Plan<'_>,
) -> Result<(), DeployError> {
    let (returns, otherwise) = match plan.settings.test_mode {
        TestMode::Property => (Type::Bool, Malformed::ReturnsNoBool),
        TestMode::Optimization => (Type::Int(256), Malformed::ReturnsNoNumber),
        _ => return Ok(()),
    };
    for function in functions.iter().filter(|it| it.name.starts_with(&plan.settings.prefix)) {
        let reverts = function.name[plan.settings.prefix.len()..].starts_with("revert_");
        let reason = if !function.inputs.is_empty() {
            Malformed::TakesArguments
        } else if !reverts && function.outputs != [returns.clone()] {
            otherwise
        } else {
            continue;
        };
        let (contract, function) = (contract.name.clone(), function.signature.clone());
        return Err(DeployError::NoTest { contract, function, reason });
    }
    Ok(())
}

/// Functions that belong to the machinery of tests.
fn is_special(function: &Function, plan: &Plan<'_>) -> bool {
    function.signature == "setUp()"
        || function.signature == "failed()"
        || function.signature == "IS_TEST()"
        || (plan.settings.test_mode != TestMode::Optimization
            && function.inputs.is_empty()
            && function.name.starts_with(&plan.settings.prefix))
}

fn test_of(
    function: &Function,
    id: FunctionId,
    contract: &Contract,
    plan: &Plan<'_>,
) -> Option<Test> {
    let is_bare = function.inputs.is_empty();
    let named = |suffix: &str| {
        function
            .name
            .strip_prefix(&plan.settings.prefix)
            .is_some_and(|rest| rest.starts_with(suffix))
    };
    let kind = match plan.settings.test_mode {
        TestMode::Property | TestMode::Foundry => {
            if is_bare && named("revert_") {
                TestKind::MustRevert { function: id }
            } else if is_bare && named("") && function.outputs == [Type::Bool] {
                TestKind::Property { function: id }
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
        TestMode::Optimization if is_bare && named("") && function.outputs == [Type::Int(256)] => {
            TestKind::Maximum { function: id }
        }
        TestMode::Assertion if !is_special(function, plan) => TestKind::Assertion { function: id },
        TestMode::Overflow if !is_special(function, plan) => TestKind::Overflow { function: id },
        TestMode::Assertion
        | TestMode::Overflow
        | TestMode::Optimization
        | TestMode::Exploration => return None,
    };
    let name = if kind.is_own_call() { function.name.clone() } else { function.signature.clone() };
    Some(Test { name, contract: contract.name.clone(), kind })
}

/// Whether the settings let a function be called.
fn is_admitted(function: &Function, contract: &Contract, plan: &Plan<'_>) -> bool {
    plan.settings.filter.admits(&contract.name, &function.signature)
        && !(plan.settings.exclude_view_pure && function.is_view)
}

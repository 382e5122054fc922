//! Targets that need no compiler: functions by their signatures, and no code.

use std::collections::HashSet;
use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, address};
use fuzz::abi::Type;
use fuzz::chain::{Codes, Setup, State};
use fuzz::target::{Deployed, Function, Target};

pub(crate) const MAIN: Address = address!("0x00a329c0648769a73afac7f9381e08fb43dbea72");
pub(crate) const SENDER: Address = address!("0x0000000000000000000000000000000000010000");

/// A contract `Main` with these functions.
pub(crate) fn target(functions: &[&str]) -> Target {
    target_at(MAIN, functions)
}

pub(crate) fn target_at(address: Address, functions: &[&str]) -> Target {
    let abi = JsonAbi::parse(functions.iter().copied()).unwrap();
    let functions = Function::all(0, address, &abi).unwrap();
    deployed(vec![("Main", address)], functions)
}

/// A contract with functions `f0`, `f1` and so on that take these types, in this order.
pub(crate) fn target_of(inputs: &[Vec<Type>]) -> Target {
    let functions = inputs.iter().enumerate().map(|(index, inputs)| {
        let name = format!("f{index}");
        let signature = format!("{name}{}", Type::Tuple(inputs.clone()));
        Function {
            contract: 0,
            address: MAIN,
            selector: alloy_primitives::keccak256(&signature)[..4].try_into().unwrap(),
            name,
            signature,
            inputs: inputs.clone(),
            outputs: Vec::new(),
            is_payable: false,
            is_view: false,
        }
    });
    deployed(vec![("Main", MAIN)], functions.collect())
}

pub(crate) fn deployed(contracts: Vec<(&str, Address)>, functions: Vec<Function>) -> Target {
    let contracts = contracts.into_iter().enumerate().map(|(contract, (name, address))| Deployed {
        name: name.to_owned(),
        contract,
        address,
    });
    Target {
        build: Arc::new(solidity::Build::default()),
        codes: Arc::new(Codes::default()),
        state: State::new(&Setup {
            timestamp: 1,
            block: 1,
            code_size: 1 << 20,
            cheats: false,
            ffi: false,
        }),
        hits: Arc::default(),
        contracts: contracts.collect(),
        functions,
        callable: Vec::new(),
        units: HashSet::new(),
        tests: Vec::new(),
        open: Vec::new(),
        warnings: Vec::new(),
    }
}

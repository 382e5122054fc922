//! Targets without code, built from function signatures; no compiler needed.

use std::collections::HashSet;
use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, address};
use fuzz::abi::AbiType;
use fuzz::chain::{ChainSetup, ChainState, CompiledCodeIndex};
use fuzz::target::{DeployedContract, FuzzTarget, TargetFunction};

pub(crate) const MAIN: Address = address!("0x00a329c0648769a73afac7f9381e08fb43dbea72");
pub(crate) const SENDER: Address = address!("0x0000000000000000000000000000000000010000");

/// Returns a target with a contract `Main` with these functions.
pub(crate) fn target(functions: &[&str]) -> FuzzTarget {
    target_at(MAIN, functions)
}

pub(crate) fn target_at(address: Address, functions: &[&str]) -> FuzzTarget {
    let abi = JsonAbi::parse(functions.iter().copied()).unwrap();
    let functions = TargetFunction::from_abi(0, address, &abi).unwrap();
    build_target(vec![("Main", address)], functions)
}

/// Returns a target with functions `f0`, `f1` and so on that take these types, in this order.
pub(crate) fn target_of(inputs: &[Vec<AbiType>]) -> FuzzTarget {
    let functions = inputs.iter().enumerate().map(|(index, inputs)| {
        let name = format!("f{index}");
        let signature = format!("{name}{}", AbiType::Tuple(inputs.clone()));
        TargetFunction {
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
    build_target(vec![("Main", MAIN)], functions.collect())
}

pub(crate) fn build_target(
    contracts: Vec<(&str, Address)>,
    functions: Vec<TargetFunction>,
) -> FuzzTarget {
    let contracts = contracts.into_iter().enumerate().map(|(contract, (name, address))| {
        DeployedContract { name: name.to_owned(), contract, address }
    });
    FuzzTarget {
        build: Arc::new(solidity::SolidityBuild::default()),
        codes: Arc::new(CompiledCodeIndex::default()),
        state: ChainState::new(&ChainSetup {
            timestamp: 1,
            block: 1,
            chain_id: 1,
            code_size: 1 << 20,
            cheats: false,
            ffi: false,
            ffi_path: None,
        }),
        hits: Arc::default(),
        contracts: contracts.collect(),
        functions,
        callable: Vec::new(),
        units: HashSet::new(),
        reverts_fail: Default::default(),
        foundry: Default::default(),
        fixtures: Default::default(),
        seeds: Vec::new(),
        settings: Default::default(),
        tests: Vec::new(),
        fallbacks: Vec::new(),
        warnings: Vec::new(),
    }
}

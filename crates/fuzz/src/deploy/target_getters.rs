//! Reads the targets that a test contract names, through the getters of forge-std's `StdInvariant`.
//!
//! The getters are code of the project: their output is bounded and decoded with limits.

use alloy_primitives::{Address, Bytes, U256, keccak256};
use solidity::SolidityContract;

use super::{DeployError, TargetSelectionError};
use crate::abi::{AbiType, AbiValue, decode_values};
use crate::chain::{
    CallLimits, EvmMachine, EvmTransaction, InstructionResult, NotRunReason, TransactionOutcome,
};
use crate::config::CampaignSettings;

/// Limits of one getter.
pub(super) const GETTER_LIMITS: CallLimits =
    CallLimits { gas: 1 << 30, time: std::time::Duration::from_secs(10) };

/// Maximum bytes that a getter may return.
const MAX_OUTPUT: usize = 1 << 20;

/// Selector of a function.
pub(super) type FunctionSelector = [u8; 4];

/// What the getters of a test contract return. A getter that is missing or reverts counts as empty, as in forge.
#[derive(Debug, Default)]
pub(super) struct TargetGetters {
    pub(super) contracts: Vec<Address>,
    pub(super) excluded_contracts: Vec<Address>,
    pub(super) senders: Vec<Address>,
    pub(super) excluded_senders: Vec<Address>,
    pub(super) selectors: Vec<(Address, Vec<FunctionSelector>)>,
    pub(super) excluded_selectors: Vec<(Address, Vec<FunctionSelector>)>,
    pub(super) artifacts: Vec<String>,
    pub(super) excluded_artifacts: Vec<String>,
    pub(super) artifact_selectors: Vec<(String, Vec<FunctionSelector>)>,
    pub(super) interfaces: Vec<(Address, Vec<String>)>,
    /// Getters that reverted.
    pub(super) warnings: Vec<String>,
}

/// Calls the getters of one contract.
struct GetterReader<'a> {
    machine: &'a mut EvmMachine,
    contract: &'a SolidityContract,
    settings: &'a CampaignSettings,
    warnings: Vec<String>,
}

impl TargetGetters {
    /// Calls all getters on the current state.
    pub(super) fn read(
        machine: &mut EvmMachine,
        contract: &SolidityContract,
        settings: &CampaignSettings,
    ) -> Result<Self, DeployError> {
        let mut reader = GetterReader { machine, contract, settings, warnings: Vec::new() };
        let getters = Self {
            contracts: reader.read("targetContracts", "address[]", to_address)?,
            excluded_contracts: reader.read("excludeContracts", "address[]", to_address)?,
            senders: reader.read("targetSenders", "address[]", to_address)?,
            excluded_senders: reader.read("excludeSenders", "address[]", to_address)?,
            selectors: reader.read("targetSelectors", "(address,bytes4[])[]", |value| {
                to_pair(value, to_address, to_selector)
            })?,
            excluded_selectors: reader.read("excludeSelectors", "(address,bytes4[])[]", |it| {
                to_pair(it, to_address, to_selector)
            })?,
            artifacts: reader.read("targetArtifacts", "string[]", to_text)?,
            excluded_artifacts: reader.read("excludeArtifacts", "string[]", to_text)?,
            artifact_selectors: reader.read(
                "targetArtifactSelectors",
                "(string,bytes4[])[]",
                |value| to_pair(value, to_text, to_selector),
            )?,
            interfaces: reader.read("targetInterfaces", "(address,string[])[]", |value| {
                to_pair(value, to_address, to_text)
            })?,
            warnings: Vec::new(),
        };
        Ok(Self { warnings: reader.warnings, ..getters })
    }
}

impl GetterReader<'_> {
    /// Calls a getter and converts the elements of the list that it returns.
    fn read<T>(
        &mut self,
        name: &str,
        ty: &str,
        convert: impl Fn(&AbiValue) -> Option<T>,
    ) -> Result<Vec<T>, DeployError> {
        let is_getter = |it: &alloy_json_abi::Function| it.name == name && it.inputs.is_empty();
        if !self.contract.abi.functions().any(is_getter) {
            return Ok(Vec::new());
        }
        let transaction = EvmTransaction {
            from: self.settings.property_sender,
            to: self.settings.contract_address,
            value: U256::ZERO,
            gas_price: 0,
            data: Bytes::copy_from_slice(&keccak256(format!("{name}()"))[..4]),
        };
        let outcome = self.machine.simulate_call(&transaction, GETTER_LIMITS);
        if !outcome.is_success() {
            let reason = describe_failure(&outcome);
            self.warnings.push(format!("{name}() {reason}; it counts as empty, as in forge"));
            return Ok(Vec::new());
        }
        let refuse =
            |source| DeployError::InvalidTargets { contract: self.contract.name.clone(), source };
        if outcome.output.len() > MAX_OUTPUT {
            let size = outcome.output.len();
            return Err(refuse(TargetSelectionError::TooLarge { getter: name.to_owned(), size }));
        }
        let ty = AbiType::parse(ty).expect("the types of the getters are valid");
        let decoded = decode_values(std::slice::from_ref(&ty), &outcome.output);
        let list = match decoded.as_deref() {
            Some([AbiValue::List(list)]) => list.iter().map(convert).collect(),
            _ => None,
        };
        list.ok_or_else(|| refuse(TargetSelectionError::Malformed { getter: name.to_owned() }))
    }
}

/// Returns the reason that a getter failed. Whether gas or time runs out first depends on the machine.
fn describe_failure(outcome: &TransactionOutcome) -> String {
    let is_timed_out = matches!(outcome.not_run_reason(), Some(NotRunReason::TimedOut(_)));
    let is_out_of_gas = !outcome.is_discarded() && outcome.result == InstructionResult::OutOfGas;
    match is_timed_out || is_out_of_gas {
        true => "ran out of gas or time".to_owned(),
        false => super::describe_failure(outcome),
    }
}

fn to_address(value: &AbiValue) -> Option<Address> {
    let AbiValue::Word(word) = value else { return None };
    Some(Address::from_word((*word).into()))
}

fn to_selector(value: &AbiValue) -> Option<FunctionSelector> {
    let AbiValue::Word(word) = value else { return None };
    word.to_be_bytes::<32>()[..4].try_into().ok()
}

fn to_text(value: &AbiValue) -> Option<String> {
    let AbiValue::Bytes(bytes) = value else { return None };
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Converts a struct of a key and a list.
fn to_pair<K, V>(
    value: &AbiValue,
    key: impl Fn(&AbiValue) -> Option<K>,
    item: impl Fn(&AbiValue) -> Option<V>,
) -> Option<(K, Vec<V>)> {
    let AbiValue::List(fields) = value else { return None };
    let [first, AbiValue::List(items)] = fields.as_slice() else { return None };
    Some((key(first)?, items.iter().map(item).collect::<Option<_>>()?))
}

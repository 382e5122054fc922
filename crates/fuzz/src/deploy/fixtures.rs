//! Fixtures: values that a test contract wants its tests and handlers to be called with.
//!
//! `fixtureAmount()` returns a list for parameters named `amount`, and so does a public array of that name, which is read
//! element by element. A table test (`table*`) is called with each row of its fixtures and with nothing else.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use alloy_json_abi::{Function, Param};
use alloy_primitives::{Address, U256};
use solidity::SolidityContract;

use super::target_getters::GETTER_LIMITS;
use crate::abi::{AbiType, AbiValue, decode_values, encode_call};
use crate::call::{CallDelay, CallPayload, SequenceCall};
use crate::chain::{EvmMachine, EvmTransaction, NotRunReason};
use crate::config::CampaignSettings;
use crate::target::{FunctionId, FuzzTarget};

/// Maximum values of one fixture. A table with more rows is not run, because a part of it would say nothing of the rest.
const MAX_VALUES: usize = 2048;

/// Maximum time for the values of one fixture, which are read one by one.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Maximum bytes that a fixture may return.
const MAX_OUTPUT: usize = 1 << 20;

/// The fixtures of a test contract, by parameter name.
#[derive(Debug, Default)]
pub(super) struct TestFixtures {
    values: BTreeMap<String, TypedValues>,
}

#[derive(Debug)]
struct TypedValues {
    ty: AbiType,
    values: Vec<AbiValue>,
    /// There are more values.
    is_cut: bool,
}

impl TestFixtures {
    /// Calls all fixtures on the current state. One that reverts has no values.
    pub(super) fn read(
        machine: &mut EvmMachine,
        contract: &SolidityContract,
        settings: &CampaignSettings,
    ) -> Self {
        let mut fixtures = Self::default();
        for function in contract.abi.functions() {
            let Some(name) = function.name.strip_prefix("fixture") else { continue };
            if let Some(read) = read_fixture(machine, function, settings) {
                fixtures.values.insert(normalize_name(name), read);
            }
        }
        fixtures
    }

    /// Adds the values for the parameters of a function to the target.
    pub(super) fn add_to_function(
        &self,
        target: &mut FuzzTarget,
        id: FunctionId,
        params: &[Param],
    ) {
        for (index, param) in params.iter().enumerate() {
            if let Some(found) = self.find_values(param) {
                target.fixtures.insert((id, index), found.values.clone());
            }
        }
    }

    /// Adds a call of a table test for each row to the target.
    ///
    /// Returns the reason for which the test cannot be run, if any.
    pub(super) fn add_table(
        &self,
        target: &mut FuzzTarget,
        id: FunctionId,
        params: &[Param],
        sender: Address,
    ) -> Option<NotRunReason> {
        let mut columns = Vec::new();
        for param in params {
            match self.find_values(param) {
                Some(column) if column.is_cut => {
                    let text = format!(
                        "the fixture for the parameter `{}` has more than {MAX_VALUES} values, or is too large",
                        param.name
                    );
                    return Some(NotRunReason::InvalidFixture(text));
                }
                Some(column) => columns.push(&column.values),
                None => {
                    let text = format!("no fixture for the parameter `{}`", param.name);
                    return Some(NotRunReason::InvalidFixture(text));
                }
            }
        }
        let rows = columns.first().map_or(0, |column| column.len());
        if rows == 0 || columns.iter().any(|column| column.len() != rows) {
            let text = "the fixtures are empty or have different lengths".to_owned();
            return Some(NotRunReason::InvalidFixture(text));
        }
        let to = target.function(id).address;
        for row in 0..rows {
            let args = columns.iter().map(|column| column[row].clone()).collect();
            target.seeds.push(SequenceCall {
                payload: CallPayload::Function { function: id, args },
                from: sender,
                to,
                value: U256::ZERO,
                gas_price: 0,
                delay: CallDelay::default(),
            });
        }
        None
    }

    fn find_values(&self, param: &Param) -> Option<&TypedValues> {
        let found = self.values.get(&normalize_name(&param.name))?;
        let ty = AbiType::from_param(param).ok()?;
        (found.ty == ty).then_some(found)
    }
}

/// Returns the name by which forge matches fixtures and parameters.
fn normalize_name(name: &str) -> String {
    name.trim_matches('_').to_ascii_lowercase()
}

fn read_fixture(
    machine: &mut EvmMachine,
    function: &Function,
    settings: &CampaignSettings,
) -> Option<TypedValues> {
    let inputs: Vec<_> =
        function.inputs.iter().map(AbiType::from_param).collect::<Result<_, _>>().ok()?;
    let outputs: Vec<_> =
        function.outputs.iter().map(AbiType::from_param).collect::<Result<_, _>>().ok()?;
    let selector = function.selector().0;
    match (&inputs[..], outputs) {
        ([], outputs) => {
            let [AbiType::Array(element)] = &outputs[..] else { return None };
            let output = call_fixture(machine, settings, encode_call(selector, &[], &[]))?;
            let (ty, is_large) = ((**element).clone(), output.len() > MAX_OUTPUT);
            // The decoder refuses lists that are too long.
            let decoded = decode_values(&outputs, &output).filter(|_| !is_large);
            let values = match decoded.as_deref() {
                Some([AbiValue::List(values)]) => values.as_slice(),
                _ => return Some(TypedValues { ty, values: Vec::new(), is_cut: true }),
            };
            let is_cut = values.len() > MAX_VALUES;
            let values = values.iter().take(MAX_VALUES).cloned().collect();
            Some(TypedValues { ty, values, is_cut })
        }
        ([AbiType::Uint(256)], outputs) => {
            let (mut values, mut is_cut) = (Vec::new(), false);
            let begin = Instant::now();
            for index in 0..=MAX_VALUES {
                let position = [AbiValue::Word(U256::from(index))];
                let data = encode_call(selector, &inputs, &position);
                let Some(output) = call_fixture(machine, settings, data) else { break };
                if index == MAX_VALUES || output.len() > MAX_OUTPUT || begin.elapsed() > MAX_TIME {
                    is_cut = true;
                    break;
                }
                let Some(mut decoded) = decode_values(&outputs, &output) else { break };
                // The getter of an array of structs returns the fields.
                values.push(match decoded.len() {
                    1 => decoded.remove(0),
                    _ => AbiValue::List(decoded),
                });
            }
            let ty = match outputs.len() {
                1 => outputs.into_iter().next()?,
                _ => AbiType::Tuple(outputs),
            };
            Some(TypedValues { ty, values, is_cut })
        }
        _ => None,
    }
}

fn call_fixture(
    machine: &mut EvmMachine,
    settings: &CampaignSettings,
    data: Vec<u8>,
) -> Option<alloy_primitives::Bytes> {
    let transaction = EvmTransaction {
        from: settings.property_sender,
        to: settings.contract_address,
        value: U256::ZERO,
        gas_price: 0,
        data: data.into(),
    };
    let outcome = machine.simulate_call(&transaction, GETTER_LIMITS);
    outcome.is_success().then_some(outcome.output)
}

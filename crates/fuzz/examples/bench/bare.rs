//! Random calls on plain `revm` with the property after each: the cost of a fuzzer that records no coverage, learns
//! nothing and builds calldata by hand.

use alloy_json_abi::{Function, StateMutability};
use alloy_primitives::{Address, Bytes, TxKind, U256};
use fastrand::Rng;
use revm::ExecuteEvm as _;
use revm::context::TxEnv;
use serde_json::{Value, json};

use super::plain::{self, SENDERS};
use super::{BenchSubject, Result};

const SEQUENCE: u64 = 100;
const PROPERTY: &str = "echidna_holds";

/// Half of all arguments are below this; random 256-bit numbers hardly ever pass a check.
const SMALL: u64 = 64;

/// A function whose arguments are single words.
struct FunctionShape {
    selector: [u8; 4],
    /// None for an address, else the number of bits.
    arguments: Vec<Option<usize>>,
}

pub(super) fn run_bare(subject: &BenchSubject, calls: u64, seed: u64) -> Result<Value> {
    let contract = subject.contract();
    let changing = contract.abi.functions().filter(|function| {
        !matches!(function.state_mutability, StateMutability::View | StateMutability::Pure)
    });
    let shapes = changing.map(FunctionShape::from_function).collect::<Result<Vec<_>>>()?;
    let property = contract.abi.function(PROPERTY).and_then(|functions| functions.first());
    let property = property.ok_or_else(|| format!("unknown function `{PROPERTY}`"))?.selector();
    let (mut chain, address) = plain::deploy(contract, ())?;
    let call = |from, data| plain::build_transaction(from, TxKind::Call(address), U256::ZERO, data);
    let property: TxEnv = call(SENDERS[0], Bytes::copy_from_slice(&property[..]));

    let mut rng = Rng::with_seed(seed);
    let (mut reverts, mut gas) = (0_u64, 0_u64);
    let mut data = Vec::new();
    for number in 0..calls {
        if number % SEQUENCE == 0 {
            drop(chain.finalize());
        }
        let shape = &shapes[rng.usize(..shapes.len())];
        shape.fill_calldata(&mut data, &mut rng);
        let sender = SENDERS[rng.usize(..SENDERS.len())];
        let result = chain.transact_one(call(sender, Bytes::copy_from_slice(&data)))?;
        reverts += u64::from(!result.is_success());
        gas += result.tx_gas_used().saturating_sub(intrinsic_gas(&data));
        if !plain::is_true(&chain.transact_one(property.clone())?) {
            return Err(format!("`{PROPERTY}` is false after {number} calls").into());
        }
    }
    Ok(json!({"calls": calls, "reverts": reverts, "gas": gas}))
}

impl FunctionShape {
    fn from_function(function: &Function) -> Result<Self> {
        let arguments = function.inputs.iter().map(|input| argument_bits(&input.ty));
        Ok(Self {
            selector: function.selector().0,
            arguments: arguments.collect::<Result<Vec<_>>>()?,
        })
    }

    fn fill_calldata(&self, data: &mut Vec<u8>, rng: &mut Rng) {
        data.clear();
        data.extend_from_slice(&self.selector);
        for bits in &self.arguments {
            let word = match bits {
                None => random_sender(rng).into_word().into(),
                Some(_) if rng.bool() => U256::from(rng.u64(..SMALL)),
                Some(bits) => {
                    let all =
                        U256::from_limbs([rng.u64(..), rng.u64(..), rng.u64(..), rng.u64(..)]);
                    all >> (256 - bits)
                }
            };
            data.extend_from_slice(&word.to_be_bytes::<32>());
        }
    }
}

/// Returns the intrinsic gas of a transaction; the fuzzer runs calls, which do not pay it.
fn intrinsic_gas(data: &[u8]) -> u64 {
    let bytes: u64 = data.iter().map(|byte| if *byte == 0 { 4 } else { 16 }).sum();
    21_000 + bytes
}

fn random_sender(rng: &mut Rng) -> Address {
    SENDERS[rng.usize(..SENDERS.len())]
}

fn argument_bits(ty: &str) -> Result<Option<usize>> {
    if ty == "address" {
        return Ok(None);
    }
    let bits = ty.strip_prefix("uint").and_then(|bits| bits.parse().ok());
    let known = bits.filter(|bits| (8..=256).contains(bits)).map(Some);
    known.ok_or_else(|| format!("unsupported argument type `{ty}`").into())
}

//! Cheat codes that inspect, change and label accounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use revm::context::JournalTr as _;
use revm::context_interface::journaled_state::account::JournaledAccountTr as _;
use revm::state::Bytecode;

use super::super::machine::EvmContext;
use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CHEATCODE_ADDRESS, CheatcodeCall, CheatcodeError, CheatcodeResult, encoding};

/// Labels of accounts. Checkpoints share them until one is added.
pub(in super::super) type AccountLabels = Option<Arc<BTreeMap<Address, String>>>;

/// Maximum label length in bytes. Reading a label costs as much as one call, regardless of its length.
const MAX_LABEL: usize = 1024;

/// `"failed"`: storage slot of the cheat code address where older test libraries record a failed assertion.
const FAILED: B256 = b256!("0x6661696c65640000000000000000000000000000000000000000000000000000");

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("deal(address,uint256)", deal),
    ("store(address,bytes32,bytes32)", store),
    ("load(address,bytes32)", load),
    ("etch(address,bytes)", etch),
    ("setNonce(address,uint64)", set_nonce),
    ("getNonce(address)", get_nonce),
    ("setNonceUnsafe(address,uint64)", |call, args| {
        let (address, nonce) = (args.read_address()?, args.read_small::<u64>("a nonce")?);
        write_nonce(call, address, nonce)
    }),
    ("resetNonce(address)", |call, args| {
        let address = args.read_address()?;
        let Ok(account) = call.context.journaled_state.load_account_with_code(address);
        let nonce = u64::from(!account.info.is_empty_code_hash());
        write_nonce(call, address, nonce)
    }),
    ("label(address,string)", label),
    ("getLabel(address)", get_label),
];

fn deal(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (address, balance) = (args.read_address()?, args.read_uint()?);
    let Ok(mut account) = call.context.journaled_state.load_account_mut(address);
    account.set_balance(balance);
    account.touch();
    Ok(Bytes::new())
}

fn store(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (address, slot, value) = (args.read_address()?, args.read_word()?, args.read_uint()?);
    if address == CHEATCODE_ADDRESS && slot == FAILED {
        call.context.chain.cheats.has_stored_failure |= !value.is_zero();
    }
    let journal = &mut call.context.journaled_state;
    let Ok(_) = journal.load_account(address);
    let Ok(_) = journal.sstore(address, slot.into(), value);
    journal.touch(address);
    Ok(Bytes::new())
}

/// Returns true if a test library recorded that an assertion failed, in a frame that was not undone.
pub(in super::super) fn has_noted_failure(context: &EvmContext) -> bool {
    let account = context.journaled_state.state.get(&CHEATCODE_ADDRESS);
    let slot = account.and_then(|account| account.storage.get(&FAILED.into()));
    slot.is_some_and(|slot| !slot.present_value().is_zero())
}

fn load(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (address, slot) = (args.read_address()?, args.read_word()?);
    let journal = &mut call.context.journaled_state;
    let Ok(_) = journal.load_account(address);
    let Ok(value) = journal.sload(address, slot.into());
    Ok(encoding::encode_word(value.data))
}

fn etch(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (address, code) = (args.read_address()?, args.read_bytes()?);
    let journal = &mut call.context.journaled_state;
    if address == CHEATCODE_ADDRESS || journal.warm_addresses.precompiles().contains(&address) {
        let text = format!("{address} is a precompile; its code cannot be replaced");
        return Err(CheatcodeError::InvalidUse(text));
    }
    // The journal keeps the previous code, so it has to be loaded.
    let Ok(_) = journal.load_account_with_code(address);
    journal.set_code(address, Bytecode::new_legacy(Bytes::copy_from_slice(code)));
    Ok(Bytes::new())
}

fn set_nonce(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (address, nonce) = (args.read_address()?, args.read_small::<u64>("a nonce")?);
    let Ok(mut account) = call.context.journaled_state.load_account_mut(address);
    let current = account.nonce();
    if nonce < current {
        let text = format!("nonce {nonce} is below the current nonce {current} of {address}");
        return Err(CheatcodeError::InvalidUse(text));
    }
    account.set_nonce(nonce);
    account.touch();
    Ok(Bytes::new())
}

fn write_nonce(call: &mut CheatcodeCall<'_>, address: Address, nonce: u64) -> CheatcodeResult {
    let Ok(mut account) = call.context.journaled_state.load_account_mut(address);
    account.set_nonce(nonce);
    account.touch();
    Ok(Bytes::new())
}

fn get_nonce(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let Ok(account) = call.context.journaled_state.load_account(args.read_address()?);
    Ok(encoding::encode_word(U256::from(account.info.nonce)))
}

fn label(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let (address, label) = (args.read_address()?, args.read_text()?);
    if label.len() > MAX_LABEL {
        let text = format!("label has {} bytes; the limit is {MAX_LABEL}", label.len());
        return Err(CheatcodeError::InvalidUse(text));
    }
    let labels = call.context.chain.cheats.labels.get_or_insert_default();
    Arc::make_mut(labels).insert(address, label);
    Ok(Bytes::new())
}

fn get_label(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let address = args.read_address()?;
    let labels = call.context.chain.cheats.labels.as_deref();
    Ok(match labels.and_then(|labels| labels.get(&address)) {
        Some(label) => encoding::encode_string(label),
        None => encoding::encode_string(&format!("unlabeled:{address}")),
    })
}

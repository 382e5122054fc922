//! Cheat codes that look into accounts, change them and name them.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, b256};
use revm::context::JournalTr as _;
use revm::context_interface::journaled_state::account::JournaledAccountTr as _;
use revm::state::Bytecode;

use super::args::Args;
use super::table::Entry;
use super::{Answer, CHEATS, Call, Refusal, answer};

/// Names of accounts. Points to return to share them until one is given.
pub(in super::super) type Labels = Option<Arc<BTreeMap<Address, String>>>;

/// Reading a label is paid for as one call, however long it is.
const MAX_LABEL: usize = 1024;

/// `"failed"`: the slot of the cheat codes' account in which older test libraries note that an assertion failed.
const FAILED: B256 = b256!("0x6661696c65640000000000000000000000000000000000000000000000000000");

pub(super) const TABLE: &[Entry] = &[
    ("deal(address,uint256)", deal),
    ("store(address,bytes32,bytes32)", store),
    ("load(address,bytes32)", load),
    ("etch(address,bytes)", etch),
    ("setNonce(address,uint64)", set_nonce),
    ("getNonce(address)", get_nonce),
    ("label(address,string)", label),
    ("getLabel(address)", get_label),
];

fn deal(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (address, balance) = (args.address()?, args.uint()?);
    let Ok(mut account) = call.context.journaled_state.load_account_mut(address);
    account.set_balance(balance);
    account.touch();
    Ok(Bytes::new())
}

fn store(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (address, slot, value) = (args.address()?, args.word()?, args.uint()?);
    if address == CHEATS && slot == FAILED && !value.is_zero() {
        call.context.chain.cheats.has_noted_failure = true;
    }
    let journal = &mut call.context.journaled_state;
    let Ok(_) = journal.load_account(address);
    let Ok(_) = journal.sstore(address, slot.into(), value);
    journal.touch(address);
    Ok(Bytes::new())
}

fn load(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (address, slot) = (args.address()?, args.word()?);
    let journal = &mut call.context.journaled_state;
    let Ok(_) = journal.load_account(address);
    let Ok(value) = journal.sload(address, slot.into());
    Ok(answer::word(value.data))
}

fn etch(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (address, code) = (args.address()?, args.bytes()?);
    let journal = &mut call.context.journaled_state;
    if address == CHEATS || journal.warm_addresses.precompiles().contains(&address) {
        let text = format!("{address} is a precompiled contract, whose code never runs");
        return Err(Refusal::Misuse(text));
    }
    // The journal keeps the code that was there, so it has to be loaded.
    let Ok(_) = journal.load_account_with_code(address);
    journal.set_code(address, Bytecode::new_legacy(Bytes::copy_from_slice(code)));
    Ok(Bytes::new())
}

fn set_nonce(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (address, nonce) = (args.address()?, args.small::<u64>("a nonce")?);
    let Ok(mut account) = call.context.journaled_state.load_account_mut(address);
    let current = account.nonce();
    if nonce < current {
        let text = format!("{nonce} is below the nonce of {address}, which is {current}");
        return Err(Refusal::Misuse(text));
    }
    account.set_nonce(nonce);
    account.touch();
    Ok(Bytes::new())
}

fn get_nonce(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let Ok(account) = call.context.journaled_state.load_account(args.address()?);
    Ok(answer::word(U256::from(account.info.nonce)))
}

fn label(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let (address, label) = (args.address()?, args.text()?);
    if label.len() > MAX_LABEL {
        let text = format!("the label has {} bytes, more than {MAX_LABEL}", label.len());
        return Err(Refusal::Misuse(text));
    }
    let labels = call.context.chain.cheats.labels.get_or_insert_default();
    Arc::make_mut(labels).insert(address, label);
    Ok(Bytes::new())
}

fn get_label(call: &mut Call<'_>, args: &mut Args<'_>) -> Answer {
    let address = args.address()?;
    let labels = call.context.chain.cheats.labels.as_deref();
    Ok(match labels.and_then(|labels| labels.get(&address)) {
        Some(label) => answer::text(label),
        None => answer::text(&format!("unlabeled:{address}")),
    })
}

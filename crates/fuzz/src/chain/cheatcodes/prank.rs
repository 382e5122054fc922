//! Pranks: calls with a substituted sender.

use alloy_primitives::{Address, Bytes};
use revm::context::JournalTr as _;
use revm::interpreter::FrameInput;
use revm::interpreter::interpreter_action::FrameInit;

use super::super::machine::EvmContext;
use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, CheatcodeState, keys};

/// An active prank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActivePrank {
    /// Depth of the calls that it applies to.
    depth: usize,
    /// The smart contract that started it.
    by: Address,
    sender: Address,
    origin: Option<Address>,
    /// Transaction origin outside the prank.
    real_origin: Address,
    /// Started by `startPrank`: lasts until it is stopped, not just for one call.
    lasts: bool,
    is_used: bool,
}

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("prank(address)", |call, args| start_prank(call, args, false, false)),
    ("prank(address,address)", |call, args| start_prank(call, args, true, false)),
    ("startPrank(address)", |call, args| start_prank(call, args, false, true)),
    ("startPrank(address,address)", |call, args| start_prank(call, args, true, true)),
    ("broadcast()", |call, _| start_broadcast(call, None, false)),
    ("broadcast(address)", |call, args| {
        let sender = args.read_address()?;
        start_broadcast(call, Some(sender), false)
    }),
    ("broadcast(uint256)", |call, args| {
        let sender = keys::read_key_address(args)?;
        start_broadcast(call, Some(sender), false)
    }),
    ("startBroadcast()", |call, _| start_broadcast(call, None, true)),
    ("startBroadcast(address)", |call, args| {
        let sender = args.read_address()?;
        start_broadcast(call, Some(sender), true)
    }),
    ("startBroadcast(uint256)", |call, args| {
        let sender = keys::read_key_address(args)?;
        start_broadcast(call, Some(sender), true)
    }),
    ("stopBroadcast()", |call, _| {
        let depth = call.depth;
        call.context.chain.cheats.pranks.retain(|prank| prank.depth != depth);
        Ok(Bytes::new())
    }),
    ("stopPrank()", |call, _| {
        let depth = call.depth;
        call.context.chain.cheats.pranks.retain(|prank| prank.depth != depth);
        Ok(Bytes::new())
    }),
];

fn start_prank(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    with_origin: bool,
    lasts: bool,
) -> CheatcodeResult {
    let sender = args.read_address()?;
    let origin = if with_origin { Some(args.read_address()?) } else { None };
    add_prank(call, sender, origin, lasts)
}

/// Starts a broadcast, which is a prank with the sender as the origin too. Without a sender, it is the current origin.
fn start_broadcast(
    call: &mut CheatcodeCall<'_>,
    sender: Option<Address>,
    lasts: bool,
) -> CheatcodeResult {
    let sender = sender.unwrap_or(call.context.tx.caller);
    add_prank(call, sender, Some(sender), lasts)
}

fn add_prank(
    call: &mut CheatcodeCall<'_>,
    sender: Address,
    origin: Option<Address>,
    lasts: bool,
) -> CheatcodeResult {
    let cheats = &mut call.context.chain.cheats;
    if let Some(current) = find_prank(cheats, call.depth) {
        if !current.is_used {
            let text = "the previous prank has not been used; make a call before starting another";
            return Err(CheatcodeError::InvalidUse(text.to_owned()));
        }
        if current.lasts && !lasts {
            let text = "a `startPrank` prank is active; call `stopPrank` first";
            return Err(CheatcodeError::InvalidUse(text.to_owned()));
        }
    }
    cheats.pranks.retain(|prank| prank.depth != call.depth);
    cheats.pranks.push(ActivePrank {
        depth: call.depth,
        by: call.caller,
        sender,
        origin,
        real_origin: call.context.tx.caller,
        lasts,
        is_used: false,
    });
    Ok(Bytes::new())
}

/// Sets the origin that pranks of earlier transactions restore.
pub(super) fn renew_pranks(pranks: &mut [ActivePrank], origin: Address) {
    for prank in pranks {
        prank.real_origin = origin;
    }
}

fn find_prank(cheats: &mut CheatcodeState, depth: usize) -> Option<&mut ActivePrank> {
    cheats.pranks.iter_mut().find(|prank| prank.depth == depth)
}

/// Substitutes the sender of the frame that is about to start.
///
/// As in Foundry, any call at its depth uses up a prank, but only calls of the contract that started it are changed.
/// Code run by delegatecall acts in the name of its caller's caller.
pub(super) fn apply_prank(context: &mut EvmContext, init: &mut FrameInit) {
    let Some(prank) = find_prank(&mut context.chain.cheats, init.depth) else { return };
    prank.is_used = true;
    match &mut init.frame_input {
        FrameInput::Call(call) if call.caller == prank.by => call.caller = prank.sender,
        FrameInput::Create(create) if create.caller() == prank.by => create.set_call(prank.sender),
        _ => return,
    }
    if let Some(origin) = prank.origin {
        context.tx.caller = origin;
    }
    // Value transfer takes the sender's account without loading it.
    let Ok(_) = context.journaled_state.load_account(prank.sender);
}

/// Ends the prank of a frame that has ended: restores the origin and removes a one-call prank.
pub(super) fn end_prank(context: &mut EvmContext, depth: usize) {
    let cheats = &mut context.chain.cheats;
    let Some(index) = cheats.pranks.iter().position(|prank| prank.depth == depth) else { return };
    let prank = &cheats.pranks[index];
    if prank.is_used {
        context.tx.caller = prank.real_origin;
        if !prank.lasts {
            cheats.pranks.swap_remove(index);
        }
    }
}

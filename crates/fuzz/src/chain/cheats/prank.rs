//! Pranks: calls that seem to come from somebody else.

use alloy_primitives::{Address, Bytes};
use revm::context::JournalTr as _;
use revm::interpreter::FrameInput;
use revm::interpreter::interpreter_action::FrameInit;

use super::super::machine::Context;
use super::args::Args;
use super::table::Entry;
use super::{Answer, Call, Cheats, Refusal};

/// A prank that was announced.
#[derive(Clone, Debug)]
pub(super) struct Prank {
    /// How deep the calls are that it applies to.
    depth: usize,
    /// The contract that plays it.
    by: Address,
    sender: Address,
    origin: Option<Address>,
    /// The origin outside the prank.
    real_origin: Address,
    /// It lasts until it is stopped, and not just for one call.
    lasts: bool,
    is_used: bool,
}

pub(super) const TABLE: &[Entry] = &[
    ("prank(address)", |call, args| start(call, args, false, false)),
    ("prank(address,address)", |call, args| start(call, args, true, false)),
    ("startPrank(address)", |call, args| start(call, args, false, true)),
    ("startPrank(address,address)", |call, args| start(call, args, true, true)),
    ("stopPrank()", |call, _| {
        let depth = call.depth;
        call.context.chain.cheats.pranks.retain(|prank| prank.depth != depth);
        Ok(Bytes::new())
    }),
];

fn start(call: &mut Call<'_>, args: &mut Args<'_>, with_origin: bool, lasts: bool) -> Answer {
    let sender = args.address()?;
    let origin = if with_origin { Some(args.address()?) } else { None };
    let cheats = &mut call.context.chain.cheats;
    if let Some(current) = at(cheats, call.depth) {
        if !current.is_used {
            let text = "the prank before it has not been used; make a call between them";
            return Err(Refusal::Misuse(text.to_owned()));
        }
        if current.lasts && !lasts {
            let text = "a prank lasts that `startPrank` began; call `stopPrank` first";
            return Err(Refusal::Misuse(text.to_owned()));
        }
    }
    cheats.pranks.retain(|prank| prank.depth != call.depth);
    cheats.pranks.push(Prank {
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

fn at(cheats: &mut Cheats, depth: usize) -> Option<&mut Prank> {
    cheats.pranks.iter_mut().find(|prank| prank.depth == depth)
}

/// Lets the frame that is about to start come from whom the prank says.
///
/// Any call at its depth uses a prank up, as in Foundry, but only one of the contract that plays it is changed: what code
/// does that was called by delegation is done in the name of its caller's caller.
pub(super) fn apply(context: &mut Context, init: &mut FrameInit) {
    let Some(prank) = at(&mut context.chain.cheats, init.depth) else { return };
    prank.is_used = true;
    match &mut init.frame_input {
        FrameInput::Call(call) if call.caller == prank.by => call.caller = prank.sender,
        FrameInput::Create(create) if create.caller() == prank.by => create.set_call(prank.sender),
        _ => return,
    }
    if let Some(origin) = prank.origin {
        context.tx.caller = origin;
    }
    // Value is taken from the sender without another look for it.
    let Ok(_) = context.journaled_state.load_account(prank.sender);
}

/// A frame at the depth has ended.
pub(super) fn end(context: &mut Context, depth: usize) {
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

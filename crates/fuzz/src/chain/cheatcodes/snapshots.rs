//! Snapshots of the chain within a transaction.

use alloy_primitives::{Bytes, U256};
use revm::context::{BlockEnv, JournalTr as _};
use revm::context_interface::journaled_state::JournalCheckpoint;

use super::accounts::has_noted_failure;
use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, CheatcodeState, encoding};
use crate::chain::NotRunReason;
use crate::chain::forks::{self, ForkMark};

/// A state to return to.
#[derive(Clone, Debug)]
pub(super) struct StateSnapshot {
    id: U256,
    journal: JournalCheckpoint,
    block: BlockEnv,
    chain_id: u64,
    forks: ForkMark,
}

impl StateSnapshot {
    /// Returns true if a journal of this length leads back to the snapshot.
    pub(super) fn is_within(&self, journal: usize) -> bool {
        self.journal.journal_i <= journal
    }
}

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("snapshot()", |call, _| take_snapshot(call)),
    ("snapshotState()", |call, _| take_snapshot(call)),
    ("revertTo(uint256)", |call, args| revert_to_snapshot(call, args, false)),
    ("revertToState(uint256)", |call, args| revert_to_snapshot(call, args, false)),
    ("revertToAndDelete(uint256)", |call, args| revert_to_snapshot(call, args, true)),
    ("revertToStateAndDelete(uint256)", |call, args| revert_to_snapshot(call, args, true)),
    ("deleteSnapshot(uint256)", delete_snapshot),
    ("deleteStateSnapshot(uint256)", delete_snapshot),
    ("deleteSnapshots()", |call, _| delete_all(call)),
    ("deleteStateSnapshots()", |call, _| delete_all(call)),
];

fn take_snapshot(call: &mut CheatcodeCall<'_>) -> CheatcodeResult {
    let journal = &mut call.context.journaled_state;
    let checkpoint = journal.checkpoint();
    journal.checkpoint_commit();
    let forks = call.context.chain.forks.mark();
    let cheats = &mut call.context.chain.cheats;
    if cheats.snapshots.len() >= super::MAX_EXPECTATIONS {
        return Err(CheatcodeError::InvalidUse("too many snapshots".to_owned()));
    }
    let id = U256::from(cheats.next_snapshot);
    cheats.next_snapshot += 1;
    cheats.snapshots.push(StateSnapshot {
        id,
        journal: checkpoint,
        block: call.context.block.clone(),
        chain_id: call.context.cfg.chain_id,
        forks,
    });
    Ok(encoding::encode_word(id))
}

fn revert_to_snapshot(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    deletes: bool,
) -> CheatcodeResult {
    let id = args.read_uint()?;
    let context = &mut *call.context;
    let Some(index) = context.chain.cheats.snapshots.iter().position(|it| it.id == id) else {
        return find_missing_snapshot(&context.chain.cheats, id);
    };
    let snapshot = context.chain.cheats.snapshots[index].clone();
    let has_failure = context.chain.cheats.has_stored_failure && has_noted_failure(context);
    context.chain.cheats.has_undone_failure |= has_failure;
    context.chain.cheats.snapshots.truncate(index + usize::from(!deletes));
    // Events are kept, as in forge. The call of the cheat code itself is still open.
    if deletes {
        context.chain.cheats.deleted_snapshots.insert(id);
    }
    let logs = std::mem::take(&mut context.journaled_state.logs);
    forks::return_to_mark(context, &snapshot.forks);
    let journal = &mut context.journaled_state;
    journal.logs = logs;
    let (depth, log_i) = (journal.depth, journal.logs.len());
    journal.checkpoint_revert(JournalCheckpoint { log_i, ..snapshot.journal });
    journal.depth = depth;
    context.block = snapshot.block;
    context.cfg.chain_id = snapshot.chain_id;
    Ok(encoding::encode_word(U256::ONE))
}

/// Returns false for a snapshot that does not exist. Others exist in forge, but not here.
fn find_missing_snapshot(cheats: &CheatcodeState, id: U256) -> CheatcodeResult {
    if id >= U256::from(cheats.next_snapshot) || cheats.deleted_snapshots.contains(&id) {
        return Ok(encoding::encode_word(U256::ZERO));
    }
    // The journal that leads back to a snapshot of setUp(), or to one after a restored one, is gone.
    let text = "vm.revertToState to a snapshot of an earlier call, or after a restored one, is not supported";
    Err(CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text.to_owned())))
}

fn delete_snapshot(call: &mut CheatcodeCall<'_>, args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let id = args.read_uint()?;
    let cheats = &mut call.context.chain.cheats;
    let Some(index) = cheats.snapshots.iter().position(|snapshot| snapshot.id == id) else {
        return find_missing_snapshot(cheats, id);
    };
    cheats.snapshots.remove(index);
    cheats.deleted_snapshots.insert(id);
    Ok(encoding::encode_word(U256::ONE))
}

fn delete_all(call: &mut CheatcodeCall<'_>) -> CheatcodeResult {
    let cheats = &mut call.context.chain.cheats;
    let deleted = cheats.snapshots.drain(..).map(|snapshot| snapshot.id);
    cheats.deleted_snapshots.extend(deleted);
    Ok(Bytes::new())
}

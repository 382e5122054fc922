//! Cheat codes that return recorded events.

use std::sync::Arc;

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Bytes, Log};

use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, CheatcodeState};
use crate::chain::NotRunReason;

/// Maximum recorded events of earlier transactions.
const MAX_RECORDED: usize = 1 << 16;

/// Recorded events of earlier transactions.
pub(in super::super) type RecordedLogs = Option<Arc<Vec<Log>>>;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("recordLogs()", |call, _| {
        call.context.chain.cheats.recorded_from = Some(call.context.journaled_state.logs.len());
        call.context.chain.cheats.recorded = None;
        Ok(Bytes::new())
    }),
    ("getRecordedLogs()", |call, _| take_recorded_logs(call)),
];

/// Returns the events since the last call, as `(bytes32[] topics, bytes data, address emitter)[]`.
fn take_recorded_logs(call: &mut CheatcodeCall<'_>) -> CheatcodeResult {
    let logs = &call.context.journaled_state.logs;
    let Some(from) = call.context.chain.cheats.recorded_from.replace(logs.len()) else {
        call.context.chain.cheats.recorded_from = None;
        let text = "logs are not being recorded; call `recordLogs` first";
        return Err(CheatcodeError::InvalidUse(text.to_owned()));
    };
    let earlier = call.context.chain.cheats.recorded.take().unwrap_or_default();
    if earlier.len() > MAX_RECORDED {
        let text = format!("vm.getRecordedLogs: more than {MAX_RECORDED} events were recorded");
        return Err(CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text)));
    }
    // Events of reverted calls are removed, so the list may be shorter than before.
    let events = logs.get(from..).unwrap_or_default();
    let events = earlier.iter().chain(events).map(encode_log).collect();
    Ok(DynSolValue::Array(events).abi_encode().into())
}

/// Keeps the recorded events of a transaction that ends. Recording goes on in the next one.
pub(super) fn keep_recorded_logs(cheats: &mut CheatcodeState, logs: &[Log]) {
    let Some(from) = cheats.recorded_from.as_mut() else { return };
    let events = logs.get(std::mem::take(from)..).unwrap_or_default();
    let known = cheats.recorded.as_ref().map_or(0, |known| known.len());
    // One more than allowed tells that some are missing.
    let space = (MAX_RECORDED + 1).saturating_sub(known);
    if !events.is_empty() && space > 0 {
        let recorded = Arc::make_mut(cheats.recorded.get_or_insert_default());
        recorded.extend(events.iter().take(space).cloned());
    }
}

fn encode_log(log: &Log) -> DynSolValue {
    let topics = log.topics().iter().map(|topic| DynSolValue::FixedBytes(*topic, 32)).collect();
    DynSolValue::Tuple(vec![
        DynSolValue::Array(topics),
        DynSolValue::Bytes(log.data.data.to_vec()),
        DynSolValue::Address(log.address),
    ])
}

//! Cheat codes that give a contract the events of a transaction.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Bytes, Log};

use super::table::Entry;
use super::{Answer, Call, Refusal};

pub(super) const TABLE: &[Entry] = &[
    ("recordLogs()", |call, _| {
        call.context.chain.cheats.recorded_from = Some(call.context.journaled_state.logs.len());
        Ok(Bytes::new())
    }),
    ("getRecordedLogs()", |call, _| take(call)),
];

/// The events since the last time, as `(bytes32[] topics, bytes data, address emitter)[]`.
fn take(call: &mut Call<'_>) -> Answer {
    let logs = &call.context.journaled_state.logs;
    let Some(from) = call.context.chain.cheats.recorded_from.replace(logs.len()) else {
        call.context.chain.cheats.recorded_from = None;
        let text = "nothing is recorded; call `recordLogs` first";
        return Err(Refusal::Misuse(text.to_owned()));
    };
    // Events of calls that reverted are gone, so there may be fewer than there were.
    let events = logs.get(from..).unwrap_or_default().iter().map(event).collect();
    Ok(DynSolValue::Array(events).abi_encode().into())
}

fn event(log: &Log) -> DynSolValue {
    let topics = log.topics().iter().map(|topic| DynSolValue::FixedBytes(*topic, 32)).collect();
    DynSolValue::Tuple(vec![
        DynSolValue::Array(topics),
        DynSolValue::Bytes(log.data.data.to_vec()),
        DynSolValue::Address(log.address),
    ])
}

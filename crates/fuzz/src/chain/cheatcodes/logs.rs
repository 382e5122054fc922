//! Cheat codes that return the events of a transaction.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Bytes, Log};

use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult};

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("recordLogs()", |call, _| {
        call.context.chain.cheats.recorded_from = Some(call.context.journaled_state.logs.len());
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
    // Events of reverted calls are removed, so the list may be shorter than before.
    let events = logs.get(from..).unwrap_or_default().iter().map(encode_log).collect();
    Ok(DynSolValue::Array(events).abi_encode().into())
}

fn encode_log(log: &Log) -> DynSolValue {
    let topics = log.topics().iter().map(|topic| DynSolValue::FixedBytes(*topic, 32)).collect();
    DynSolValue::Tuple(vec![
        DynSolValue::Array(topics),
        DynSolValue::Bytes(log.data.data.to_vec()),
        DynSolValue::Address(log.address),
    ])
}

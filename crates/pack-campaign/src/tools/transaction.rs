//! A corpus transaction in tool output.

use serde::Serialize;

use crate::corpus;
use crate::text;
use fuzz::target::FuzzTarget;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TransactionOutput {
    pub(super) index: usize,
    pub(super) call: String,
    sender: String,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gas_used: Option<u64>,
}

impl TransactionOutput {
    pub(super) fn from_corpus(
        transaction: &corpus::CorpusTransaction<'_>,
        target: &FuzzTarget,
    ) -> Self {
        let corpus::CorpusTransaction { index, call, gas } = transaction;
        Self {
            index: *index,
            call: text::format_call(call, target),
            sender: text::format_address(call.from),
            value: call.value.to_string(),
            gas_used: *gas,
        }
    }
}

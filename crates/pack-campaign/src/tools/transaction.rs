//! A transaction of the corpus as it is told.

use serde::Serialize;

use crate::corpus;
use crate::text;
use fuzz::target::Target;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Transaction {
    pub(super) index: usize,
    pub(super) call: String,
    sender: String,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gas_used: Option<u64>,
}

impl Transaction {
    pub(super) fn of(transaction: &corpus::Transaction<'_>, target: &Target) -> Self {
        let corpus::Transaction { index, call, gas } = transaction;
        Self {
            index: *index,
            call: text::call(call, target),
            sender: text::address(call.from),
            value: call.value.to_string(),
            gas_used: *gas,
        }
    }
}

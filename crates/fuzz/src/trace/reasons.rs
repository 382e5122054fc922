//! Describes why the calls of a campaign reverted.

use alloy_primitives::Address;

use super::decode;
use super::names::NameResolver;
use crate::campaign::{RevertCause, RevertReason};
use crate::target::FuzzTarget;

/// Describes reasons of reverts with the names of the build, such as `reverted: Unauthorized(address)`.
pub fn describe_revert_reasons(target: &FuzzTarget, reasons: &[RevertReason]) -> Vec<String> {
    if reasons.is_empty() {
        return Vec::new();
    }
    let names = NameResolver::new(target);
    reasons.iter().map(|reason| describe_cause(&names, &reason.cause)).collect()
}

fn describe_cause(names: &NameResolver<'_>, cause: &RevertCause) -> String {
    match cause {
        RevertCause::Reverted(data) => describe_data(names, data),
        RevertCause::Aborted(result) => decode::describe_abort(*result),
        RevertCause::NotRun(reason) => reason.to_string(),
        RevertCause::Rejected => "rejected by vm.assume".to_owned(),
        RevertCause::NoNumber => "returned no number".to_owned(),
        RevertCause::Other => "other reasons".to_owned(),
    }
}

/// Describes revert data. Of a custom error, only the selector is known.
fn describe_data(names: &NameResolver<'_>, data: &[u8]) -> String {
    let selector = <[u8; 4]>::try_from(data).ok();
    match selector.and_then(|selector| names.find_error(Address::ZERO, &selector)) {
        Some(error) => {
            let types: Vec<String> = error.inputs.iter().map(ToString::to_string).collect();
            format!("reverted: {}({})", error.name, types.join(","))
        }
        None => decode::describe_revert(names, Address::ZERO, data),
    }
}

//! Dispatch table of the cheat codes.

use std::sync::LazyLock;

use alloy_primitives::map::HashMap;
use alloy_primitives::{Selector, keccak256};

use super::args::CheatcodeArgs;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult};
use super::{
    accounts, approx_assertions, assertions, block, calls, emits, env, expect, ffi, files, flow,
    forks, json, keys, logs, parse, prank, random, snapshots, text, unsupported,
};

/// A cheat code: its signature and implementation.
pub(super) type CheatcodeEntry =
    (&'static str, fn(&mut CheatcodeCall<'_>, &mut CheatcodeArgs<'_>) -> CheatcodeResult);

/// The cheat codes of each submodule, with what they are about.
const TABLES: &[(&str, &[CheatcodeEntry])] = &[
    ("block and transaction", block::TABLE),
    ("accounts", accounts::TABLE),
    ("callers", prank::TABLE),
    ("flow", flow::TABLE),
    ("expected reverts", expect::TABLE),
    ("expected events", emits::TABLE),
    ("expected and mocked calls", calls::TABLE),
    ("snapshots, within one call of the fuzzer", snapshots::TABLE),
    ("random values, the same whenever a sequence is repeated, and addresses", random::TABLE),
    ("text", parse::TABLE),
    ("JSON, with paths of keys and indices", json::TABLE),
    ("environment variables, only in a project that you trust", env::TABLE),
    ("files that `fs_permissions` names, only in a project that you trust", files::TABLE),
    ("recorded events", logs::TABLE),
    ("keys", keys::TABLE),
    ("formatting", text::TABLE),
    ("assertions, with and without a message", assertions::TABLE),
    ("approximate assertions, with and without a message", approx_assertions::TABLE),
    ("forks, only in a project that you trust, and not by transaction hash", forks::TABLE),
    ("programs, only with `--allow-ffi`, and variables", ffi::TABLE),
];

/// Returns what the supported cheat codes are about, each with their signatures.
pub fn list_supported_cheatcodes() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    TABLES.iter().map(|(title, table)| (*title, table.iter().map(|entry| entry.0).collect()))
}

/// Signatures of all supported cheat codes.
pub const SUPPORTED_CHEATCODES: &[&str] = &collect_signatures::<{ count_entries() }>();

const fn count_entries() -> usize {
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        count += TABLES[table].1.len();
        table += 1;
    }
    count
}

const fn collect_signatures<const COUNT: usize>() -> [&'static str; COUNT] {
    let mut signatures = [""; COUNT];
    let (mut next, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut entry = 0;
        while entry < TABLES[table].1.len() {
            signatures[next] = TABLES[table].1[entry].0;
            next += 1;
            entry += 1;
        }
        table += 1;
    }
    signatures
}

static BY_SELECTOR: LazyLock<HashMap<Selector, CheatcodeEntry>> = LazyLock::new(|| {
    let entries = TABLES.iter().flat_map(|(_, table)| *table);
    entries.map(|entry| (compute_selector(entry.0), *entry)).collect()
});

/// Computes the selector of a function signature.
pub(super) fn compute_selector(signature: &str) -> Selector {
    Selector::from_slice(&keccak256(signature)[..4])
}

/// Runs the cheat code that the calldata selects.
pub(super) fn dispatch_call(call: &mut CheatcodeCall<'_>, data: &[u8]) -> CheatcodeResult {
    let Some((selector, rest)) = data.split_at_checked(4) else {
        let text = "the cheat code address was called without a selector";
        return Err(CheatcodeError::InvalidUse(text.to_owned()));
    };
    let selector = Selector::from_slice(selector);
    let Some((signature, action)) = BY_SELECTOR.get(&selector) else {
        return Err(unsupported::reject_selector(call, selector));
    };
    action(call, &mut CheatcodeArgs::new(rest)).map_err(|refusal| match refusal {
        CheatcodeError::InvalidUse(text) => {
            let name = signature.split('(').next().unwrap_or(signature);
            CheatcodeError::InvalidUse(format!("vm.{name}: {text}"))
        }
        other => other,
    })
}

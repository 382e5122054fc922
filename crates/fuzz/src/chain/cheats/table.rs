//! Which cheat codes there are, by signature.

use std::sync::LazyLock;

use alloy_primitives::map::HashMap;
use alloy_primitives::{Selector, keccak256};

use super::args::Args;
use super::{Answer, Call, Refusal};
use super::{
    accounts, assertions, block, expect, flow, keys, logs, near, prank, programs, text, unsupported,
};

/// A cheat code: its signature and what it does.
pub(super) type Entry = (&'static str, fn(&mut Call<'_>, &mut Args<'_>) -> Answer);

const TABLES: &[&[Entry]] = &[
    block::TABLE,
    accounts::TABLE,
    prank::TABLE,
    flow::TABLE,
    expect::TABLE,
    logs::TABLE,
    keys::TABLE,
    text::TABLE,
    assertions::TABLE,
    near::TABLE,
    programs::TABLE,
];

/// The signatures of all cheat codes that work.
pub const SUPPORTED: &[&str] = &signatures::<{ count() }>();

const fn count() -> usize {
    let (mut count, mut table) = (0, 0);
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
}

const fn signatures<const COUNT: usize>() -> [&'static str; COUNT] {
    let mut signatures = [""; COUNT];
    let (mut next, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut entry = 0;
        while entry < TABLES[table].len() {
            signatures[next] = TABLES[table][entry].0;
            next += 1;
            entry += 1;
        }
        table += 1;
    }
    signatures
}

static BY_SELECTOR: LazyLock<HashMap<Selector, Entry>> = LazyLock::new(|| {
    TABLES.iter().copied().flatten().map(|entry| (selector(entry.0), *entry)).collect()
});

/// The first bytes of a call of the function.
pub(super) fn selector(signature: &str) -> Selector {
    Selector::from_slice(&keccak256(signature)[..4])
}

/// Runs the cheat code that the data calls.
pub(super) fn run(call: &mut Call<'_>, data: &[u8]) -> Answer {
    let Some((selector, rest)) = data.split_at_checked(4) else {
        let text = "the address of the cheat codes was called without a function";
        return Err(Refusal::Misuse(text.to_owned()));
    };
    let selector = Selector::from_slice(selector);
    let Some((signature, action)) = BY_SELECTOR.get(&selector) else {
        return Err(Refusal::Unsupported(unsupported::describe(selector)));
    };
    action(call, &mut Args::new(rest)).map_err(|refusal| match refusal {
        Refusal::Misuse(text) => {
            let name = signature.split('(').next().unwrap_or(signature);
            Refusal::Misuse(format!("vm.{name}: {text}"))
        }
        other => other,
    })
}

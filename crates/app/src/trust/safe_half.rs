//! Splits a configuration into the half that an untrusted folder gets and the powers that it does not get.
//!
//! The safe half is an allowlist of keys whose value can only restrict. Every other key is left out and described, also a
//! key that this module does not know. It works on the TOML table, so a new key is left out until it is listed here.

mod describe;

use toml::{Table, Value};

use self::describe::{describe_setting, describe_upstream};
use super::power::FolderPower;
use crate::config::ListenHost;

/// Packs that are served by default; fewer packs are a restriction.
const DEFAULT_PACKS: &[&str] = &["repo", "context"];
/// Default of `max_body_bytes`; a smaller limit is a restriction.
const DEFAULT_BODY_BYTES: i64 = 4 << 20;
/// Keys of `[fuzz]` that are data for the fuzzer. The others choose files and compiler arguments.
const HARMLESS_FUZZ_KEYS: &[&str] = &[
    "all_contracts",
    "all_events",
    "balance_addr",
    "balance_contract",
    "code_size",
    "constructor_args",
    "contract_addr",
    "coverage",
    "coverage_excludes",
    "coverage_formats",
    "deploy_bytecodes",
    "deploy_contracts",
    "deployer",
    "dict_freq",
    "exclude_view_pure",
    "filter_blacklist",
    "filter_functions",
    "format",
    "max_block_delay",
    "max_gasprice",
    "max_time_delay",
    "max_value",
    "prefix",
    "project_name",
    "prop_max_gas",
    "psender",
    "quiet",
    "seed",
    "sender",
    "seq_len",
    "shrink_limit",
    "stop_on_fail",
    "test_destruction",
    "test_limit",
    "test_max_gas",
    "test_mode",
    "timeout",
    "workers",
];

/// A configuration, split by what it may do.
#[derive(Debug, Default)]
pub(crate) struct SplitConfig {
    /// The keys that can only restrict.
    pub(crate) kept: Table,
    /// What the other keys would allow, and the limits that the kept keys set.
    pub(crate) powers: Vec<FolderPower>,
}

/// The treatment of one key.
enum KeyVerdict {
    /// Kept as it is.
    Keep,
    /// Kept, and listed: the value applies only where it lowers a limit.
    KeepAsLimit,
    /// A table whose keys are judged one by one.
    Descend,
    /// Left out.
    LeaveOut,
}

/// Splits a configuration.
pub(crate) fn split_table(table: &Table) -> SplitConfig {
    let mut powers = Vec::new();
    let kept = split_level(table, &mut Vec::new(), &mut powers);
    SplitConfig { kept, powers }
}

fn split_level<'t>(
    table: &'t Table,
    path: &mut Vec<&'t str>,
    powers: &mut Vec<FolderPower>,
) -> Table {
    let mut kept = Table::new();
    for (key, value) in table {
        path.push(key);
        match (judge_key(path, value), value) {
            (KeyVerdict::Keep, value) => {
                kept.insert(key.clone(), value.clone());
            }
            (KeyVerdict::KeepAsLimit, value) => {
                powers.push(describe_setting(path, value));
                kept.insert(key.clone(), value.clone());
            }
            (KeyVerdict::Descend, Value::Table(inner)) => {
                let inner = split_level(inner, path, powers);
                // An empty table may mean something else than no table.
                if !inner.is_empty() {
                    kept.insert(key.clone(), Value::Table(inner));
                }
            }
            (_, value) => {
                if let Some(rest) = leave_out(path, value, powers) {
                    kept.insert(key.clone(), rest);
                }
            }
        }
        path.pop();
    }
    kept
}

/// Decides on one key. A key that is not listed is left out.
fn judge_key(path: &[&str], value: &Value) -> KeyVerdict {
    let only_if = |condition: bool| match condition {
        true => KeyVerdict::Keep,
        false => KeyVerdict::LeaveOut,
    };
    match path {
        ["context" | "policy" | "secrets" | "tools" | "clients" | "ask" | "fuzz" | "server"]
        | ["context", "embeddings"]
        | ["tools" | "clients", _] => KeyVerdict::Descend,
        ["context", "exclude" | "watch"]
        | ["clients", _, "tools" | "resources"]
        | ["ask", "forbid"]
        | ["secrets", "deny"] => KeyVerdict::Keep,
        ["secrets", "output"] => only_if(is_one_of(value, &["redact", "refuse"])),
        ["context", "embeddings", "provider"] => only_if(is_one_of(value, &["embedded", "off"])),
        ["policy", "approve"] | ["tools", _, "approve"] => {
            only_if(is_one_of(value, &["ask", "queue", "never"]))
        }
        // For a client, `ask` is weaker than the queue that it would use otherwise.
        ["clients", _, "approve"] => only_if(is_one_of(value, &["queue", "never"])),
        ["tools", _, "enabled"] => KeyVerdict::Keep,
        ["tools", _, "rate_per_minute" | "timeout_ms" | "max_output_bytes"] => {
            KeyVerdict::KeepAsLimit
        }
        ["server", "host"] => only_if(is_loopback(value)),
        ["server", "max_body_bytes"] => {
            only_if(value.as_integer().is_some_and(|bytes| bytes <= DEFAULT_BODY_BYTES))
        }
        ["fuzz", key] => only_if(HARMLESS_FUZZ_KEYS.contains(key)),
        _ => KeyVerdict::LeaveOut,
    }
}

/// Describes what is left out. Returns the part of a list that can only restrict.
fn leave_out(path: &[&str], value: &Value, powers: &mut Vec<FolderPower>) -> Option<Value> {
    let (kept, left): (Vec<Value>, Vec<Value>) = match (path, value) {
        (["packs"], Value::Array(packs)) => {
            packs.iter().cloned().partition(|pack| is_one_of(pack, DEFAULT_PACKS))
        }
        // The first rule that matches decides. Without any rule a call is allowed, so these two can only restrict.
        (["rule"], Value::Array(rules)) => rules.iter().cloned().partition(|rule| {
            rule.get("effect").is_some_and(|effect| is_one_of(effect, &["deny", "approve"]))
        }),
        (["upstream"], Value::Array(upstreams)) => {
            powers.extend(upstreams.iter().filter_map(Value::as_table).flat_map(describe_upstream));
            return None;
        }
        (_, Value::Table(table)) => {
            for (key, value) in table {
                let path: Vec<_> = path.iter().copied().chain([key.as_str()]).collect();
                leave_out(&path, value, powers);
            }
            return None;
        }
        _ => {
            powers.push(describe_setting(path, value));
            return None;
        }
    };
    powers.extend(left.iter().map(|value| describe_setting(path, value)));
    // No pack at all is a restriction too, but one that the user did not write.
    (!kept.is_empty()).then_some(Value::Array(kept))
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|text| words.contains(&text))
}

fn is_loopback(value: &Value) -> bool {
    let host = value.as_str().and_then(|text| text.parse::<ListenHost>().ok());
    host.is_some_and(|ListenHost(address)| address.is_loopback())
}

#[cfg(test)]
mod tests;

//! Settings of Foundry, which apply to smart contracts that are tested by its rules.
//!
//! They come from `foundry.toml` ([`apply_foundry_toml`]) and from comments such as
//! `/// forge-config: default.invariant.depth = 10` above a contract or a test ([`InlineSettings`]). Names, defaults and
//! precedence are those of forge: the selected profile is above the default one.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use alloy_primitives::{Address, U256, address};
use toml::{Table, Value};

use super::echidna_yaml::find_nearest;
use super::number;

/// Profile that the others are based on.
const DEFAULT_PROFILE: &str = "default";
/// Sections with settings of tests.
const SECTIONS: [&str; 2] = ["fuzz", "invariant"];
/// Keys of these sections that are read.
const EFFECTIVE: [&str; 6] =
    ["runs", "depth", "fail_on_revert", "max_time_delay", "max_block_delay", "call_override"];
/// Keys of these sections that change what forge tests, and have no effect here.
const INEFFECTIVE: [&str; 16] = [
    "check_interval",
    "corpus_dir",
    "corpus_gzip",
    "corpus_min_mutations",
    "corpus_min_size",
    "dictionary_weight",
    "include_push_bytes",
    "include_storage",
    "max_assume_rejects",
    "max_fuzz_dictionary_addresses",
    "max_fuzz_dictionary_literals",
    "max_fuzz_dictionary_values",
    "max_test_rejects",
    "seed",
    "shrink_run_limit",
    "timeout",
];
/// Beginnings of keys of these sections that only affect what forge shows or stores.
const HARMLESS: [&str; 3] = ["show_", "failure_persist_", "gas_report_"];

/// Maximum of `runs` and `depth`, as in forge, which stores them in 32 bits.
const MAX_COUNT: u64 = u32::MAX as u64;

/// Settings of Foundry with forge's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundrySettings {
    /// Profile whose settings are above those of the default one.
    pub profile: String,
    pub tests: FoundryTestSettings,
    /// `sender`: deployer of the test contract, and sender of its tests.
    pub sender: Address,
    /// `initial_balance` of the test contract, in wei.
    pub initial_balance: U256,
    pub block_number: u64,
    pub block_timestamp: u64,
    pub chain_id: u64,
    /// `gas_limit` of a call. Forge's own default has no bound; this is the one of a block.
    pub gas_limit: u64,
    /// Echidna's keys that the user set. They take precedence, also over forge's defaults.
    pub given: BTreeSet<&'static str>,
    /// Tests to run.
    pub filter: NameFilter,
}

/// The settings that a comment above a test can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundryTestSettings {
    /// `invariant.runs`: sequences of calls.
    pub invariant_runs: u64,
    /// `invariant.depth`: calls of one sequence.
    pub invariant_depth: NonZeroUsize,
    /// `invariant.fail_on_revert`: an invariant fails if a call reverts.
    pub fail_on_revert: bool,
    /// `invariant.max_time_delay`, in seconds.
    pub max_time_delay: u64,
    /// `invariant.max_block_delay`
    pub max_block_delay: u64,
    /// `fuzz.runs`: calls of one test with arguments.
    pub fuzz_runs: u64,
}

/// Selects tests or contracts by name, as `--match-test` and `--no-match-test` do.
#[derive(Clone, Debug, Default)]
pub struct NameFilter {
    pub matches: Option<regex::Regex>,
    pub excludes: Option<regex::Regex>,
}

impl NameFilter {
    /// Creates a filter from regular expressions.
    pub fn new(matches: Option<&str>, excludes: Option<&str>) -> Result<Self, PatternError> {
        Ok(Self {
            matches: matches.map(parse_regex).transpose()?,
            excludes: excludes.map(parse_regex).transpose()?,
        })
    }

    /// Returns true if a contract of this name, or a test with this signature, is selected.
    pub fn allows_name(&self, name: &str) -> bool {
        self.matches.as_ref().is_none_or(|pattern| pattern.is_match(name))
            && !self.excludes.as_ref().is_some_and(|pattern| pattern.is_match(name))
    }
}

/// Reason that a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid pattern `{pattern}`: {reason}")]
pub struct PatternError {
    pub pattern: String,
    pub reason: String,
}

fn parse_regex(pattern: &str) -> Result<regex::Regex, PatternError> {
    regex::Regex::new(pattern).map_err(|error| {
        let text = error.to_string();
        // The lines before show the pattern.
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        PatternError { pattern: pattern.to_owned(), reason: reason.to_owned() }
    })
}

impl PartialEq for NameFilter {
    fn eq(&self, other: &Self) -> bool {
        let text = |pattern: &Option<regex::Regex>| {
            pattern.as_ref().map(|pattern| pattern.as_str().to_owned())
        };
        text(&self.matches) == text(&other.matches) && text(&self.excludes) == text(&other.excludes)
    }
}

/// Reason for which `foundry.toml` or a comment is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoundryConfigError {
    #[error("invalid TOML: {0}")]
    Syntax(String),
    #[error("invalid value for `{key}`: expected {expected}, not {found}")]
    InvalidValue { key: String, expected: &'static str, found: String },
}

impl Default for FoundrySettings {
    fn default() -> Self {
        Self {
            profile: DEFAULT_PROFILE.to_owned(),
            tests: FoundryTestSettings::default(),
            sender: address!("0x1804c8AB1F12E6bbf3894d4083f33e07309d1f38"),
            initial_balance: U256::from(u128::MAX >> 32),
            block_number: 1,
            block_timestamp: 1,
            chain_id: 31_337,
            gas_limit: 1 << 30,
            given: BTreeSet::new(),
            filter: NameFilter::default(),
        }
    }
}

impl Default for FoundryTestSettings {
    fn default() -> Self {
        Self {
            invariant_runs: 256,
            invariant_depth: NonZeroUsize::MIN.saturating_add(499),
            fail_on_revert: false,
            max_time_delay: 0,
            max_block_delay: 0,
            fuzz_runs: 256,
        }
    }
}

/// Applies the selected profile of a `foundry.toml`, and the default one below it. Returns warnings about settings without
/// an effect.
///
/// Only settings of tests and of their chain are read; the compiler's are not checked.
pub fn apply_foundry_toml(
    settings: &mut FoundrySettings,
    text: &str,
) -> Result<Vec<String>, FoundryConfigError> {
    let document: Table = text
        .parse()
        .map_err(|error: toml::de::Error| FoundryConfigError::Syntax(error.message().to_owned()))?;
    let mut warnings = Vec::new();
    let profiles = find_table(&document, "profile");
    let find_profile = |name: &str| profiles.and_then(|all| find_table(all, name));
    let base = find_profile(DEFAULT_PROFILE);
    let is_default = settings.profile == DEFAULT_PROFILE;
    let own = find_profile(&settings.profile).filter(|_| !is_default);
    if own.is_none() && !is_default {
        let name = settings.profile.escape_debug();
        warnings.push(format!("no profile `{name}`; the default one applies"));
    }
    for (key, value) in [base, own].into_iter().flatten().flatten() {
        apply_chain_setting(settings, key, value, &mut warnings);
    }
    // A section at the top of the file belongs to the selected profile, whose own section overrides it.
    let top = Some(&document);
    let layers = if own.is_some() { [base, top, own] } else { [top, base, None] };
    let mut ignored = IgnoredKeys::default();
    for section in SECTIONS {
        for layer in layers.into_iter().flatten() {
            let own = find_table(layer, section);
            let is_top = std::ptr::eq(layer, &document);
            let other = find_table(layer, "fuzz").filter(|_| is_top && section == "invariant");
            // At the top, `[invariant]` takes what it does not have from `[fuzz]`.
            let shared = other.into_iter().flatten().filter(|(key, _)| {
                SHARED.contains(&&*to_snake_case(key))
                    && !own.is_some_and(|it| it.contains_key(*key))
            });
            for (key, value) in shared.chain(own.into_iter().flatten()) {
                let value = to_text(value);
                apply_test_setting(&mut settings.tests, section, key, &value, &mut warnings)?;
                ignored.add(section, &to_snake_case(key));
            }
        }
    }
    warnings.extend(ignored.into_warnings());
    Ok(warnings)
}

/// Keys that `[invariant]` at the top of the file takes from `[fuzz]`.
const SHARED: [&str; 2] = ["runs", "fail_on_revert"];

fn to_snake_case(key: &str) -> String {
    key.replace('-', "_")
}

/// Keys of the sections that have no effect.
#[derive(Default)]
struct IgnoredKeys {
    ineffective: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

impl IgnoredKeys {
    /// Adds a key, unless it has an effect or does not matter.
    fn add(&mut self, section: &str, key: &str) {
        let is_harmless = HARMLESS.iter().any(|beginning| key.starts_with(beginning));
        if is_harmless || EFFECTIVE.contains(&key) {
            return;
        }
        let name = format!("`{section}.{}`", key.escape_debug());
        if INEFFECTIVE.contains(&key) {
            self.ineffective.insert(name);
            return;
        }
        let known = EFFECTIVE.into_iter().chain(INEFFECTIVE);
        let hint = find_nearest(key, known.map(|known| (known, known)));
        let hint = hint.map(|known| format!("; did you mean `{section}.{known}`?"));
        self.unknown.insert(format!("unknown key {name}{}", hint.unwrap_or_default()));
    }

    fn into_warnings(self) -> impl Iterator<Item = String> {
        let names: Vec<_> = self.ineffective.into_iter().collect();
        let verb = if names.len() == 1 { "has" } else { "have" };
        let ineffective = format!("{} {verb} no effect", names.join(", "));
        (!names.is_empty()).then_some(ineffective).into_iter().chain(self.unknown)
    }
}

fn find_table<'a>(table: &'a Table, key: &str) -> Option<&'a Table> {
    table.get(key).and_then(Value::as_table)
}

fn to_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Applies a setting of the chain. An unreadable value only earns a warning: it may be in a notation of forge's own.
fn apply_chain_setting(
    settings: &mut FoundrySettings,
    key: &str,
    value: &Value,
    warnings: &mut Vec<String>,
) {
    let text = to_text(value);
    let number = number::parse_number(&text);
    let small = number.and_then(|number| u64::try_from(number).ok());
    let is_read = match key {
        "sender" => number::parse_address(&text).map(|sender| settings.sender = sender),
        "initial_balance" => number.map(|balance| settings.initial_balance = balance),
        "block_number" => small.map(|number| settings.block_number = number),
        "block_timestamp" => small.map(|number| settings.block_timestamp = number),
        "chain_id" => small.map(|number| settings.chain_id = number),
        "gas_limit" => small.map(|gas| settings.gas_limit = gas.min(1 << 30)),
        _ => return,
    };
    if is_read.is_none() {
        warnings.push(format!("ignoring `{key}`: unknown value {text}"));
    }
}

/// Applies a setting of the tables `fuzz` and `invariant`, which may also be in a comment.
fn apply_test_setting(
    settings: &mut FoundryTestSettings,
    section: &str,
    key: &str,
    value: &str,
    warnings: &mut Vec<String>,
) -> Result<(), FoundryConfigError> {
    let name = format!("{section}.{}", to_snake_case(key));
    let count = || parse_count(&name, value);
    match name.as_str() {
        "fuzz.runs" => settings.fuzz_runs = count()?,
        "invariant.runs" => settings.invariant_runs = count()?,
        "invariant.depth" => {
            let depth = usize::try_from(count()?).ok().and_then(NonZeroUsize::new);
            settings.invariant_depth = depth.ok_or_else(|| invalid(&name, POSITIVE, value))?;
        }
        "invariant.fail_on_revert" => settings.fail_on_revert = parse_bool(&name, value)?,
        "invariant.max_time_delay" => settings.max_time_delay = count()?,
        "invariant.max_block_delay" => settings.max_block_delay = count()?,
        "invariant.call_override" if parse_bool(&name, value)? => {
            warnings.push("`invariant.call_override` is not supported".to_owned());
        }
        "fuzz.fail_on_revert" if !parse_bool(&name, value)? => {
            warnings.push("`fuzz.fail_on_revert = false` is not supported".to_owned());
        }
        _ => {}
    }
    Ok(())
}

const COUNT: &str = "an integer from 0 to 4294967295";
const POSITIVE: &str = "a positive integer";

fn parse_count(key: &str, text: &str) -> Result<u64, FoundryConfigError> {
    let number = number::parse_number(text).and_then(|number| u64::try_from(number).ok());
    number.filter(|number| *number <= MAX_COUNT).ok_or_else(|| invalid(key, COUNT, text))
}

fn parse_bool(key: &str, text: &str) -> Result<bool, FoundryConfigError> {
    text.parse().map_err(|_| invalid(key, "true or false", text))
}

fn invalid(key: &str, expected: &'static str, found: &str) -> FoundryConfigError {
    const SHOWN: usize = 40;
    let found = found.chars().take(SHOWN).collect();
    FoundryConfigError::InvalidValue { key: key.to_owned(), expected, found }
}

/// Settings in the comments of one contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InlineSettings {
    contract: Vec<InlineEntry>,
    functions: BTreeMap<String, Vec<InlineEntry>>,
}

/// One setting, such as `invariant`, `depth`, `10`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InlineEntry {
    /// The comment names the selected profile, and not the default one.
    is_selected: bool,
    section: String,
    key: String,
    value: String,
}

impl InlineSettings {
    /// Reads the comments of a contract in the text of its source: those of the default profile, and of the selected one.
    ///
    /// Only documentation comments count, and only directly above a contract or a function.
    pub fn read(source: &str, contract: &str, profile: &str) -> Self {
        let mut found = Self::default();
        let mut pending: Vec<InlineEntry> = Vec::new();
        let mut is_inside = false;
        for line in source.lines().map(str::trim) {
            let is_comment = line.starts_with('*') || line.starts_with('/');
            if is_comment && !line.starts_with("// ") {
                pending.extend(parse_inline_entry(line, profile));
            } else if let Some(name) = declared_contract(line) {
                is_inside = name == contract;
                let entries = std::mem::take(&mut pending);
                if is_inside {
                    found.contract.extend(entries);
                }
            } else if let Some(rest) = line.strip_prefix("function ") {
                let name = rest.split('(').next().unwrap_or_default().trim();
                let entries = std::mem::take(&mut pending);
                if is_inside && !entries.is_empty() {
                    found.functions.entry(name.to_owned()).or_default().extend(entries);
                }
            } else if !line.is_empty() && !is_comment {
                pending.clear();
            }
        }
        found
    }

    /// Returns the settings of a test, given those of `foundry.toml`, and adds warnings.
    pub fn apply_to_test(
        &self,
        settings: &FoundryTestSettings,
        function: &str,
        warnings: &mut Vec<String>,
    ) -> Result<FoundryTestSettings, FoundryConfigError> {
        let mut settings = *settings;
        let own = self.functions.get(function).into_iter().flatten();
        let mut entries: Vec<_> = self.contract.iter().chain(own).collect();
        // Stable: of one profile, comments of the function are above those of the contract.
        entries.sort_by_key(|entry| entry.is_selected);
        for InlineEntry { section, key, value, .. } in entries {
            apply_test_setting(&mut settings, section, key, value, warnings)?;
        }
        Ok(settings)
    }
}

/// Parses `/// forge-config: default.invariant.depth = 10`; `None` for other comments and profiles.
fn parse_inline_entry(line: &str, selected: &str) -> Option<InlineEntry> {
    let (_, setting) = line.split_once("forge-config:")?;
    let (path, value) = setting.split_once('=')?;
    let mut path = path.trim().split('.');
    let (profile, section, key) = (path.next()?, path.next()?, path.next()?);
    let is_selected = profile == selected && profile != DEFAULT_PROFILE;
    if !is_selected && profile != DEFAULT_PROFILE || path.next().is_some() {
        return None;
    }
    let value = value.trim().trim_end_matches("*/").trim().trim_matches('"');
    let [section, key, value] = [section, key, value].map(str::to_owned);
    Some(InlineEntry { is_selected, section, key, value })
}

/// Returns the name of the contract that a line declares.
fn declared_contract(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("abstract ").unwrap_or(line).strip_prefix("contract ")?;
    rest.split(|character: char| character.is_whitespace() || character == '{').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (FoundrySettings, Vec<String>) {
        let mut settings = FoundrySettings::default();
        let warnings = apply_foundry_toml(&mut settings, text).unwrap();
        (settings, warnings)
    }

    #[test]
    fn reads_the_sections_of_the_default_profile() {
        let (settings, warnings) = check(
            "[profile.default]\nsrc = 'src'\nblock_timestamp = 1_700_000_000\nsender = '0x10'\n\
             [profile.ci.invariant]\nruns = 9\n\
             [profile.default.fuzz]\nruns = 10\n\
             [fuzz]\nruns = 11\n\
             [invariant]\nruns = 12\ndepth = '13'\nfail_on_revert = true\nmax_time_delay = 14\ncall_override = true\n",
        );
        let expected = FoundryTestSettings {
            invariant_runs: 12,
            invariant_depth: NonZeroUsize::new(13).unwrap(),
            fail_on_revert: true,
            max_time_delay: 14,
            max_block_delay: 0,
            fuzz_runs: 10,
        };
        assert_eq!(settings.tests, expected);
        assert_eq!(settings.block_timestamp, 1_700_000_000);
        assert_eq!(settings.sender, Address::with_last_byte(0x10));
        assert_eq!(warnings, ["`invariant.call_override` is not supported"]);
    }

    #[test]
    fn rejects_values_that_are_no_counts() {
        let refuse = |text: &str| {
            let error = apply_foundry_toml(&mut FoundrySettings::default(), text);
            error.unwrap_err().to_string()
        };
        let messages = [
            "[invariant]\ndepth = 0",
            "[invariant]\nruns = -1",
            "[fuzz]\nruns = 4294967296",
            "[invariant]\nfail_on_revert = 'perhaps'",
            "[invariant",
        ]
        .map(refuse);
        insta::assert_snapshot!(messages.join("\n"), @r"
    invalid value for `invariant.depth`: expected a positive integer, not 0
    invalid value for `invariant.runs`: expected an integer from 0 to 4294967295, not -1
    invalid value for `fuzz.runs`: expected an integer from 0 to 4294967295, not 4294967296
    invalid value for `invariant.fail_on_revert`: expected true or false, not perhaps
    invalid TOML: unclosed table, expected `]`
    ");
    }

    #[test]
    fn reads_comments_above_contracts_and_functions() {
        let source = "
            /// forge-config: default.invariant.runs = 3
            contract Other {}

            /**
             * forge-config: default.invariant.fail-on-revert = true
             * forge-config: ci.invariant.depth = 7
             */
            contract Mine is Test {
                /// forge-config: default.invariant.depth = 5
                uint256 private unrelated;

                /// A test.
                /// forge-config: default.invariant.depth = 10
                function invariant_a() public {}
                // forge-config: default.invariant.depth = 11
                function invariant_b() public {}
            }";
        let inline = InlineSettings::read(source, "Mine", "default");
        let base = FoundryTestSettings::default();
        let settings = |name: &str| inline.apply_to_test(&base, name, &mut Vec::new()).unwrap();
        let (first, second) = (settings("invariant_a"), settings("invariant_b"));
        assert_eq!(first.invariant_depth.get(), 10);
        assert_eq!(second.invariant_depth.get(), 500);
        assert!(first.fail_on_revert && second.fail_on_revert);
        assert_eq!(first.invariant_runs, 256);
        // Those of the selected profile are above the others.
        let inline = InlineSettings::read(source, "Mine", "ci");
        let settings = |name: &str| inline.apply_to_test(&base, name, &mut Vec::new()).unwrap();
        assert_eq!(settings("invariant_a").invariant_depth.get(), 7);
        assert!(settings("invariant_b").fail_on_revert);
    }

    #[test]
    fn selected_profile_is_above_the_default_one() {
        let text = "[profile.default]\nblock_timestamp = 5\nblock_number = 6\n\
             [profile.default.invariant]\nruns = 1\ndepth = 2\nmax_time_delay = 3\n\
             [profile.ci]\nblock_number = 7\n\
             [profile.ci.invariant]\nruns = 10\n\
             [profile.ci.fuzz]\nruns = 30\n\
             [invariant]\nruns = 100\ndepth = 200\n";
        let read = |profile: &str| {
            let mut settings =
                FoundrySettings { profile: profile.to_owned(), ..FoundrySettings::default() };
            let warnings = apply_foundry_toml(&mut settings, text).unwrap();
            let FoundrySettings { tests, block_number, block_timestamp, .. } = settings;
            let depth = tests.invariant_depth.get();
            let numbers =
                [tests.invariant_runs, depth as u64, tests.max_time_delay, tests.fuzz_runs];
            (numbers, [block_number, block_timestamp], warnings)
        };
        assert_eq!(read("default"), ([1, 2, 3, 256], [6, 5], Vec::new()));
        assert_eq!(read("ci"), ([10, 200, 3, 30], [7, 5], Vec::new()));
        let (numbers, _, warnings) = read("missing");
        assert_eq!(numbers, [1, 2, 3, 256]);
        assert_eq!(warnings, ["no profile `missing`; the default one applies"]);
    }

    #[test]
    fn invariants_take_what_the_top_does_not_say_from_fuzz() {
        let runs = |text: &str| check(text).0.tests.invariant_runs;
        assert_eq!(runs("[fuzz]\nruns = 7"), 7);
        assert_eq!(runs("[fuzz]\nruns = 7\n[invariant]\nruns = 8"), 8);
        assert_eq!(runs("[profile.default.fuzz]\nruns = 7"), 256, "not in a profile");
        assert_eq!(runs("[fuzz]\nruns = 7\n[profile.default.invariant]\nruns = 9"), 9);
    }

    #[test]
    fn keys_without_an_effect_are_named() {
        let (_, warnings) = check(
            "[invariant]\ndeph = 7\nshrink-run-limit = 5\nshow_metrics = true\nzzzzzzzz = 1\n\
             [profile.default.fuzz]\nseed = '0x1'\nruns = 3\nfailure_persist_file = 'x'\n\
             [profile.other.fuzz]\nunknown = 1\n",
        );
        insta::assert_snapshot!(warnings.join("\n"), @r"
        `fuzz.seed`, `invariant.shrink_run_limit` have no effect
        unknown key `invariant.deph`; did you mean `invariant.depth`?
        unknown key `invariant.zzzzzzzz`
        ");
    }
}

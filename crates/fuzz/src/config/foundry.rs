//! Settings of Foundry, which apply to smart contracts that are tested by its rules.
//!
//! They come from `foundry.toml` ([`apply_foundry_toml`]) and from comments such as
//! `/// forge-config: default.invariant.depth = 10` above a contract or a test ([`InlineSettings`]). Names and defaults
//! are those of forge.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use alloy_primitives::{Address, U256, address};
use toml::{Table, Value};

use super::number;

/// Profile whose settings are read.
const PROFILE: &str = "default";

/// Maximum of `runs` and `depth`, as in forge, which stores them in 32 bits.
const MAX_COUNT: u64 = u32::MAX as u64;

/// Settings of Foundry with forge's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundrySettings {
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

/// Applies the default profile of a `foundry.toml`. Returns warnings about settings without an effect.
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
    let empty = Table::new();
    let profile = find_table(&document, "profile").and_then(|all| find_table(all, PROFILE));
    let profile = profile.unwrap_or(&empty);
    for (key, value) in profile {
        apply_chain_setting(settings, key, value, &mut warnings);
    }
    for section in ["fuzz", "invariant"] {
        // A section of the profile overrides the one at the top of the file.
        for table in [&document, profile].into_iter().filter_map(|it| find_table(it, section)) {
            for (key, value) in table {
                let value = to_text(value);
                apply_test_setting(&mut settings.tests, section, key, &value, &mut warnings)?;
            }
        }
    }
    Ok(warnings)
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
    let key = key.replace('-', "_");
    let name = format!("{section}.{key}");
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
    section: String,
    key: String,
    value: String,
}

impl InlineSettings {
    /// Reads the comments of a contract in the text of its source.
    ///
    /// Only documentation comments count, and only directly above a contract or a function.
    pub fn read(source: &str, contract: &str) -> Self {
        let mut found = Self::default();
        let mut pending: Vec<InlineEntry> = Vec::new();
        let mut is_inside = false;
        for line in source.lines().map(str::trim) {
            let is_comment = line.starts_with('*') || line.starts_with('/');
            if is_comment && !line.starts_with("// ") {
                pending.extend(parse_inline_entry(line));
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
        for entry in self.contract.iter().chain(own) {
            let InlineEntry { section, key, value } = entry;
            apply_test_setting(&mut settings, section, key, value, warnings)?;
        }
        Ok(settings)
    }
}

/// Parses `/// forge-config: default.invariant.depth = 10`; `None` for other comments and profiles.
fn parse_inline_entry(line: &str) -> Option<InlineEntry> {
    let (_, setting) = line.split_once("forge-config:")?;
    let (path, value) = setting.split_once('=')?;
    let mut path = path.trim().split('.');
    let (profile, section, key) = (path.next()?, path.next()?, path.next()?);
    if profile != PROFILE || path.next().is_some() {
        return None;
    }
    let value = value.trim().trim_end_matches("*/").trim().trim_matches('"');
    Some(InlineEntry { section: section.to_owned(), key: key.to_owned(), value: value.to_owned() })
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
        let inline = InlineSettings::read(source, "Mine");
        let base = FoundryTestSettings::default();
        let settings = |name: &str| inline.apply_to_test(&base, name, &mut Vec::new()).unwrap();
        let (first, second) = (settings("invariant_a"), settings("invariant_b"));
        assert_eq!(first.invariant_depth.get(), 10);
        assert_eq!(second.invariant_depth.get(), 500);
        assert!(first.fail_on_revert && second.fail_on_revert);
        assert_eq!(first.invariant_runs, 256);
    }
}

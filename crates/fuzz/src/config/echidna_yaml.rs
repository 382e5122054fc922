//! Reads Echidna's configuration file, with its key names and defaults.
//!
//! A value of the wrong type is an error. A key without effect is a warning: files written for Echidna should work, and
//! their owners should know which settings are ignored.

use std::fmt;
use std::time::Duration;

use super::field::ConfigField;
use super::yaml::{self, YamlEntry, YamlNode, YamlValue};
use super::{CampaignSettings, ConstructorArgs, OutputFormat, RpcEndpoint};

/// Maximum size of a configuration. A few kilobytes are typical, more if it contains bytecode.
pub const MAX_BYTES: usize = 4 << 20;

/// Reason for which a configuration is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EchidnaConfigError {
    #[error("the configuration is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("line {line}: {problem}")]
    Syntax { line: usize, problem: String },
    #[error("line {line}: expected a map of keys and values")]
    NotAMap { line: usize },
    #[error("line {line}: `{key}` must be {expected}, not {found}")]
    InvalidValue { line: usize, key: String, expected: String, found: String },
    #[error("line {line}: `{key}` was already set on line {first}; remove one of them")]
    DuplicateKey { line: usize, first: usize, key: String },
    #[error("{0}")]
    Contradiction(String),
}

/// A key that has no effect or is deprecated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning {
    pub line: usize,
    pub key: String,
    pub kind: ConfigWarningKind,
}

/// Kind of a [`ConfigWarning`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigWarningKind {
    /// Unknown key, with the most similar known key.
    Unknown { nearest: Option<&'static str> },
    /// An Echidna key without a counterpart here.
    Unsupported { reason: &'static str },
    /// A deprecated name; the value is used.
    Renamed { to: &'static str },
}

type SetField = fn(&mut CampaignSettings, ConfigField<'_>) -> Result<(), EchidnaConfigError>;

/// All keys that set something.
const KEYS: &[(&str, SetField)] = &[
    ("allContracts", |it, field| assign(&mut it.all_contracts, field.read_bool())),
    ("allEvents", |it, field| assign(&mut it.all_events, field.read_bool())),
    ("balanceAddr", |it, field| assign(&mut it.sender_balance, field.read_number())),
    ("balanceContract", |it, field| assign(&mut it.contract_balance, field.read_number())),
    ("codeSize", |it, field| assign(&mut it.code_size, field.read_count())),
    ("constructorArgs", |it, field| assign(&mut it.constructor_args, read_constructor_args(field))),
    ("contractAddr", |it, field| assign(&mut it.contract_address, field.read_deploy_address())),
    ("corpusDir", |it, field| {
        assign(&mut it.corpus_dir, field.read_string().map(|it| Some(it.into())))
    }),
    ("coverage", |it, field| assign(&mut it.coverage, field.read_bool())),
    ("coverageDir", |it, field| {
        assign(&mut it.coverage_dir, field.read_string().map(|it| Some(it.into())))
    }),
    ("coverageExcludes", |it, field| assign(&mut it.coverage_excludes, read_strings(field))),
    ("coverageFormats", |it, field| {
        assign(
            &mut it.coverage_formats,
            field.read_list("a list of formats", ConfigField::read_choice),
        )
    }),
    ("deployBytecodes", |it, field| {
        assign(&mut it.deploy_bytecodes, read_deployments(field, ConfigField::read_bytes))
    }),
    ("deployContracts", |it, field| {
        assign(&mut it.deploy_contracts, read_deployments(field, ConfigField::read_string))
    }),
    ("deployer", |it, field| assign(&mut it.deployer, field.read_address())),
    ("dictFreq", |it, field| assign(&mut it.dictionary_frequency, field.read_fraction())),
    ("excludeViewPure", |it, field| assign(&mut it.exclude_view_pure, field.read_bool())),
    ("filterBlacklist", |it, field| assign(&mut it.filter.excludes, field.read_bool())),
    ("filterFunctions", |it, field| assign(&mut it.filter.functions, read_strings(field))),
    ("format", |it, field| assign(&mut it.format, field.read_choice().map(Some))),
    ("maxBlockDelay", |it, field| assign(&mut it.max_block_delay, field.read_count())),
    ("maxGasprice", |it, field| assign(&mut it.max_gas_price, field.read_gas_price())),
    ("maxTimeDelay", |it, field| assign(&mut it.max_time_delay, field.read_count())),
    ("maxValue", |it, field| assign(&mut it.max_value, field.read_number())),
    ("prefix", |it, field| assign(&mut it.prefix, field.read_string())),
    ("projectName", |it, field| assign(&mut it.project_name, field.read_string().map(Some))),
    ("propMaxGas", |it, field| assign(&mut it.property_gas, field.read_count())),
    ("psender", |it, field| assign(&mut it.property_sender, field.read_address())),
    ("quiet", |it, field| assign(&mut it.quiet, field.read_bool())),
    ("rpcBlock", |it, field| assign(&mut it.rpc_block, field.read_count().map(Some))),
    ("rpcUrl", |it, field| {
        assign(&mut it.rpc_url, field.read_string().map(|url| Some(RpcEndpoint(url))))
    }),
    ("seed", |it, field| assign(&mut it.seed, field.read_count().map(Some))),
    ("sender", |it, field| assign(&mut it.senders, read_senders(field))),
    ("seqLen", |it, field| assign(&mut it.sequence_length, field.read_positive())),
    ("shrinkLimit", |it, field| assign(&mut it.shrink_limit, field.read_count())),
    ("solcArgs", |it, field| assign(&mut it.solc_args, field.read_string())),
    ("solcLibs", |it, field| assign(&mut it.libraries, read_strings(field))),
    ("stopOnFail", |it, field| assign(&mut it.stop_on_fail, field.read_bool())),
    ("testDestruction", |it, field| assign(&mut it.test_destruction, field.read_bool())),
    ("testLimit", |it, field| assign(&mut it.test_limit, field.read_count())),
    ("testMaxGas", |it, field| assign(&mut it.call_gas, field.read_count())),
    ("testMode", |it, field| assign(&mut it.test_mode, field.read_choice())),
    ("timeout", |it, field| {
        assign(
            &mut it.timeout,
            field.read_count().map(|seconds| Some(Duration::from_secs(seconds))),
        )
    }),
    // Echidna accepts 0 workers to run its solver alone.
    ("workers", |it, field| assign(&mut it.workers, field.read_optional_count())),
];

/// Former names of keys.
const RENAMED: &[(&str, &str, SetField)] = &[
    ("multi-abi", "allContracts", |it, field| assign(&mut it.all_contracts, field.read_bool())),
    ("dashboard", "format", |it, field| {
        if !field.read_bool()? {
            it.format = Some(OutputFormat::Text);
        }
        Ok(())
    }),
];

const SYMBOLIC: &str = "symbolic execution is not supported";
const ON_CHAIN: &str = "sources of contracts are not fetched";
const NO_CRYTIC: &str = "crytic-compile is not used";

/// Echidna keys without effect, the value that requests nothing, and the reason.
const UNSUPPORTED: &[(&str, &str, &str)] = &[
    ("allowFFI", "false", "a configuration file cannot allow programs; pass `--allow-ffi`"),
    ("checkAsserts", "false", "set `testMode: assertion` instead"),
    ("cryticArgs", "[]", NO_CRYTIC),
    ("disableOnchainSources", "false", ON_CHAIN),
    ("estimateGas", "false", "gas is always counted"),
    ("etherscanApiKey", "null", ON_CHAIN),
    (
        "initialize",
        "null",
        "Etheno transactions are not supported; deploy in a constructor instead",
    ),
    ("mutConsts", "[1,1,1,1]", "mutations are weighted by their results"),
    ("outputRawTxs", "false", "the corpus contains the transactions"),
    ("server", "null", "use the campaign tools instead"),
    ("symExec", "false", SYMBOLIC),
    ("symExecAskSMTIters", "1", SYMBOLIC),
    ("symExecConcolic", "true", SYMBOLIC),
    ("symExecMaxExplore", "10", SYMBOLIC),
    ("symExecMaxIters", "5", SYMBOLIC),
    ("symExecNSolvers", "1", SYMBOLIC),
    ("symExecSMTSolver", "bitwuzla", SYMBOLIC),
    ("symExecTargets", "[]", SYMBOLIC),
    ("symExecTimeout", "30", SYMBOLIC),
];

/// Keys that request the built-in behavior: constants are found without Slither.
const FULFILLED: &[&str] = &["disableSlither"];

/// Parses a configuration. Missing and null keys keep Echidna's default.
pub fn parse_config(
    text: &str,
) -> Result<(CampaignSettings, Vec<ConfigWarning>), EchidnaConfigError> {
    let mut settings = CampaignSettings::default();
    let warnings = apply_config(&mut settings, text)?;
    Ok((settings, warnings))
}

/// Applies a configuration to existing settings; keys that it does not contain stay unchanged.
pub fn apply_config(
    settings: &mut CampaignSettings,
    text: &str,
) -> Result<Vec<ConfigWarning>, EchidnaConfigError> {
    if text.len() > MAX_BYTES {
        return Err(EchidnaConfigError::TooLarge);
    }
    let mut warnings = Vec::new();
    let Some(root) = yaml::parse_yaml(text)? else { return Ok(warnings) };
    let YamlValue::Map(entries) = &root.value else {
        return Err(EchidnaConfigError::NotAMap { line: root.line });
    };
    reject_duplicates(entries)?;
    for entry in entries {
        if let Some(kind) = apply_entry(settings, entry, entries)? {
            warnings.push(ConfigWarning { line: entry.line, key: entry.key.clone(), kind });
        }
    }
    Ok(warnings)
}

fn apply_entry(
    settings: &mut CampaignSettings,
    entry: &YamlEntry,
    all: &[YamlEntry],
) -> Result<Option<ConfigWarningKind>, EchidnaConfigError> {
    let key = entry.key.as_str();
    let field = ConfigField { key, node: &entry.value };
    let is_null = entry.value.is_null();
    if let Some((_, set)) = KEYS.iter().find(|(name, _)| *name == key) {
        if !is_null {
            set(settings, field)?;
        }
        return Ok(None);
    }
    if let Some((_, to, set)) = RENAMED.iter().find(|(name, ..)| *name == key) {
        // The current name takes precedence.
        let is_set = all.iter().any(|other| other.key == *to && !other.value.is_null());
        if !is_null && !is_set {
            set(settings, field)?;
        }
        return Ok(Some(ConfigWarningKind::Renamed { to }));
    }
    if let Some((_, neutral, reason)) = UNSUPPORTED.iter().find(|(name, ..)| *name == key) {
        let has_request = !is_null && format_inline(&entry.value) != *neutral;
        return Ok(has_request.then_some(ConfigWarningKind::Unsupported { reason }));
    }
    let is_fulfilled = FULFILLED.contains(&key);
    Ok((!is_fulfilled).then(|| ConfigWarningKind::Unknown { nearest: find_nearest_key(key) }))
}

pub(super) fn assign<T>(
    target: &mut T,
    value: Result<T, EchidnaConfigError>,
) -> Result<(), EchidnaConfigError> {
    *target = value?;
    Ok(())
}

pub(super) fn read_strings(field: ConfigField<'_>) -> Result<Vec<String>, EchidnaConfigError> {
    field.read_list("a list of strings", ConfigField::read_string)
}

/// Reads addresses, without duplicates, in their order.
pub(super) fn read_senders(
    field: ConfigField<'_>,
) -> Result<Vec<alloy_primitives::Address>, EchidnaConfigError> {
    let mut senders = Vec::new();
    for sender in field.read_list("a list of addresses", ConfigField::read_address)? {
        if !senders.contains(&sender) {
            senders.push(sender);
        }
    }
    if senders.is_empty() {
        return Err(field.invalid_value("a list of at least one address"));
    }
    Ok(senders)
}

/// Reads a list of pairs of an address and a contract.
fn read_deployments<'a, T>(
    field: ConfigField<'a>,
    read: impl Fn(ConfigField<'a>) -> Result<T, EchidnaConfigError>,
) -> Result<Vec<(alloy_primitives::Address, T)>, EchidnaConfigError> {
    const EXPECTED: &str = "a list of pairs of an address and a contract";
    field.read_list(EXPECTED, |pair| {
        let [address, contract] = pair.read_pair(EXPECTED)?;
        Ok((address.read_deploy_address()?, read(contract)?))
    })
}

/// Reads a list for the contract under test, or a map from contract names to lists.
fn read_constructor_args(field: ConfigField<'_>) -> Result<ConstructorArgs, EchidnaConfigError> {
    let Some(entries) = field.map_entries() else {
        return Ok(ConstructorArgs { main: read_arguments(field)?, ..ConstructorArgs::default() });
    };
    reject_duplicates(entries)?;
    let named = entries.iter().map(|entry| {
        let args = read_arguments(ConfigField { key: field.key, node: &entry.value })?;
        Ok((entry.key.clone(), args))
    });
    Ok(ConstructorArgs { main: Vec::new(), named: named.collect::<Result<_, _>>()? })
}

fn read_arguments(field: ConfigField<'_>) -> Result<Vec<String>, EchidnaConfigError> {
    field.read_list("a list of arguments, or a map of contracts to such lists", |argument| {
        let text = argument.node.text().map(str::to_owned);
        text.ok_or_else(|| argument.invalid_value("written as text, such as \"[1, 2]\""))
    })
}

pub(super) fn reject_duplicates(entries: &[YamlEntry]) -> Result<(), EchidnaConfigError> {
    for (index, entry) in entries.iter().enumerate() {
        if let Some(first) = entries[..index].iter().find(|first| first.key == entry.key) {
            return Err(EchidnaConfigError::DuplicateKey {
                line: entry.line,
                first: first.line,
                key: entry.key.clone(),
            });
        }
    }
    Ok(())
}

/// Formats a value on one line, to compare it with the neutral value.
pub(super) fn format_inline(node: &YamlNode) -> String {
    match &node.value {
        YamlValue::Plain(text) | YamlValue::Text(text) => text.clone(),
        YamlValue::List(items) => {
            let items: Vec<String> = items.iter().map(format_inline).collect();
            format!("[{}]", items.join(","))
        }
        YamlValue::Map(_) => "{}".to_owned(),
    }
}

/// Returns the known key that was probably meant.
fn find_nearest_key(key: &str) -> Option<&'static str> {
    let known = KEYS.iter().map(|(name, _)| *name);
    let known = known.chain(UNSUPPORTED.iter().map(|(name, ..)| *name));
    find_nearest(key, known.map(|name| (name, name)))
}

/// Returns the key whose name is most similar, if it is similar enough.
pub(super) fn find_nearest(
    name: &str,
    known: impl Iterator<Item = (&'static str, &'static str)>,
) -> Option<&'static str> {
    let distance = |other: &str| {
        strsim::damerau_levenshtein(&name.to_ascii_lowercase(), &other.to_ascii_lowercase())
    };
    let most = name.len().min(60) / 3;
    let distances = known.map(|(name, key)| (key, distance(name)));
    let (key, distance) = distances.min_by_key(|(_, it)| *it)?;
    (distance <= most).then_some(key)
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, kind } = self;
        let key = key.escape_debug();
        match kind {
            ConfigWarningKind::Unknown { nearest: Some(nearest) } => {
                write!(out, "line {line}: unknown key `{key}`; did you mean `{nearest}`?")
            }
            ConfigWarningKind::Unknown { nearest: None } => {
                write!(out, "line {line}: unknown key `{key}`")
            }
            ConfigWarningKind::Unsupported { reason } => {
                write!(out, "line {line}: `{key}` has no effect: {reason}")
            }
            ConfigWarningKind::Renamed { to } => {
                write!(out, "line {line}: `{key}` was renamed to `{to}`")
            }
        }
    }
}

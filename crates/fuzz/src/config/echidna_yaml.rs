//! Echidna's configuration file, with its names and defaults.
//!
//! A value of the wrong type is an error. A key that does nothing here is a warning: a file that was made for Echidna
//! should run, and its owner should know what is left out.

use std::fmt;
use std::time::Duration;

use super::field::Field;
use super::yaml::{self, Entry, Node, Yaml};
use super::{ConstructorArgs, Format, Settings};

/// A configuration takes a few kilobytes, and some more where bytecode stands in it.
pub const MAX_BYTES: usize = 4 << 20;

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("the configuration is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("line {line}: {problem}")]
    Syntax { line: usize, problem: String },
    #[error("line {line}: a configuration is a map of keys and values")]
    NotAMap { line: usize },
    #[error("line {line}: `{key}` must be {expected}, not {found}")]
    Value { line: usize, key: String, expected: String, found: String },
    #[error("line {line}: `{key}` was already set on line {first}; remove one of them")]
    Twice { line: usize, first: usize, key: String },
}

/// A key that does not do what its owner may expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub line: usize,
    pub key: String,
    pub kind: WarningKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// Nobody knows it; the known key that is most like it.
    Unknown { nearest: Option<&'static str> },
    /// Echidna has it, and there is nothing here that it could set.
    Unsupported { why: &'static str },
    /// It is read, and has a better name.
    Renamed { to: &'static str },
}

type Set = fn(&mut Settings, Field<'_>) -> Result<(), ConfigError>;

/// Every key that sets something.
const KEYS: &[(&str, Set)] = &[
    ("allContracts", |it, field| put(&mut it.all_contracts, field.flag())),
    ("allEvents", |it, field| put(&mut it.all_events, field.flag())),
    ("balanceAddr", |it, field| put(&mut it.sender_balance, field.number())),
    ("balanceContract", |it, field| put(&mut it.contract_balance, field.number())),
    ("codeSize", |it, field| put(&mut it.code_size, field.count())),
    ("constructorArgs", |it, field| put(&mut it.constructor_args, constructor_args(field))),
    ("contractAddr", |it, field| put(&mut it.contract_address, field.place())),
    ("corpusDir", |it, field| put(&mut it.corpus_dir, field.text().map(|it| Some(it.into())))),
    ("coverage", |it, field| put(&mut it.coverage, field.flag())),
    ("coverageDir", |it, field| put(&mut it.coverage_dir, field.text().map(|it| Some(it.into())))),
    ("coverageExcludes", |it, field| put(&mut it.coverage_excludes, texts(field))),
    ("coverageFormats", |it, field| {
        put(&mut it.coverage_formats, field.list("a list of formats", Field::choice))
    }),
    ("deployBytecodes", |it, field| {
        put(&mut it.deploy_bytecodes, deployments(field, Field::bytes))
    }),
    ("deployContracts", |it, field| put(&mut it.deploy_contracts, deployments(field, Field::text))),
    ("deployer", |it, field| put(&mut it.deployer, field.address())),
    ("dictFreq", |it, field| put(&mut it.dictionary_frequency, field.fraction())),
    ("excludeViewPure", |it, field| put(&mut it.exclude_view_pure, field.flag())),
    ("filterBlacklist", |it, field| put(&mut it.filter.excludes, field.flag())),
    ("filterFunctions", |it, field| put(&mut it.filter.functions, texts(field))),
    ("format", |it, field| put(&mut it.format, field.choice().map(Some))),
    ("maxBlockDelay", |it, field| put(&mut it.max_block_delay, field.count())),
    ("maxGasprice", |it, field| put(&mut it.max_gas_price, field.price())),
    ("maxTimeDelay", |it, field| put(&mut it.max_time_delay, field.count())),
    ("maxValue", |it, field| put(&mut it.max_value, field.number())),
    ("prefix", |it, field| put(&mut it.prefix, field.text())),
    ("projectName", |it, field| put(&mut it.project_name, field.text().map(Some))),
    ("propMaxGas", |it, field| put(&mut it.property_gas, field.count())),
    ("psender", |it, field| put(&mut it.property_sender, field.address())),
    ("quiet", |it, field| put(&mut it.quiet, field.flag())),
    ("seed", |it, field| put(&mut it.seed, field.count().map(Some))),
    ("sender", |it, field| put(&mut it.senders, senders(field))),
    ("seqLen", |it, field| put(&mut it.sequence_length, field.positive())),
    ("shrinkLimit", |it, field| put(&mut it.shrink_limit, field.count())),
    ("solcArgs", |it, field| put(&mut it.solc_args, field.text())),
    ("solcLibs", |it, field| put(&mut it.libraries, texts(field))),
    ("stopOnFail", |it, field| put(&mut it.stop_on_fail, field.flag())),
    ("testDestruction", |it, field| put(&mut it.test_destruction, field.flag())),
    ("testLimit", |it, field| put(&mut it.test_limit, field.count())),
    ("testMaxGas", |it, field| put(&mut it.call_gas, field.count())),
    ("testMode", |it, field| put(&mut it.test_mode, field.choice())),
    ("timeout", |it, field| {
        put(&mut it.timeout, field.count().map(|seconds| Some(Duration::from_secs(seconds))))
    }),
    // None at all is what Echidna is told who wants its solver alone.
    ("workers", |it, field| put(&mut it.workers, field.maybe_positive())),
];

/// Names that keys once had.
const RENAMED: &[(&str, &str, Set)] = &[
    ("multi-abi", "allContracts", |it, field| put(&mut it.all_contracts, field.flag())),
    ("dashboard", "format", |it, field| {
        if !field.flag()? {
            it.format = Some(Format::Text);
        }
        Ok(())
    }),
];

const SYMBOLIC: &str = "there is no symbolic execution";
const ON_CHAIN: &str = "nothing is fetched from a network";
const NO_CRYTIC: &str = "crytic-compile is not used";

/// Keys of Echidna that set nothing here, the value that asks for nothing, and why.
const UNSUPPORTED: &[(&str, &str, &str)] = &[
    ("allowFFI", "false", "a file cannot allow programs to be run; --allow-ffi can"),
    ("checkAsserts", "false", "set `testMode: assertion` instead"),
    ("cryticArgs", "[]", NO_CRYTIC),
    ("disableOnchainSources", "false", ON_CHAIN),
    ("estimateGas", "false", "gas is always counted"),
    ("etherscanApiKey", "null", ON_CHAIN),
    ("initialize", "null", "transactions of Etheno are not read; deploy in a constructor instead"),
    ("mutConsts", "[1,1,1,1]", "mutations are weighed by what they find"),
    ("outputRawTxs", "false", "the corpus holds the transactions"),
    ("rpcBlock", "null", ON_CHAIN),
    ("rpcUrl", "null", ON_CHAIN),
    ("server", "null", "the campaign is watched through its tools"),
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

/// Keys that ask for what is always so: constants are found without Slither.
const FULFILLED: &[&str] = &["disableSlither"];

/// Reads a configuration. Keys that are missing or null keep Echidna's default.
pub fn read(text: &str) -> Result<(Settings, Vec<Warning>), ConfigError> {
    let mut settings = Settings::default();
    let warnings = read_over(&mut settings, text)?;
    Ok((settings, warnings))
}

/// Reads a configuration over settings, which keep what it does not say.
pub fn read_over(settings: &mut Settings, text: &str) -> Result<Vec<Warning>, ConfigError> {
    if text.len() > MAX_BYTES {
        return Err(ConfigError::TooLarge);
    }
    let mut warnings = Vec::new();
    let Some(root) = yaml::parse(text)? else { return Ok(warnings) };
    let Yaml::Map(entries) = &root.value else {
        return Err(ConfigError::NotAMap { line: root.line });
    };
    refuse_repetition(entries)?;
    for entry in entries {
        if let Some(kind) = apply(settings, entry, entries)? {
            warnings.push(Warning { line: entry.line, key: entry.key.clone(), kind });
        }
    }
    Ok(warnings)
}

fn apply(
    settings: &mut Settings,
    entry: &Entry,
    all: &[Entry],
) -> Result<Option<WarningKind>, ConfigError> {
    let key = entry.key.as_str();
    let field = Field { key, node: &entry.value };
    let is_null = entry.value.is_null();
    if let Some((_, set)) = KEYS.iter().find(|(name, _)| *name == key) {
        if !is_null {
            set(settings, field)?;
        }
        return Ok(None);
    }
    if let Some((_, to, set)) = RENAMED.iter().find(|(name, ..)| *name == key) {
        // What stands under the present name counts.
        let is_set = all.iter().any(|other| other.key == *to && !other.value.is_null());
        if !is_null && !is_set {
            set(settings, field)?;
        }
        return Ok(Some(WarningKind::Renamed { to }));
    }
    if let Some((_, idle, why)) = UNSUPPORTED.iter().find(|(name, ..)| *name == key) {
        let asks = !is_null && flow(&entry.value) != *idle;
        return Ok(asks.then_some(WarningKind::Unsupported { why }));
    }
    let is_fulfilled = FULFILLED.contains(&key);
    Ok((!is_fulfilled).then(|| WarningKind::Unknown { nearest: nearest(key) }))
}

fn put<T>(place: &mut T, value: Result<T, ConfigError>) -> Result<(), ConfigError> {
    *place = value?;
    Ok(())
}

fn texts(field: Field<'_>) -> Result<Vec<String>, ConfigError> {
    field.list("a list of texts", Field::text)
}

/// Addresses, each once, in the order in which they are written.
fn senders(field: Field<'_>) -> Result<Vec<alloy_primitives::Address>, ConfigError> {
    let mut senders = Vec::new();
    for sender in field.list("a list of addresses", Field::address)? {
        if !senders.contains(&sender) {
            senders.push(sender);
        }
    }
    if senders.is_empty() {
        return Err(field.wrong("a list of at least one address"));
    }
    Ok(senders)
}

/// A list of pairs of an address and what lies there.
fn deployments<'a, T>(
    field: Field<'a>,
    read: impl Fn(Field<'a>) -> Result<T, ConfigError>,
) -> Result<Vec<(alloy_primitives::Address, T)>, ConfigError> {
    const EXPECTED: &str = "a list of pairs of an address and a contract";
    field.list(EXPECTED, |pair| {
        let [address, contract] = pair.pair(EXPECTED)?;
        Ok((address.place()?, read(contract)?))
    })
}

/// A list for the contract under test, or a map of lists for contracts by name.
fn constructor_args(field: Field<'_>) -> Result<ConstructorArgs, ConfigError> {
    let Some(entries) = field.entries() else {
        return Ok(ConstructorArgs { main: arguments(field)?, ..ConstructorArgs::default() });
    };
    refuse_repetition(entries)?;
    let named = entries.iter().map(|entry| {
        let args = arguments(Field { key: field.key, node: &entry.value })?;
        Ok((entry.key.clone(), args))
    });
    Ok(ConstructorArgs { main: Vec::new(), named: named.collect::<Result<_, _>>()? })
}

fn arguments(field: Field<'_>) -> Result<Vec<String>, ConfigError> {
    field.list("a list of arguments, or a map of contracts to such lists", |argument| {
        let text = argument.node.text().map(str::to_owned);
        text.ok_or_else(|| argument.wrong("written as text, such as \"[1, 2]\""))
    })
}

fn refuse_repetition(entries: &[Entry]) -> Result<(), ConfigError> {
    for (index, entry) in entries.iter().enumerate() {
        if let Some(first) = entries[..index].iter().find(|first| first.key == entry.key) {
            return Err(ConfigError::Twice {
                line: entry.line,
                first: first.line,
                key: entry.key.clone(),
            });
        }
    }
    Ok(())
}

/// A value on one line, to be compared with what asks for nothing.
fn flow(node: &Node) -> String {
    match &node.value {
        Yaml::Plain(text) | Yaml::Text(text) => text.clone(),
        Yaml::List(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(","))
        }
        Yaml::Map(_) => "{}".to_owned(),
    }
}

/// The known key that a person may have meant.
fn nearest(key: &str) -> Option<&'static str> {
    let known = KEYS.iter().map(|(name, _)| *name);
    let known = known.chain(UNSUPPORTED.iter().map(|(name, ..)| *name));
    let distance = |name: &str| {
        strsim::damerau_levenshtein(&key.to_ascii_lowercase(), &name.to_ascii_lowercase())
    };
    let most = key.len().min(60) / 3;
    let (name, distance) = known.map(|name| (name, distance(name))).min_by_key(|(_, it)| *it)?;
    (distance <= most).then_some(name)
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, kind } = self;
        let key = key.escape_debug();
        match kind {
            WarningKind::Unknown { nearest: Some(nearest) } => {
                write!(out, "line {line}: unknown key `{key}`; did you mean `{nearest}`?")
            }
            WarningKind::Unknown { nearest: None } => {
                write!(out, "line {line}: unknown key `{key}`")
            }
            WarningKind::Unsupported { why } => {
                write!(out, "line {line}: `{key}` has no effect: {why}")
            }
            WarningKind::Renamed { to } => {
                write!(out, "line {line}: `{key}` is now called `{to}`")
            }
        }
    }
}

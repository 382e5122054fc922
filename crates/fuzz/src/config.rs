//! What a campaign is told: every setting with its type and Echidna's default.
//!
//! Files, flags and tools all end in one [`Settings`]; [`echidna_yaml`] reads Echidna's own file. Whether a setting makes
//! sense for a particular contract is found out where it is used.

mod bounds;
pub mod echidna_yaml;
mod field;
pub mod number;
mod yaml;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use alloy_primitives::{Address, U256, address};

pub use bounds::{BoundError, MAX_WORKERS};

/// Everything that can be set. Each field names the key of Echidna that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `testMode`
    pub test_mode: TestMode,
    /// `testLimit`: calls, not sequences.
    pub test_limit: u64,
    /// `seqLen`: calls of one sequence.
    pub sequence_length: NonZeroUsize,
    /// `shrinkLimit`: tries to make one failure smaller.
    pub shrink_limit: u64,
    /// `stopOnFail`
    pub stop_on_fail: bool,
    /// `coverage`: whether coverage guides the campaign.
    pub coverage: bool,
    /// `prefix`: how the names of properties begin.
    pub prefix: String,
    /// `psender`: who calls properties.
    pub property_sender: Address,
    /// `contractAddr`
    pub contract_address: Address,
    /// `deployer`
    pub deployer: Address,
    /// `sender`: who makes calls; at least one, each once.
    pub senders: Vec<Address>,
    /// `balanceAddr`: wei that each sender starts with.
    pub sender_balance: U256,
    /// `balanceContract`: wei that the constructor is sent.
    pub contract_balance: U256,
    /// `codeSize`: bytes that a deployed contract may have.
    pub code_size: u64,
    /// `propMaxGas`
    pub property_gas: u64,
    /// `testMaxGas`
    pub call_gas: u64,
    /// `maxGasprice`
    pub max_gas_price: u128,
    /// `maxValue`: wei that go with one call.
    pub max_value: U256,
    /// `maxTimeDelay`, in seconds.
    pub max_time_delay: u64,
    /// `maxBlockDelay`
    pub max_block_delay: u64,
    /// `dictFreq`: how often a value is taken from those seen, from 0 to 1.
    pub dictionary_frequency: f64,
    /// `seed`
    pub seed: Option<u64>,
    /// `timeout`
    pub timeout: Option<Duration>,
    /// `workers`
    pub workers: Option<NonZeroUsize>,
    /// `format`: None leaves it to the terminal.
    pub format: Option<Format>,
    /// `quiet`
    pub quiet: bool,
    /// `projectName`
    pub project_name: Option<String>,
    /// `allContracts`, once `multi-abi`: call all contracts, not only the one under test.
    pub all_contracts: bool,
    /// `filterFunctions` and `filterBlacklist`
    pub filter: Filter,
    /// `excludeViewPure`
    pub exclude_view_pure: bool,
    /// `testDestruction`
    pub test_destruction: bool,
    /// Whether contracts may run programs. A file cannot say so, as Echidna's `allowFFI` does: files come with contracts.
    pub allow_ffi: bool,
    /// `allEvents`: show events of all calls, not only of the last.
    pub all_events: bool,
    /// `corpusDir`
    pub corpus_dir: Option<PathBuf>,
    /// `coverageDir`: None means the folder of the corpus.
    pub coverage_dir: Option<PathBuf>,
    /// `coverageFormats`
    pub coverage_formats: Vec<CoverageFormat>,
    /// `coverageExcludes`: patterns of paths that reports leave out.
    pub coverage_excludes: Vec<String>,
    /// `deployContracts`: contracts that are there before the one under test, by name.
    pub deploy_contracts: Vec<(Address, String)>,
    /// `deployBytecodes`: the same as the code that deploys them.
    pub deploy_bytecodes: Vec<(Address, Vec<u8>)>,
    /// `solcLibs`: libraries to link.
    pub libraries: Vec<String>,
    /// `solcArgs`
    pub solc_args: String,
    /// `constructorArgs`, which Echidna does not have.
    pub constructor_args: ConstructorArgs,
}

/// What a campaign looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TestMode {
    #[default]
    Property,
    Assertion,
    /// Tests and invariants of Foundry.
    Foundry,
    Optimization,
    Overflow,
    Exploration,
}

/// How results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    Text,
    Json,
    None,
}

/// A report of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoverageFormat {
    Text,
    Html,
    Lcov,
}

/// Which functions are called, by `Contract.signature`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub functions: Vec<String>,
    /// True if these are left out, false if no others are called.
    pub excludes: bool,
}

/// Arguments of constructors, written as in Solidity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConstructorArgs {
    /// Those of the contract under test.
    pub main: Vec<String>,
    /// Those of contracts by name.
    pub named: BTreeMap<String, Vec<String>>,
}

/// A word that is none of those that may stand in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is none of {choices}")]
pub struct NoSuchChoice {
    pub found: String,
    pub choices: &'static str,
}

impl Default for Settings {
    /// Echidna's.
    fn default() -> Self {
        const FIRST: Address = address!("0x0000000000000000000000000000000000010000");
        const SECOND: Address = address!("0x0000000000000000000000000000000000020000");
        const DEPLOYER: Address = address!("0x0000000000000000000000000000000000030000");
        const GAS: u64 = 12_500_000;
        const WEEK: u64 = 604_800;
        // What makes sense for 32 bits and is not meant to be reached.
        const UNLIMITED: u64 = 0xffff_ffff;

        Self {
            test_mode: TestMode::Property,
            test_limit: 50_000,
            sequence_length: NonZeroUsize::MIN.saturating_add(99),
            shrink_limit: 5_000,
            stop_on_fail: false,
            coverage: true,
            prefix: "echidna_".to_owned(),
            property_sender: FIRST,
            contract_address: address!("0x00a329c0648769a73afac7f9381e08fb43dbea72"),
            deployer: DEPLOYER,
            senders: vec![FIRST, SECOND, DEPLOYER],
            sender_balance: U256::from(UNLIMITED),
            contract_balance: U256::ZERO,
            code_size: UNLIMITED,
            property_gas: GAS,
            call_gas: GAS,
            max_gas_price: 0,
            max_value: U256::from(100_000_000_000_000_000_000_u128),
            max_time_delay: WEEK,
            max_block_delay: WEEK / 10,
            dictionary_frequency: 0.4,
            seed: None,
            timeout: None,
            workers: None,
            format: None,
            quiet: false,
            project_name: None,
            all_contracts: false,
            filter: Filter::default(),
            exclude_view_pure: false,
            test_destruction: false,
            allow_ffi: false,
            all_events: false,
            corpus_dir: None,
            coverage_dir: None,
            coverage_formats: CoverageFormat::ALL.to_vec(),
            coverage_excludes: Vec::new(),
            deploy_contracts: Vec::new(),
            deploy_bytecodes: Vec::new(),
            libraries: Vec::new(),
            solc_args: String::new(),
            constructor_args: ConstructorArgs::default(),
        }
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self { functions: Vec::new(), excludes: true }
    }
}

impl Filter {
    /// True if the function may be called. Filters name it alone or after its contract, such as
    /// `Token.transfer(address,uint256)`.
    pub fn admits(&self, contract: &str, signature: &str) -> bool {
        let is_named = self.functions.iter().any(|name| {
            let own = name.strip_prefix(contract).and_then(|rest| rest.strip_prefix('.'));
            own.unwrap_or(name) == signature
        });
        is_named != self.excludes
    }
}

impl CoverageFormat {
    pub const ALL: [Self; 3] = [Self::Text, Self::Html, Self::Lcov];
}

impl TestMode {
    pub(crate) const CHOICES: &str =
        "property, assertion, foundry, optimization, overflow, exploration";
}

impl Format {
    pub(crate) const CHOICES: &str = "text, json, none";
}

impl CoverageFormat {
    pub(crate) const CHOICES: &str = "txt, html, lcov";
}

impl fmt::Display for TestMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Property => "property",
            Self::Assertion => "assertion",
            Self::Foundry => "foundry",
            Self::Optimization => "optimization",
            Self::Overflow => "overflow",
            Self::Exploration => "exploration",
        })
    }
}

impl FromStr for TestMode {
    type Err = NoSuchChoice;

    fn from_str(text: &str) -> Result<Self, NoSuchChoice> {
        Ok(match text {
            "property" => Self::Property,
            "assertion" => Self::Assertion,
            // The name that Foundry's tests had before Foundry.
            "foundry" | "dapptest" => Self::Foundry,
            "optimization" => Self::Optimization,
            "overflow" => Self::Overflow,
            "exploration" => Self::Exploration,
            _ => return Err(NoSuchChoice { found: text.to_owned(), choices: Self::CHOICES }),
        })
    }
}

impl FromStr for Format {
    type Err = NoSuchChoice;

    fn from_str(text: &str) -> Result<Self, NoSuchChoice> {
        Ok(match text {
            "text" => Self::Text,
            "json" => Self::Json,
            "none" => Self::None,
            _ => return Err(NoSuchChoice { found: text.to_owned(), choices: Self::CHOICES }),
        })
    }
}

impl FromStr for CoverageFormat {
    type Err = NoSuchChoice;

    /// In any case, as Echidna reads it.
    fn from_str(text: &str) -> Result<Self, NoSuchChoice> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "txt" | "text" => Self::Text,
            "html" => Self::Html,
            "lcov" => Self::Lcov,
            _ => return Err(NoSuchChoice { found: text.to_owned(), choices: Self::CHOICES }),
        })
    }
}

//! Campaign settings: every setting with its type and Echidna's default.
//!
//! Files, flags and tools all end up in one [`CampaignSettings`]; [`echidna_yaml`] reads Echidna's own file,
//! and [`medusa_json`] Medusa's. Validation
//! against a particular target happens where a setting is used.

mod bounds;
pub mod echidna_yaml;
mod field;
pub mod foundry;
pub mod foundry_rpc;
pub mod medusa_json;
pub mod number;
mod project_access;
mod yaml;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256, address};

pub use bounds::{BoundError, MAX_WORKERS};
pub use project_access::{FileAccessError, FilePermission, ProjectAccess};

use self::foundry::FoundrySettings;
use crate::chain::ForkAccess;

/// All settings of a campaign. Each field documents the Echidna key that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignSettings {
    /// `testMode`
    pub test_mode: TestMode,
    /// `testLimit`: calls, not sequences.
    pub test_limit: u64,
    /// `seqLen`: calls of one sequence.
    pub sequence_length: NonZeroUsize,
    /// `shrinkLimit`: maximum attempts to shrink one failure.
    pub shrink_limit: u64,
    /// `stopOnFail`
    pub stop_on_fail: bool,
    /// `coverage`: coverage guides the campaign.
    pub coverage: bool,
    /// `prefix`: prefix of property names.
    pub prefix: String,
    /// `psender`: sender of property calls.
    pub property_sender: Address,
    /// `contractAddr`
    pub contract_address: Address,
    /// `deployer`
    pub deployer: Address,
    /// `sender`: senders of calls; at least one, without duplicates.
    pub senders: Vec<Address>,
    /// `balanceAddr`: initial balance of each sender, in wei.
    pub sender_balance: U256,
    /// `balanceContract`: wei sent to the constructor.
    pub contract_balance: U256,
    /// `codeSize`: maximum size of a deployed contract, in bytes.
    pub code_size: u64,
    /// `propMaxGas`
    pub property_gas: u64,
    /// `testMaxGas`
    pub call_gas: u64,
    /// `maxGasprice`
    pub max_gas_price: u128,
    /// `maxValue`: maximum wei sent with one call.
    pub max_value: U256,
    /// `maxTimeDelay`, in seconds.
    pub max_time_delay: u64,
    /// `maxBlockDelay`
    pub max_block_delay: u64,
    /// `dictFreq`: probability of taking a value from the dictionary, from 0 to 1.
    pub dictionary_frequency: f64,
    /// `seed`
    pub seed: Option<u64>,
    /// `timeout`
    pub timeout: Option<Duration>,
    /// `workers`
    pub workers: Option<NonZeroUsize>,
    /// `format`: None chooses by whether stdout is a terminal.
    pub format: Option<OutputFormat>,
    /// `quiet`
    pub quiet: bool,
    /// `projectName`
    pub project_name: Option<String>,
    /// `allContracts`, formerly `multi-abi`: call all contracts, not only the one under test.
    pub all_contracts: bool,
    /// `filterFunctions` and `filterBlacklist`
    pub filter: FunctionFilter,
    /// `excludeViewPure`
    pub exclude_view_pure: bool,
    /// `testDestruction`
    pub test_destruction: bool,
    /// Allows contracts to run programs. Files cannot set it, unlike Echidna's `allowFFI`, because they come with the target.
    pub allow_ffi: bool,
    /// Value of `PATH` for these programs. `None` is that of this process.
    pub ffi_path: Option<String>,
    /// What contracts may read on this machine; `None` if the user does not trust the project.
    pub access: Option<Arc<ProjectAccess>>,
    /// `allEvents`: show events of all calls, not only of the last.
    pub all_events: bool,
    /// `corpusDir`
    pub corpus_dir: Option<PathBuf>,
    /// `coverageDir`: None means the corpus folder.
    pub coverage_dir: Option<PathBuf>,
    /// `coverageFormats`
    pub coverage_formats: Vec<CoverageFormat>,
    /// `coverageExcludes`: path patterns to exclude from reports.
    pub coverage_excludes: Vec<String>,
    /// `deployContracts`: contracts to deploy before the one under test, by name.
    pub deploy_contracts: Vec<(Address, String)>,
    /// `deployBytecodes`: contracts to deploy before the one under test, by creation code.
    pub deploy_bytecodes: Vec<(Address, Vec<u8>)>,
    /// `solcLibs`: libraries to link.
    pub libraries: Vec<String>,
    /// `solcArgs`
    pub solc_args: String,
    /// `rpcUrl`: endpoint of the chain to fork, as a URL or a name. It may contain an API key.
    pub rpc_url: Option<RpcEndpoint>,
    /// `rpcBlock`: block that the fork starts from.
    pub rpc_block: Option<u64>,
    /// Remote chains that were opened, or that cheat codes may open.
    pub forks: ForkAccess,
    /// `constructorArgs`, an addition to Echidna's keys.
    pub constructor_args: ConstructorArgs,
    /// Settings that apply to Foundry's tests; see [`foundry`].
    pub foundry: FoundrySettings,
}

/// Kind of failure that a campaign searches for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TestMode {
    #[default]
    Property,
    Assertion,
    /// Foundry tests and invariants.
    Foundry,
    Optimization,
    Overflow,
    Exploration,
}

/// Output format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    Text,
    Json,
    None,
}

/// Format of a coverage report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoverageFormat {
    Text,
    Html,
    Lcov,
}

/// Filter of the functions to call, by `Contract.signature`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionFilter {
    pub functions: Vec<String>,
    /// True to exclude these functions, false to call no others.
    pub excludes: bool,
}

/// Constructor arguments in Solidity syntax.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConstructorArgs {
    /// Arguments of the contract under test.
    pub main: Vec<String>,
    /// Arguments of other contracts, by name.
    pub named: BTreeMap<String, Vec<String>>,
}

/// URL or name of a JSON-RPC endpoint. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct RpcEndpoint(pub String);

impl fmt::Debug for RpcEndpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("RpcEndpoint(..)")
    }
}

/// A value that is not one of the allowed choices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value `{found}`; expected one of {choices}")]
pub struct UnknownChoiceError {
    pub found: String,
    pub choices: &'static str,
}

impl Default for CampaignSettings {
    /// Returns Echidna's defaults.
    fn default() -> Self {
        const FIRST: Address = address!("0x0000000000000000000000000000000000010000");
        const SECOND: Address = address!("0x0000000000000000000000000000000000020000");
        const DEPLOYER: Address = address!("0x0000000000000000000000000000000000030000");
        const GAS: u64 = 12_500_000;
        const WEEK: u64 = 604_800;
        // Fits in 32 bits and is not meant to be reached.
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
            filter: FunctionFilter::default(),
            exclude_view_pure: false,
            test_destruction: false,
            allow_ffi: false,
            ffi_path: None,
            access: None,
            all_events: false,
            corpus_dir: None,
            coverage_dir: None,
            coverage_formats: CoverageFormat::ALL.to_vec(),
            coverage_excludes: Vec::new(),
            deploy_contracts: Vec::new(),
            deploy_bytecodes: Vec::new(),
            libraries: Vec::new(),
            solc_args: String::new(),
            rpc_url: None,
            rpc_block: None,
            forks: ForkAccess::default(),
            constructor_args: ConstructorArgs::default(),
            foundry: FoundrySettings::default(),
        }
    }
}

impl Default for FunctionFilter {
    fn default() -> Self {
        Self { functions: Vec::new(), excludes: true }
    }
}

impl FunctionFilter {
    /// Returns true if the function may be called. A filter entry names it alone or after its contract, such as
    /// `Token.transfer(address,uint256)`.
    pub fn allows_function(&self, contract: &str, signature: &str) -> bool {
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

impl OutputFormat {
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
    type Err = UnknownChoiceError;

    fn from_str(text: &str) -> Result<Self, UnknownChoiceError> {
        Ok(match text {
            "property" => Self::Property,
            "assertion" => Self::Assertion,
            // Foundry-style tests were introduced by dapptools as "dapptest".
            "foundry" | "dapptest" => Self::Foundry,
            "optimization" => Self::Optimization,
            "overflow" => Self::Overflow,
            "exploration" => Self::Exploration,
            _ => return Err(UnknownChoiceError { found: text.to_owned(), choices: Self::CHOICES }),
        })
    }
}

impl FromStr for OutputFormat {
    type Err = UnknownChoiceError;

    fn from_str(text: &str) -> Result<Self, UnknownChoiceError> {
        Ok(match text {
            "text" => Self::Text,
            "json" => Self::Json,
            "none" => Self::None,
            _ => return Err(UnknownChoiceError { found: text.to_owned(), choices: Self::CHOICES }),
        })
    }
}

impl FromStr for CoverageFormat {
    type Err = UnknownChoiceError;

    /// Parses case-insensitively, as Echidna does.
    fn from_str(text: &str) -> Result<Self, UnknownChoiceError> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "txt" | "text" => Self::Text,
            "html" => Self::Html,
            "lcov" => Self::Lcov,
            _ => return Err(UnknownChoiceError { found: text.to_owned(), choices: Self::CHOICES }),
        })
    }
}

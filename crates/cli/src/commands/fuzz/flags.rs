//! The flags of `vouch fuzz`. [`FuzzFlags::apply_to`] writes them into the settings.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use ::fuzz::config::{CampaignSettings, OutputFormat, RpcEndpoint, TestMode, echidna_yaml, number};
use alloy_primitives::Address;

use super::echidna_flags::EchidnaFlags;
use super::selection::SelectionFlags;
use crate::report::{Failure, Result};

/// Flags for the settings that are commonly given by hand. The others are in [`EchidnaFlags`].
#[derive(Debug, clap::Args)]
pub(crate) struct FuzzFlags {
    /// Smart contract under test, as `Name` or `path:Name` [default: the one that has tests]
    #[arg(long, value_name = "NAME")]
    pub(super) contract: Option<String>,

    /// Kind of tests to run [default: property]
    ///
    /// property: functions with the prefix (echidna_) that return false or revert, and Foundry invariants. assertion:
    /// failed assert statements and AssertionFailed events. foundry: functions with the prefix test. optimization:
    /// maximizes the number returned by a function. overflow: arithmetic overflows. exploration: no tests, only coverage.
    #[arg(long, value_name = "MODE")]
    test_mode: Option<TestMode>,

    /// Maximum number of calls [default: 50000]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    test_limit: Option<u64>,

    /// Maximum number of calls per sequence [default: 100]
    #[arg(long, value_name = "N", value_parser = parse_positive, allow_negative_numbers = true)]
    seq_len: Option<NonZeroUsize>,

    /// Maximum attempts to shrink a failure [default: 5000]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    shrink_limit: Option<u64>,

    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_count, allow_negative_numbers = true)]
    timeout: Option<u64>,

    /// Number of fuzzing threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_positive, allow_negative_numbers = true)]
    workers: Option<NonZeroUsize>,

    /// Random seed; the same seed and number of workers reproduce a run [default: random]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    seed: Option<u64>,

    /// Folder for the corpus and reproducers; without it, no files are written
    #[arg(long, value_name = "DIR")]
    corpus_dir: Option<PathBuf>,

    /// Folder for coverage reports [default: the corpus folder]
    #[arg(long, value_name = "DIR")]
    coverage_dir: Option<PathBuf>,

    /// Stop when the first test fails
    #[arg(long)]
    stop_on_fail: bool,

    /// Call the functions of all smart contracts, not only of the one under test
    #[arg(long)]
    all_contracts: bool,

    /// Sender of calls; can be repeated [default: 0x10000, 0x20000, 0x30000]
    #[arg(long = "sender", value_name = "ADDRESS", value_parser = parse_address)]
    senders: Vec<Address>,

    /// Deployer of the smart contracts [default: 0x30000]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    deployer: Option<Address>,

    /// Address of the smart contract under test
    #[arg(long, value_name = "ADDRESS", value_parser = parse_deploy_address)]
    contract_addr: Option<Address>,

    /// Output format of the results: text, json or none
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<OutputFormat>,

    /// Print JSON; short for --format json
    #[arg(long)]
    json: bool,

    /// Exit with 1 also if a test was not exercised: never called, only reverted or not run
    #[arg(long, conflicts_with = "replay")]
    pub(super) strict: bool,

    /// Write the results as a JUnit report
    ///
    /// A test that was not exercised is `skipped`, or an `error` with --strict.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(super) junit: Option<PathBuf>,

    /// Print progress as lines instead of the full-screen view; short for --format text
    #[arg(long, conflicts_with_all = ["json", "format"])]
    plain: bool,

    /// Solidity compiler: an executable, or the folder of the npm package solc
    #[arg(long, value_name = "PATH")]
    pub(super) solc: Option<PathBuf>,

    /// Install the compiler versions that the sources need and that are missing, as `vouch solc install` does
    #[arg(long)]
    pub(super) install_solc: bool,

    /// Profile of foundry.toml [default: FOUNDRY_PROFILE, else default]
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,

    /// Arguments for the compiler, such as "--optimize --evm-version london"
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    solc_args: Option<String>,

    /// Run the calls of a corpus file and print a trace of each, instead of fuzzing
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,

    /// Serve MCP and REST on this loopback port during the campaign; 0 picks a free port
    ///
    /// Agents watch and steer the campaign with the tools of the `campaign` pack. Every call is validated and audited as in
    /// `vouch serve`.
    #[arg(long, value_name = "PORT", conflicts_with = "replay")]
    pub(super) mcp_port: Option<u16>,

    /// Accept agents without a token: every user and program of this machine can steer the campaign
    #[arg(long, requires = "mcp_port")]
    pub(super) no_token: bool,

    /// Start paused, until an agent resumes the campaign or p is pressed
    #[arg(long, requires = "mcp_port")]
    pub(super) paused: bool,

    /// Repeat the agents' commands of an earlier run [default file: mcp-commands.jsonl in the corpus folder]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "replay")]
    pub(super) replay_mcp_commands: Option<Option<PathBuf>>,

    /// Fuzz the built-in example, a small vault; needs no compiler
    #[arg(long, conflicts_with_all = ["path", "contract", "solc", "solc_args", "install_solc", "profile"])]
    pub(super) demo: bool,

    /// Fork the chain of this node: state that contracts read is fetched from it and kept in a cache
    ///
    /// An http or https URL, or the name of an endpoint in foundry.toml. Messages and files name only its host. With a
    /// filled cache, no request is made.
    #[arg(long, value_name = "URL")]
    rpc_url: Option<String>,

    /// Block to fork [default: that of the corpus, else the latest]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    rpc_block: Option<u64>,

    /// Allow smart contracts to run programs on this machine through the ffi cheat code
    #[arg(long)]
    allow_ffi: bool,

    #[command(flatten)]
    pub(super) selection: SelectionFlags,

    #[command(flatten)]
    more: EchidnaFlags,
}

impl FuzzFlags {
    /// Overrides the settings with the flags that were given.
    pub(super) fn apply_to(&self, settings: &mut CampaignSettings) -> Result {
        set_if_given(&mut settings.test_mode, self.test_mode);
        if self.test_mode.is_some() {
            settings.foundry.given.insert("testMode");
        }
        settings.foundry.filter = self.selection.test_filter()?;
        set_if_given(&mut settings.test_limit, self.test_limit);
        set_if_given(&mut settings.sequence_length, self.seq_len);
        set_if_given(&mut settings.shrink_limit, self.shrink_limit);
        set_if_given(&mut settings.timeout, self.timeout.map(|it| Some(Duration::from_secs(it))));
        set_if_given(&mut settings.workers, self.workers.map(Some));
        set_if_given(&mut settings.seed, self.seed.map(Some));
        set_if_given(&mut settings.corpus_dir, self.corpus_dir.clone().map(Some));
        set_if_given(&mut settings.coverage_dir, self.coverage_dir.clone().map(Some));
        set_if_given(&mut settings.stop_on_fail, self.stop_on_fail.then_some(true));
        set_if_given(&mut settings.all_contracts, self.all_contracts.then_some(true));
        set_if_given(&mut settings.deployer, self.deployer);
        set_if_given(&mut settings.contract_address, self.contract_addr);
        let short =
            self.json.then_some(OutputFormat::Json).or(self.plain.then_some(OutputFormat::Text));
        set_if_given(&mut settings.format, short.or(self.format).map(Some));
        set_if_given(&mut settings.solc_args, self.solc_args.clone());
        if !self.senders.is_empty() {
            settings.senders.clear();
            for sender in &self.senders {
                if !settings.senders.contains(sender) {
                    settings.senders.push(*sender);
                }
            }
        }
        set_if_given(&mut settings.rpc_url, self.rpc_url.clone().map(|url| Some(RpcEndpoint(url))));
        set_if_given(&mut settings.rpc_block, self.rpc_block.map(Some));
        settings.allow_ffi = self.allow_ffi;
        self.more.apply_to(settings)
    }

    /// Errors if a flag is given that needs a single contract.
    pub(super) fn refuse_with_several_contracts(&self) -> Result {
        let given = [
            ("--mcp-port", self.mcp_port.is_some()),
            ("--replay-mcp-commands", self.replay_mcp_commands.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => {
                Err(Failure::usage(format!("`{flag}` needs a single test contract"))
                    .with_hint("name it: `--contract NAME`"))
            }
            None => Ok(()),
        }
    }
}

fn set_if_given<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}

/// Parses a number in any notation of Echidna's file: 50000, 1e6, 0xff.
fn parse_count(text: &str) -> std::result::Result<u64, String> {
    let number = number::parse_number(text).and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| "expected a non-negative integer, such as 50000 or 1e6".to_owned())
}

fn parse_positive(text: &str) -> std::result::Result<NonZeroUsize, String> {
    let number = parse_count(text).ok().and_then(|number| usize::try_from(number).ok());
    let number = number.and_then(NonZeroUsize::new);
    number.ok_or_else(|| "expected a positive integer".to_owned())
}

fn parse_address(text: &str) -> std::result::Result<Address, String> {
    number::parse_address(text)
        .ok_or_else(|| "expected an address of up to 40 hex digits, such as 0x10000".to_owned())
}

/// Parses an address that a smart contract can be deployed to, by the same rule as the key of Echidna's file.
fn parse_deploy_address(text: &str) -> std::result::Result<Address, String> {
    let address = parse_address(text)?;
    match echidna_yaml::parse_config(&format!("contractAddr: \"{address}\"")) {
        Ok((settings, _)) => Ok(settings.contract_address),
        Err(echidna_yaml::EchidnaConfigError::InvalidValue { expected, .. }) => {
            Err(format!("expected {expected}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

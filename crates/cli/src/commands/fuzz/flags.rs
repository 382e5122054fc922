//! The flags of `vouch fuzz`, and what they change in the settings.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use ::fuzz::config::{Format, Settings, TestMode, echidna_yaml, number};
use alloy_primitives::Address;

use super::more::More;
use crate::report::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// The contract under test, as `Name` or `path:Name` [default: the one that has tests]
    #[arg(long, value_name = "NAME")]
    pub(super) contract: Option<String>,

    /// What to look for [default: property]
    ///
    /// property: functions that begin with the prefix (echidna_) and return false or revert, and Foundry's invariants.
    /// assertion: assert and the event AssertionFailed. foundry: functions that begin with test. optimization: the largest
    /// number that a function returns. overflow: arithmetic that panics. exploration: nothing, only coverage.
    #[arg(long, value_name = "MODE")]
    test_mode: Option<TestMode>,

    /// Calls to make at most [default: 50000]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    test_limit: Option<u64>,

    /// Calls of one sequence at most [default: 100]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    seq_len: Option<NonZeroUsize>,

    /// Tries to make one failure smaller [default: 5000]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    shrink_limit: Option<u64>,

    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = count, allow_negative_numbers = true)]
    timeout: Option<u64>,

    /// Threads that fuzz [default: one for each core]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    workers: Option<NonZeroUsize>,

    /// Where chance begins: with the same seed and number of workers a run is the same [default: random]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    seed: Option<u64>,

    /// Folder that keeps the corpus and the reproducers; without it nothing is written
    #[arg(long, value_name = "DIR")]
    corpus_dir: Option<PathBuf>,

    /// Folder for the reports of coverage [default: that of the corpus]
    #[arg(long, value_name = "DIR")]
    coverage_dir: Option<PathBuf>,

    /// Stop when the first test fails
    #[arg(long)]
    stop_on_fail: bool,

    /// Call the functions of all contracts, not only those of the one under test
    #[arg(long)]
    all_contracts: bool,

    /// Who makes calls; may be given several times [default: 0x10000, 0x20000, 0x30000]
    #[arg(long = "sender", value_name = "ADDRESS", value_parser = address)]
    senders: Vec<Address>,

    /// Who deploys [default: 0x30000]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    deployer: Option<Address>,

    /// Where the contract under test is deployed
    #[arg(long, value_name = "ADDRESS", value_parser = place)]
    contract_addr: Option<Address>,

    /// How to print the results: text, json or none
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<Format>,

    /// Print JSON; the same as --format json
    #[arg(long)]
    json: bool,

    /// Print lines while it runs, even where a terminal could show a screen; the same as --format text
    #[arg(long, conflicts_with_all = ["json", "format"])]
    plain: bool,

    /// The Solidity compiler: a program, or the folder of the npm package solc
    #[arg(long, value_name = "PATH")]
    pub(super) solc: Option<PathBuf>,

    /// Arguments for the compiler, such as "--optimize --evm-version london"
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    solc_args: Option<String>,

    /// Run the calls of a file of the corpus and show what each does, instead of fuzzing
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,

    /// Serve MCP and REST on this port of the loopback while it runs; 0 takes a free one
    ///
    /// Agents then watch and steer the campaign with the tools of the pack `campaign`. Every call is checked and put on record
    /// as by `vouch serve`.
    #[arg(long, value_name = "PORT", conflicts_with = "replay")]
    pub(super) mcp_port: Option<u16>,

    /// Make no call before an agent, or somebody who presses p, lets it go on
    #[arg(long, requires = "mcp_port")]
    pub(super) paused: bool,

    /// Give the commands again that agents gave in an earlier run [default file: mcp-commands.jsonl of the corpus]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "replay")]
    pub(super) replay_mcp_commands: Option<Option<PathBuf>>,

    /// Fuzz a small vault that comes with this program; needs no compiler
    #[arg(long, conflicts_with_all = ["path", "contract", "solc", "solc_args"])]
    pub(super) demo: bool,

    /// Let contracts run programs on this machine, by the cheat code ffi
    #[arg(long)]
    allow_ffi: bool,

    #[command(flatten)]
    more: More,
}

impl Flags {
    /// Writes what was given over what files say.
    pub(super) fn apply(&self, settings: &mut Settings) -> Result {
        put(&mut settings.test_mode, self.test_mode);
        put(&mut settings.test_limit, self.test_limit);
        put(&mut settings.sequence_length, self.seq_len);
        put(&mut settings.shrink_limit, self.shrink_limit);
        put(&mut settings.timeout, self.timeout.map(|it| Some(Duration::from_secs(it))));
        put(&mut settings.workers, self.workers.map(Some));
        put(&mut settings.seed, self.seed.map(Some));
        put(&mut settings.corpus_dir, self.corpus_dir.clone().map(Some));
        put(&mut settings.coverage_dir, self.coverage_dir.clone().map(Some));
        put(&mut settings.stop_on_fail, self.stop_on_fail.then_some(true));
        put(&mut settings.all_contracts, self.all_contracts.then_some(true));
        put(&mut settings.deployer, self.deployer);
        put(&mut settings.contract_address, self.contract_addr);
        let short = self.json.then_some(Format::Json).or(self.plain.then_some(Format::Text));
        put(&mut settings.format, short.or(self.format).map(Some));
        put(&mut settings.solc_args, self.solc_args.clone());
        if !self.senders.is_empty() {
            settings.senders.clear();
            for sender in &self.senders {
                if !settings.senders.contains(sender) {
                    settings.senders.push(*sender);
                }
            }
        }
        settings.allow_ffi = self.allow_ffi;
        self.more.apply(settings)
    }
}

fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Numbers may be written as in Echidna's file: 50000, 1e6, 0xff.
fn count(text: &str) -> std::result::Result<u64, String> {
    let number = number::parse(text).and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| "expected a whole number from 0 up, such as 50000 or 1e6".to_owned())
}

fn positive(text: &str) -> std::result::Result<NonZeroUsize, String> {
    let number = count(text).ok().and_then(|number| usize::try_from(number).ok());
    let number = number.and_then(NonZeroUsize::new);
    number.ok_or_else(|| "expected a whole number from 1 up".to_owned())
}

fn address(text: &str) -> std::result::Result<Address, String> {
    number::parse_address(text)
        .ok_or_else(|| "expected an address of at most 40 hex digits such as 0x10000".to_owned())
}

/// An address that a contract can be put at, by the rule that holds for the same key in a file.
fn place(text: &str) -> std::result::Result<Address, String> {
    let address = address(text)?;
    match echidna_yaml::read(&format!("contractAddr: \"{address}\"")) {
        Ok((settings, _)) => Ok(settings.contract_address),
        Err(echidna_yaml::ConfigError::Value { expected, .. }) => {
            Err(format!("expected {expected}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

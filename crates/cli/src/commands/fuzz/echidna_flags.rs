//! Flags for the settings of Echidna's configuration file that are rarely given by hand.
//!
//! The flags are converted to such a file and parsed by its parser, so that both behave the same.

use ::fuzz::config::CampaignSettings;
use ::fuzz::config::echidna_yaml::{self, EchidnaConfigError};
use serde_json::{Value, json};

use crate::report::{Failure, Result};

const HEADING: &str = "Echidna settings";

/// Flags that are named after keys of Echidna's configuration file.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct EchidnaFlags {
    /// Prefix of property names [default: echidna_]
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Sender of property calls [default: 0x10000]
    #[arg(long, value_name = "ADDRESS")]
    psender: Option<String>,

    /// Initial balance of each sender, in wei [default: 0xffffffff]
    #[arg(long, value_name = "WEI")]
    balance_addr: Option<String>,

    /// Value sent to the constructor, in wei [default: 0]
    #[arg(long, value_name = "WEI")]
    balance_contract: Option<String>,

    /// Maximum code size of smart contracts deployed by the target, in bytes [default: 0xffffffff]
    #[arg(long, value_name = "N")]
    code_size: Option<String>,

    /// Gas limit of a property call [default: 12500000]
    #[arg(long, value_name = "N")]
    prop_max_gas: Option<String>,

    /// Gas limit of a call [default: 12500000]
    #[arg(long, value_name = "N")]
    test_max_gas: Option<String>,

    /// Maximum gas price, in wei [default: 0]
    #[arg(long, value_name = "WEI")]
    max_gasprice: Option<String>,

    /// Maximum value sent with a call, in wei [default: 1e20]
    #[arg(long, value_name = "WEI")]
    max_value: Option<String>,

    /// Maximum delay before a call, in seconds [default: 604800]
    #[arg(long, value_name = "SECONDS")]
    max_time_delay: Option<String>,

    /// Maximum delay before a call, in blocks [default: 60480]
    #[arg(long, value_name = "N")]
    max_block_delay: Option<String>,

    /// Probability of reusing a value from the dictionary, from 0 to 1 [default: 0.4]
    #[arg(long, value_name = "NUMBER")]
    dict_freq: Option<String>,

    /// Use coverage to guide the campaign [default: true]
    #[arg(long, value_name = "BOOL")]
    coverage: Option<bool>,

    /// Format of coverage reports: txt, html or lcov; can be repeated [default: all]
    #[arg(long, value_name = "FORMAT")]
    coverage_formats: Vec<String>,

    /// Files to leave out of coverage reports, such as lib/**; can be repeated
    #[arg(long, value_name = "PATTERN")]
    coverage_excludes: Vec<String>,

    /// Function to exclude, such as "Token.mint(uint256)"; can be repeated
    #[arg(long, value_name = "FUNCTION")]
    filter_functions: Vec<String>,

    /// Exclude the functions of --filter-functions; if false, call only those [default: true]
    #[arg(long, value_name = "BOOL")]
    filter_blacklist: Option<bool>,

    /// Exclude view and pure functions
    #[arg(long)]
    exclude_view_pure: bool,

    /// Fail if the smart contract under test self-destructs
    #[arg(long)]
    test_destruction: bool,

    /// Argument of the constructor; can be repeated, in order
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    constructor_args: Vec<String>,

    /// Smart contract to deploy first, such as 0xf001=Token; can be repeated
    #[arg(long, value_name = "ADDRESS=NAME", value_parser = parse_deploy_entry)]
    deploy_contracts: Vec<DeployEntry>,

    /// Bytecode to deploy first, such as 0xf001=0x6080…; can be repeated
    #[arg(long, value_name = "ADDRESS=HEX", value_parser = parse_deploy_entry)]
    deploy_bytecodes: Vec<DeployEntry>,

    /// Project name to print in the results
    #[arg(long, value_name = "NAME")]
    project_name: Option<String>,
}

impl EchidnaFlags {
    /// Overrides the settings with the flags that were given.
    pub(super) fn apply_to(&self, settings: &mut CampaignSettings) -> Result {
        // One key per line. Values are JSON, which is a subset of YAML.
        let lines: Vec<String> =
            self.collect_given().iter().map(|(key, value)| format!("{key}: {value}")).collect();
        echidna_yaml::apply_config(settings, &lines.join("\n")).map_err(to_usage_error)?;
        Ok(())
    }

    /// Returns the flags that were given, as keys and values of Echidna's file.
    fn collect_given(&self) -> Vec<(&'static str, Value)> {
        let texts = [
            ("prefix", &self.prefix),
            ("psender", &self.psender),
            ("balanceAddr", &self.balance_addr),
            ("balanceContract", &self.balance_contract),
            ("codeSize", &self.code_size),
            ("propMaxGas", &self.prop_max_gas),
            ("testMaxGas", &self.test_max_gas),
            ("maxGasprice", &self.max_gasprice),
            ("maxValue", &self.max_value),
            ("maxTimeDelay", &self.max_time_delay),
            ("maxBlockDelay", &self.max_block_delay),
            ("dictFreq", &self.dict_freq),
            ("projectName", &self.project_name),
        ];
        let lists = [
            ("coverageFormats", &self.coverage_formats),
            ("coverageExcludes", &self.coverage_excludes),
            ("filterFunctions", &self.filter_functions),
            ("constructorArgs", &self.constructor_args),
        ];
        let pairs = [
            ("deployContracts", &self.deploy_contracts),
            ("deployBytecodes", &self.deploy_bytecodes),
        ];
        let booleans = [
            ("coverage", self.coverage),
            ("filterBlacklist", self.filter_blacklist),
            ("excludeViewPure", self.exclude_view_pure.then_some(true)),
            ("testDestruction", self.test_destruction.then_some(true)),
        ];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key, json!(text.as_ref()?))));
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let lists = lists.map(|(key, list)| (key, json!(list)));
        let pairs = pairs.into_iter().filter(|(_, pairs)| !pairs.is_empty());
        let pairs = pairs.map(|(key, pairs)| (key, json!(pairs)));
        let booleans =
            booleans.into_iter().filter_map(|(key, boolean)| Some((key, json!(boolean?))));
        texts.chain(lists).chain(pairs).chain(booleans).collect()
    }
}

/// An address, and the smart contract or bytecode to deploy there.
type DeployEntry = [String; 2];

fn parse_deploy_entry(text: &str) -> std::result::Result<DeployEntry, String> {
    let (address, deployed) = text.split_once('=').ok_or("expected ADDRESS=VALUE")?;
    Ok([address.to_owned(), deployed.to_owned()])
}

/// Converts an error of the file's parser to a usage error that names the flag.
fn to_usage_error(error: EchidnaConfigError) -> Failure {
    let EchidnaConfigError::InvalidValue { key, expected, found, .. } = error else {
        return Failure::usage(error.to_string());
    };
    let mut flag = String::from("--");
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(letter.to_ascii_lowercase());
    }
    Failure::usage(format!("`{flag}` must be {expected}, not {found}"))
        .with_hint("run `vouch fuzz --help` to see its format")
}

//! The settings of Echidna's file that are rarely given by hand, as flags.
//!
//! They are written down as such a file and read by its reader, so that both mean the same.

use ::fuzz::config::Settings;
use ::fuzz::config::echidna_yaml::{self, ConfigError};
use serde_json::{Value, json};

use crate::report::{Failure, Result};

const HEADING: &str = "More settings, under Echidna's names";

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct More {
    /// How the names of properties begin [default: echidna_]
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Who calls properties [default: 0x10000]
    #[arg(long, value_name = "ADDRESS")]
    psender: Option<String>,

    /// Wei that each sender starts with [default: 0xffffffff]
    #[arg(long, value_name = "WEI")]
    balance_addr: Option<String>,

    /// Wei that the constructor is sent [default: 0]
    #[arg(long, value_name = "WEI")]
    balance_contract: Option<String>,

    /// Bytes that a contract may have which the one under test deploys [default: 0xffffffff]
    #[arg(long, value_name = "N")]
    code_size: Option<String>,

    /// Gas of a property [default: 12500000]
    #[arg(long, value_name = "N")]
    prop_max_gas: Option<String>,

    /// Gas of a call [default: 12500000]
    #[arg(long, value_name = "N")]
    test_max_gas: Option<String>,

    /// The highest price of gas [default: 0]
    #[arg(long, value_name = "WEI")]
    max_gasprice: Option<String>,

    /// Wei that go with one call at most [default: 1e20]
    #[arg(long, value_name = "WEI")]
    max_value: Option<String>,

    /// Seconds that go by before a call at most [default: 604800]
    #[arg(long, value_name = "SECONDS")]
    max_time_delay: Option<String>,

    /// Blocks that go by before a call at most [default: 60480]
    #[arg(long, value_name = "N")]
    max_block_delay: Option<String>,

    /// How often a value is taken from those that were seen, from 0 to 1 [default: 0.4]
    #[arg(long, value_name = "NUMBER")]
    dict_freq: Option<String>,

    /// Whether coverage guides the campaign [default: true]
    #[arg(long, value_name = "BOOL")]
    coverage: Option<bool>,

    /// A report of coverage: txt, html or lcov; may be given several times [default: all]
    #[arg(long, value_name = "FORMAT")]
    coverage_formats: Vec<String>,

    /// Files that reports of coverage leave out, such as lib/**; may be given several times
    #[arg(long, value_name = "PATTERN")]
    coverage_excludes: Vec<String>,

    /// A function that is not called, such as "Token.mint(uint256)"; may be given several times
    #[arg(long, value_name = "FUNCTION")]
    filter_functions: Vec<String>,

    /// With false, no other functions than those are called [default: true]
    #[arg(long, value_name = "BOOL")]
    filter_blacklist: Option<bool>,

    /// Do not call functions that promise to change nothing
    #[arg(long)]
    exclude_view_pure: bool,

    /// A contract that destroys itself is a failure
    #[arg(long)]
    test_destruction: bool,

    /// An argument of the constructor, in their order
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    constructor_args: Vec<String>,

    /// A contract to deploy first, such as 0xf001=Token; may be given several times
    #[arg(long, value_name = "ADDRESS=NAME", value_parser = pair)]
    deploy_contracts: Vec<Pair>,

    /// Code to deploy first, such as 0xf001=0x6080…; may be given several times
    #[arg(long, value_name = "ADDRESS=HEX", value_parser = pair)]
    deploy_bytecodes: Vec<Pair>,

    /// What the project is called in the results
    #[arg(long, value_name = "NAME")]
    project_name: Option<String>,
}

impl More {
    /// Writes what was given over what files say.
    pub(super) fn apply(&self, settings: &mut Settings) -> Result {
        // One key a line; JSON is YAML.
        let lines: Vec<String> =
            self.given().iter().map(|(key, value)| format!("{key}: {value}")).collect();
        echidna_yaml::read_over(settings, &lines.join("\n")).map_err(wrong)?;
        Ok(())
    }

    fn given(&self) -> Vec<(&'static str, Value)> {
        let one = [
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
        let many = [
            ("coverageFormats", &self.coverage_formats),
            ("coverageExcludes", &self.coverage_excludes),
            ("filterFunctions", &self.filter_functions),
            ("constructorArgs", &self.constructor_args),
        ];
        let pairs = [
            ("deployContracts", &self.deploy_contracts),
            ("deployBytecodes", &self.deploy_bytecodes),
        ];
        let truths = [
            ("coverage", self.coverage),
            ("filterBlacklist", self.filter_blacklist),
            ("excludeViewPure", self.exclude_view_pure.then_some(true)),
            ("testDestruction", self.test_destruction.then_some(true)),
        ];
        let one = one.into_iter().filter_map(|(key, text)| Some((key, json!(text.as_ref()?))));
        let many = many.into_iter().filter(|(_, texts)| !texts.is_empty());
        let many = many.map(|(key, texts)| (key, json!(texts)));
        let pairs = pairs.into_iter().filter(|(_, pairs)| !pairs.is_empty());
        let pairs = pairs.map(|(key, pairs)| (key, json!(pairs)));
        let truths = truths.into_iter().filter_map(|(key, is)| Some((key, json!(is?))));
        one.chain(many).chain(pairs).chain(truths).collect()
    }
}

/// An address, and what lies there.
type Pair = [String; 2];

fn pair(text: &str) -> std::result::Result<Pair, String> {
    let (address, what) =
        text.split_once('=').ok_or("expected an address, `=`, and what lies there")?;
    Ok([address.to_owned(), what.to_owned()])
}

/// The mistake in the words of the reader, with the name of the flag.
fn wrong(error: ConfigError) -> Failure {
    let ConfigError::Value { key, expected, found, .. } = error else {
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
        .with_hint("`vouch fuzz --help` shows how it is written")
}

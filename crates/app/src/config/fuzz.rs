//! The `[fuzz]` table: Echidna's settings in snake case.
//!
//! `testLimit` is `test_limit` here. The parser of Echidna's file reads the values, so that both mean the same. Its
//! errors are reported with the location in vouch.toml.

use std::path::{Path, PathBuf};

use ::fuzz::config::CampaignSettings;
use ::fuzz::config::echidna_yaml::{self, EchidnaConfigError as Problem};

use super::{ConfigError, ConfigSource};

const TABLE: &str = "fuzz";

/// Every supported key. A test checks that the parser of Echidna's file knows each.
pub(super) const KEYS: &[&str] = &[
    "all_contracts",
    "all_events",
    "balance_addr",
    "balance_contract",
    "code_size",
    "constructor_args",
    "contract_addr",
    "corpus_dir",
    "coverage",
    "coverage_dir",
    "coverage_excludes",
    "coverage_formats",
    "deploy_bytecodes",
    "deploy_contracts",
    "deployer",
    "dict_freq",
    "exclude_view_pure",
    "filter_blacklist",
    "filter_functions",
    "format",
    "max_block_delay",
    "max_gasprice",
    "max_time_delay",
    "max_value",
    "prefix",
    "project_name",
    "prop_max_gas",
    "psender",
    "quiet",
    "seed",
    "sender",
    "seq_len",
    "shrink_limit",
    "solc_args",
    "solc_libs",
    "stop_on_fail",
    "test_destruction",
    "test_limit",
    "test_max_gas",
    "test_mode",
    "timeout",
    "workers",
];

/// The validated `[fuzz]` table.
#[derive(Clone, Debug)]
pub(crate) struct FuzzTable {
    /// The settings as Echidna's YAML.
    text: String,
    root: PathBuf,
}

impl FuzzTable {
    /// Returns `base` with the settings of the table applied. Folders in the table are relative to the root.
    pub(crate) fn apply_over(&self, base: CampaignSettings) -> CampaignSettings {
        let mut settings =
            CampaignSettings { corpus_dir: None, coverage_dir: None, ..base.clone() };
        echidna_yaml::apply_config(&mut settings, &self.text).expect("the text was parsed before");
        let placed = |own: Option<PathBuf>, below| own.map(|own| self.root.join(own)).or(below);
        settings.corpus_dir = placed(settings.corpus_dir, base.corpus_dir);
        settings.coverage_dir = placed(settings.coverage_dir, base.coverage_dir);
        settings
    }
}

/// Parses and validates the table.
pub(super) fn parse_fuzz_table(
    table: &toml::Table,
    source: &ConfigSource,
    root: &Path,
) -> Result<FuzzTable, ConfigError> {
    // One key per line, so that the line number identifies the key. JSON is valid YAML.
    let line = |(key, value): (&String, &toml::Value)| {
        let value = serde_json::to_string(value).unwrap_or_default();
        format!("{}: {value}", echidna_name(key))
    };
    let text = table.iter().map(line).collect::<Vec<_>>().join("\n");
    echidna_yaml::parse_config(&text).map_err(|problem| {
        let (line, message) = describe_problem(&problem);
        let key = line.checked_sub(1).and_then(|index| table.keys().nth(index));
        let key = key.map(String::as_str).unwrap_or_default();
        ConfigError::Value {
            spot: source.locate_key(&[TABLE, key]),
            key: format!("{TABLE}.{key}"),
            message,
        }
    })?;
    Ok(FuzzTable { text, root: root.to_owned() })
}

/// Returns the line and the message of a problem, without Echidna's key names.
fn describe_problem(problem: &Problem) -> (usize, String) {
    match problem {
        Problem::InvalidValue { line, expected, found, .. } => {
            (*line, format!("expected {expected}, got {found}"))
        }
        Problem::Syntax { line, problem } => (*line, problem.clone()),
        Problem::NotAMap { line } | Problem::DuplicateKey { line, .. } => {
            (*line, problem.to_string())
        }
        Problem::TooLarge | Problem::Contradiction(_) => (0, problem.to_string()),
    }
}

/// Converts `test_limit` to `testLimit`.
fn echidna_name(key: &str) -> String {
    let mut name = String::new();
    for (index, part) in key.split('_').enumerate() {
        let mut letters = part.chars();
        match letters.next() {
            Some(first) if index > 0 => name.extend(first.to_uppercase()),
            Some(first) => name.push(first),
            None => {}
        }
        name.push_str(letters.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echidna_parser_knows_every_key() {
        for key in KEYS {
            let (_, warnings) =
                echidna_yaml::parse_config(&format!("{}: null", echidna_name(key))).unwrap();
            assert_eq!(warnings, [], "{key}");
        }
    }

    #[test]
    fn values_are_parsed_as_in_echidna() {
        let text = "[fuzz]\ntest_limit = 7\nsender = [\"0x1\", \"0x2\"]\nmax_value = \"1e20\"\ncorpus_dir = \"c\"\n\
                    constructor_args = { Token = [\"1 ether\"] }\ncoverage_formats = [\"lcov\"]";
        let source = ConfigSource { path: "vouch.toml".into(), text: text.to_owned() };
        let table: toml::Table = toml::from_str(text).unwrap();
        let table = table["fuzz"].as_table().unwrap();
        let settings = parse_fuzz_table(table, &source, Path::new("/root")).unwrap();
        let settings =
            settings.apply_over(CampaignSettings { seed: Some(5), ..CampaignSettings::default() });
        assert_eq!(settings.seed, Some(5));
        assert_eq!((settings.test_limit, settings.senders.len()), (7, 2));
        assert_eq!(settings.max_value, CampaignSettings::default().max_value);
        assert_eq!(settings.corpus_dir.unwrap(), Path::new("/root/c"));
        assert_eq!(settings.constructor_args.named["Token"], ["1 ether"]);
    }
}

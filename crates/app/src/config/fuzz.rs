//! The `[fuzz]` table: the settings of Echidna's file, under names as all of `vouch.toml` has them.
//!
//! `testLimit` is `test_limit` here. The values are read by the reader of Echidna's file, so that both mean the same; what
//! it says of a mistake is told with the place in our file.

use std::path::{Path, PathBuf};

use ::fuzz::config::Settings;
use ::fuzz::config::echidna_yaml::{self, ConfigError as Problem};

use super::{ConfigError, Source};

const TABLE: &str = "fuzz";

/// Every key that sets something. A test asks the reader whether it knows them.
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

/// The table, checked.
#[derive(Clone, Debug)]
pub(crate) struct FuzzTable {
    /// As Echidna's file would have it.
    text: String,
    root: PathBuf,
}

impl FuzzTable {
    /// Its settings over others, which keep what it does not say. Folders in it are relative to the root, as all of this file
    /// are.
    pub(crate) fn over(&self, base: Settings) -> Settings {
        let mut settings = Settings { corpus_dir: None, coverage_dir: None, ..base.clone() };
        echidna_yaml::read_over(&mut settings, &self.text).expect("it was read before");
        let placed = |own: Option<PathBuf>, below| own.map(|own| self.root.join(own)).or(below);
        settings.corpus_dir = placed(settings.corpus_dir, base.corpus_dir);
        settings.coverage_dir = placed(settings.coverage_dir, base.coverage_dir);
        settings
    }
}

/// Reads the table.
pub(super) fn lower(
    table: &toml::Table,
    source: &Source,
    root: &Path,
) -> Result<FuzzTable, ConfigError> {
    // One key a line, so that the number of a line tells the key. JSON is YAML.
    let line = |(key, value): (&String, &toml::Value)| {
        let value = serde_json::to_string(value).unwrap_or_default();
        format!("{}: {value}", echidna_name(key))
    };
    let text = table.iter().map(line).collect::<Vec<_>>().join("\n");
    echidna_yaml::read(&text).map_err(|problem| {
        let (line, message) = said(&problem);
        let key = line.checked_sub(1).and_then(|index| table.keys().nth(index));
        let key = key.map(String::as_str).unwrap_or_default();
        ConfigError::Value {
            spot: source.spot_of(&[TABLE, key]),
            key: format!("{TABLE}.{key}"),
            message,
        }
    })?;
    Ok(FuzzTable { text, root: root.to_owned() })
}

/// On which line, and what; names of keys are left to the one who knows ours.
fn said(problem: &Problem) -> (usize, String) {
    match problem {
        Problem::Value { line, expected, found, .. } => {
            (*line, format!("expected {expected}, not {found}"))
        }
        Problem::Syntax { line, problem } => (*line, problem.clone()),
        Problem::NotAMap { line } | Problem::Twice { line, .. } => (*line, problem.to_string()),
        Problem::TooLarge => (0, problem.to_string()),
    }
}

/// `test_limit` as `testLimit`.
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
    fn the_reader_knows_every_key() {
        for key in KEYS {
            let (_, warnings) =
                echidna_yaml::read(&format!("{}: null", echidna_name(key))).unwrap();
            assert_eq!(warnings, [], "{key}");
        }
    }

    #[test]
    fn values_are_those_of_echidna() {
        let text = "[fuzz]\ntest_limit = 7\nsender = [\"0x1\", \"0x2\"]\nmax_value = \"1e20\"\ncorpus_dir = \"c\"\n\
                    constructor_args = { Token = [\"1 ether\"] }\ncoverage_formats = [\"lcov\"]";
        let source = Source { path: "vouch.toml".into(), text: text.to_owned() };
        let table: toml::Table = toml::from_str(text).unwrap();
        let table = table["fuzz"].as_table().unwrap();
        let settings = lower(table, &source, Path::new("/root")).unwrap();
        let settings = settings.over(Settings { seed: Some(5), ..Settings::default() });
        assert_eq!(settings.seed, Some(5));
        assert_eq!((settings.test_limit, settings.senders.len()), (7, 2));
        assert_eq!(settings.max_value, Settings::default().max_value);
        assert_eq!(settings.corpus_dir.unwrap(), Path::new("/root/c"));
        assert_eq!(settings.constructor_args.named["Token"], ["1 ether"]);
    }
}

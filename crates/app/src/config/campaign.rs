//! The `[campaign]` table: the targets of the campaign pack.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{ConfigError, ConfigSource};

const TABLE: &str = "campaign";

/// Raw values of the `[campaign]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct CampaignLayer {
    pub(super) target: Option<OneOrMore>,
    pub(super) contract: Option<OneOrMore>,
    pub(super) corpus_dir: Option<PathBuf>,
}

/// A string or a list of strings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected text or a list of texts")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Vec<String> {
    fn from(texts: OneOrMore) -> Self {
        match texts {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

/// The validated `[campaign]` table.
#[derive(Clone, Debug, Default)]
pub struct CampaignPackSettings {
    /// Targets, one campaign each.
    pub targets: Vec<CampaignTarget>,
    /// Corpus folder; overrides the one of the fuzzer's settings.
    pub corpus_dir: Option<PathBuf>,
}

/// A target to fuzz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignTarget {
    /// Path of the source, project or build; `None` for the built-in demo.
    pub path: Option<PathBuf>,
    pub contract: Option<String>,
}

impl CampaignLayer {
    /// Validates the table. Paths are relative to the root.
    pub(super) fn into_settings(
        self,
        source: &ConfigSource,
        root: &Path,
    ) -> Result<CampaignPackSettings, ConfigError> {
        let targets: Vec<String> = self.target.map(Into::into).unwrap_or_default();
        let contracts: Vec<String> = self.contract.map(Into::into).unwrap_or_default();
        let paths = targets.iter().map(|path| root.join(path)).collect();
        let aims = pair_targets(paths, contracts).map_err(|message| ConfigError::Value {
            spot: source.locate_key(&[TABLE, "contract"]),
            key: format!("{TABLE}.contract"),
            message,
        })?;
        Ok(CampaignPackSettings {
            targets: aims,
            corpus_dir: self.corpus_dir.map(|folder| root.join(folder)),
        })
    }
}

/// Pairs targets with smart contracts: either no contract is named, or one per target.
pub fn pair_targets(
    paths: Vec<PathBuf>,
    contracts: Vec<String>,
) -> Result<Vec<CampaignTarget>, String> {
    if !contracts.is_empty() && contracts.len() != paths.len() {
        return Err(format!(
            "expected one contract for each of the {} targets, in order, or none; got {}",
            paths.len(),
            contracts.len()
        ));
    }
    let contracts = contracts.into_iter().map(Some).chain(std::iter::repeat(None));
    let aims = paths.into_iter().zip(contracts);
    Ok(aims.map(|(path, contract)| CampaignTarget { path: Some(path), contract }).collect())
}

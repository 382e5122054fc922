//! The `[campaign]` table: what the campaign pack fuzzes.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{ConfigError, Source};

const TABLE: &str = "campaign";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct CampaignLayer {
    pub(super) target: Option<OneOrMore>,
    pub(super) contract: Option<OneOrMore>,
    pub(super) corpus_dir: Option<PathBuf>,
}

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

/// What is fuzzed behind a server.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    pub aims: Vec<Aim>,
    /// Instead of the one that the fuzzer's own settings name.
    pub corpus_dir: Option<PathBuf>,
}

/// One thing to fuzz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aim {
    /// None for the contract that comes with the program.
    pub path: Option<PathBuf>,
    pub contract: Option<String>,
}

impl CampaignLayer {
    /// Paths are relative to the root, as all of the file are.
    pub(super) fn lower(self, source: &Source, root: &Path) -> Result<Campaign, ConfigError> {
        let targets: Vec<String> = self.target.map(Into::into).unwrap_or_default();
        let contracts: Vec<String> = self.contract.map(Into::into).unwrap_or_default();
        let paths = targets.iter().map(|path| root.join(path)).collect();
        let aims = pair(paths, contracts).map_err(|message| ConfigError::Value {
            spot: source.spot_of(&[TABLE, "contract"]),
            key: format!("{TABLE}.contract"),
            message,
        })?;
        Ok(Campaign { aims, corpus_dir: self.corpus_dir.map(|folder| root.join(folder)) })
    }
}

/// Targets with their contracts: either none is named, or one for each.
pub fn pair(paths: Vec<PathBuf>, contracts: Vec<String>) -> Result<Vec<Aim>, String> {
    if !contracts.is_empty() && contracts.len() != paths.len() {
        return Err(format!(
            "expected a contract for each of the {} targets, in their order, or none; there are {}",
            paths.len(),
            contracts.len()
        ));
    }
    let contracts = contracts.into_iter().map(Some).chain(std::iter::repeat(None));
    let aims = paths.into_iter().zip(contracts);
    Ok(aims.map(|(path, contract)| Aim { path: Some(path), contract }).collect())
}

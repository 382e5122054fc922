//! The `[gateway]` table: how the tools of other servers are named, and where what is known of them is kept.

use std::path::PathBuf;

use serde::Deserialize;

use super::ConfigError;
use super::place::Place;

const TABLE: &str = "gateway";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct GatewayLayer {
    separator: Option<String>,
    contracts: Option<String>,
    lock: Option<String>,
}

/// The table as commands use it.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Between the name of an upstream and the name of its tool.
    pub separator: String,
    /// The folder of overlays, `<upstream>/<tool>.json` below it.
    pub contracts: PathBuf,
    /// The file that pins definitions.
    pub lock: PathBuf,
}

impl GatewayLayer {
    pub(super) fn over(self, lower: Self) -> Self {
        Self {
            separator: self.separator.or(lower.separator),
            contracts: self.contracts.or(lower.contracts),
            lock: self.lock.or(lower.lock),
        }
    }

    pub(super) fn lower(self, place: Place<'_>) -> Result<Gateway, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let separator = self.separator.expect(COMPLETE);
        // A name of an upstream may hold `-`, so that alone would not tell where it ends.
        let plain = separator.chars().all(|c| "_-./".contains(c)) && separator.len() <= 8;
        if !plain || separator.trim_matches('-').is_empty() {
            let message = "expected one to eight of `_`, `.`, `/` and `-`, not of `-` alone";
            return Err(place.wrong(&[TABLE, "separator"], message));
        }
        let path = |key, text: String| match std::path::Path::new(&text).file_name() {
            Some(_) => Ok(place.root.join(text)),
            None => Err(place.wrong(&[TABLE, key], format!("`{text}` names nothing of its own"))),
        };
        Ok(Gateway {
            separator,
            contracts: path("contracts", self.contracts.expect(COMPLETE))?,
            lock: path("lock", self.lock.expect(COMPLETE))?,
        })
    }
}

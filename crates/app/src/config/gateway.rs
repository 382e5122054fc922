//! The `[gateway]` table: the names of upstream tools, and the locations of overlays and pins.

use std::path::PathBuf;

use serde::Deserialize;

use super::ConfigError;
use super::location::SourceContext;

const TABLE: &str = "gateway";

/// Raw values of the `[gateway]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct GatewayLayer {
    separator: Option<String>,
    contracts: Option<String>,
    lock: Option<String>,
}

/// The validated `[gateway]` table.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Separator between the name of an upstream and the name of its tool.
    pub separator: String,
    /// Folder of overlays, which are at `<upstream>/<tool>.json`.
    pub contracts: PathBuf,
    /// File of pinned definitions.
    pub lock: PathBuf,
}

impl GatewayLayer {
    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, lower: Self) -> Self {
        Self {
            separator: self.separator.or(lower.separator),
            contracts: self.contracts.or(lower.contracts),
            lock: self.lock.or(lower.lock),
        }
    }

    /// Validates the table. Paths are relative to the root.
    pub(super) fn into_settings(
        self,
        place: SourceContext<'_>,
    ) -> Result<GatewaySettings, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let separator = self.separator.expect(COMPLETE);
        // An upstream name may contain `-`, so `-` alone would be ambiguous.
        let plain = separator.chars().all(|c| "_-./".contains(c)) && separator.len() <= 8;
        if !plain || separator.trim_matches('-').is_empty() {
            let message = "expected one to eight of `_`, `.`, `/` and `-`, and not only `-`";
            return Err(place.invalid_value(&[TABLE, "separator"], message));
        }
        let path = |key, text: String| match std::path::Path::new(&text).file_name() {
            Some(_) => Ok(place.root.join(text)),
            None => Err(place.invalid_value(&[TABLE, key], format!("`{text}` has no file name"))),
        };
        Ok(GatewaySettings {
            separator,
            contracts: path("contracts", self.contracts.expect(COMPLETE))?,
            lock: path("lock", self.lock.expect(COMPLETE))?,
        })
    }
}

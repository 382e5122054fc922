//! The tables `[clients.<principal>]`: allowlists of tools per caller.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ConfigError;
use super::globs::ToolGlobs;
use super::location::SourceContext;

const TABLE: &str = "clients";

/// Raw values of a `[clients.<principal>]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ClientLayer {
    tools: Option<Vec<String>>,
}

/// The tools that each principal may call.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientAllowlists {
    by_principal: BTreeMap<String, ToolGlobs>,
}

impl ClientAllowlists {
    /// Returns each principal with a table, and its patterns.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &ToolGlobs)> {
        self.by_principal.iter().map(|(principal, globs)| (principal.as_str(), globs))
    }
}

/// Validates the tables and compiles their patterns.
pub(super) fn build_allowlists(
    layers: BTreeMap<String, ClientLayer>,
    place: SourceContext<'_>,
) -> Result<ClientAllowlists, ConfigError> {
    let mut by_principal = BTreeMap::new();
    for (principal, layer) in layers {
        let token = principal.strip_prefix("token:").is_some_and(|name| !name.is_empty());
        if !token && !matches!(principal.as_str(), "local" | "stdio" | "cli") {
            let message = "unknown principal; expected `token:<name>`, `local`, `stdio` or `cli`";
            return Err(place.invalid_value(&[TABLE, &principal], message));
        }
        // An empty table would be ambiguous: all tools or none.
        let Some(tools) = layer.tools else {
            let message = "missing `tools`, the patterns of tools that this client may call";
            return Err(place.invalid_value(&[TABLE, &principal], message));
        };
        let globs = ToolGlobs::new(tools)
            .map_err(|message| place.invalid_value(&[TABLE, &principal, "tools"], message))?;
        by_principal.insert(principal, globs);
    }
    Ok(ClientAllowlists { by_principal })
}

//! The tables `[clients.<principal>]`: which tools a caller may use.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ConfigError;
use super::globs::Globs;
use super::place::Place;

const TABLE: &str = "clients";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ClientLayer {
    tools: Option<Vec<String>>,
}

/// What each principal may call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    by_principal: BTreeMap<String, Globs>,
}

impl Clients {
    /// Each principal that has a table, with its patterns.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Globs)> {
        self.by_principal.iter().map(|(principal, globs)| (principal.as_str(), globs))
    }
}

pub(super) fn lower(
    layers: BTreeMap<String, ClientLayer>,
    place: Place<'_>,
) -> Result<Clients, ConfigError> {
    let mut by_principal = BTreeMap::new();
    for (principal, layer) in layers {
        let token = principal.strip_prefix("token:").is_some_and(|name| !name.is_empty());
        if !token && !matches!(principal.as_str(), "local" | "stdio" | "cli") {
            let message = "expected who calls: `token:<name>`, `local`, `stdio` or `cli`";
            return Err(place.wrong(&[TABLE, &principal], message));
        }
        // An empty table could mean all or nothing.
        let Some(tools) = layer.tools else {
            let message = "expected `tools`, the patterns of what this client may call";
            return Err(place.wrong(&[TABLE, &principal], message));
        };
        let globs = Globs::new(tools)
            .map_err(|message| place.wrong(&[TABLE, &principal, "tools"], message))?;
        by_principal.insert(principal, globs);
    }
    Ok(Clients { by_principal })
}

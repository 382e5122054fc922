//! The tables `[clients.<principal>]`: what a caller may call and read, and who approves its calls.

use std::collections::BTreeMap;

use runtime::ApprovalRoute;
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
    resources: Option<Vec<String>>,
    approve: Option<ClientApproval>,
}

/// The way in which the calls of a client are approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientApproval {
    Ask,
    Queue,
}

impl From<ClientApproval> for ApprovalRoute {
    fn from(approval: ClientApproval) -> Self {
        match approval {
            ClientApproval::Ask => Self::Ask,
            ClientApproval::Queue => Self::Queue,
        }
    }
}

/// The validated table of one client.
#[derive(Clone, Debug)]
pub(crate) struct ClientSettings {
    /// Without patterns, the client may call every tool.
    pub(crate) tools: Option<ToolGlobs>,
    /// Without patterns, the client may read every resource.
    pub(crate) resources: Option<ToolGlobs>,
    pub(crate) approve: Option<ClientApproval>,
}

/// Validates the tables and compiles their patterns. Returns the clients by principal.
pub(super) fn build_clients(
    layers: BTreeMap<String, ClientLayer>,
    place: SourceContext<'_>,
) -> Result<BTreeMap<String, ClientSettings>, ConfigError> {
    let mut by_principal = BTreeMap::new();
    for (principal, layer) in layers {
        let token = principal.strip_prefix("token:").is_some_and(|name| !name.is_empty());
        if !token && !matches!(principal.as_str(), "local" | "stdio" | "cli") {
            let message = "unknown principal; expected `token:<name>`, `local`, `stdio` or `cli`";
            return Err(place.invalid_value(&[TABLE, &principal], message));
        }
        let ClientLayer { tools, resources, approve } = layer;
        // An empty table would be ambiguous: everything or nothing.
        if tools.is_none() && resources.is_none() && approve.is_none() {
            let message = "empty table; set `tools`, `resources` or `approve`";
            return Err(place.invalid_value(&[TABLE, &principal], message));
        }
        // A client that is limited to some tools must not read around the limit.
        let resources = resources.or_else(|| tools.as_ref().map(|_| Vec::new()));
        let compile = |key: &str, patterns: Option<Vec<String>>| {
            let globs = patterns.map(ToolGlobs::new).transpose();
            globs.map_err(|message| place.invalid_value(&[TABLE, &principal, key], message))
        };
        let tools = compile("tools", tools)?;
        let resources = compile("resources", resources)?;
        by_principal.insert(principal.clone(), ClientSettings { tools, resources, approve });
    }
    Ok(by_principal)
}

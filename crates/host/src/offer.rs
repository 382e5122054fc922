//! The live tools of a query, and the standing of each.
//!
//! The effective allowlist is the live list ∩ the operator's allowlist ∩ the pins. Tools that are not allowed stay in the
//! list with a reason, so the gates distinguish an unknown tool from one that may not be called. The `standing` module
//! decides the standing.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Contract;

/// A tool that may be called.
#[derive(Clone, Debug)]
pub struct ToolOffer {
    /// The name of the server in the configuration.
    pub server: String,
    /// The name of the tool on its server.
    pub tool: String,
    /// The name in the catalog of the pipeline.
    pub name: String,
    /// The effective contract.
    pub contract: Arc<Contract>,
}

/// The standing of a live tool. Only an allowed tool has a contract.
#[derive(Clone, Debug)]
pub enum ToolStanding {
    Allowed(Arc<Contract>),
    /// Admission rejected it.
    Refused(String),
    /// It changed since it was pinned, and the change is not accepted.
    Quarantined(String),
    /// The operator's allowlist does not contain it.
    NotAllowed(String),
}

/// A live tool with its standing.
#[derive(Clone, Debug)]
pub struct ListedTool {
    pub server: String,
    pub tool: String,
    /// The name in the catalog of the pipeline, if the tool is allowed.
    pub name: String,
    pub standing: ToolStanding,
}

/// All live tools with their standing, in the given order.
#[derive(Clone, Debug, Default)]
pub struct EffectiveAllowlist {
    listed: Vec<ListedTool>,
    offers: Vec<ToolOffer>,
}

impl EffectiveAllowlist {
    pub fn new(listed: Vec<ListedTool>) -> Self {
        let offers = listed
            .iter()
            .filter_map(|tool| match &tool.standing {
                ToolStanding::Allowed(contract) if contract.output.is_some() => Some(ToolOffer {
                    server: tool.server.clone(),
                    tool: tool.tool.clone(),
                    name: tool.name.clone(),
                    contract: Arc::clone(contract),
                }),
                _ => None,
            })
            .collect();
        Self { listed, offers }
    }

    /// Returns the tools that a planner may choose from; it does not see the others.
    ///
    /// A tool without an output schema is not offered, because its answers cannot be checked.
    pub fn offers(&self) -> &[ToolOffer] {
        &self.offers
    }

    /// Returns all live tools, allowed or not.
    pub fn listed_tools(&self) -> &[ListedTool] {
        &self.listed
    }
}

/// The reason why the tools could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ToolDiscoveryError(pub String);

/// Source of the live tools; used only after the input policy has accepted a query.
#[async_trait]
pub trait LiveToolSource: Send + Sync {
    /// Returns the live tools with their standing.
    async fn discover(&self) -> Result<EffectiveAllowlist, ToolDiscoveryError>;
}

/// A fixed list of tools.
#[async_trait]
impl LiveToolSource for EffectiveAllowlist {
    async fn discover(&self) -> Result<EffectiveAllowlist, ToolDiscoveryError> {
        Ok(self.clone())
    }
}

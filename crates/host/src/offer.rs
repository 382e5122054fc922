//! What a query may be answered with: every live tool, and whether it is allowed.
//!
//! The effective allowlist is the live list ∩ the operator's allowlist ∩ the pins. Who knows those three says, for each
//! live tool, how it stands; so the gates can tell a tool that does not exist from one that exists and may not be used.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Contract;

/// A tool that may be called.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The server as the operator named it.
    pub server: String,
    /// The tool as its server names it.
    pub tool: String,
    /// The name in the catalog of the pipeline.
    pub name: String,
    /// The effective contract.
    pub contract: Arc<Contract>,
}

/// How a live tool stands. Only what is allowed has a contract to call it by.
#[derive(Clone, Debug)]
pub enum Standing {
    Allowed(Arc<Contract>),
    /// Admission found it lacking.
    Refused(String),
    /// It changed since it was pinned, and nobody accepted that.
    Quarantined(String),
    /// The operator's allowlist leaves it out.
    NotAllowed(String),
}

/// One live tool.
#[derive(Clone, Debug)]
pub struct Listed {
    pub server: String,
    pub tool: String,
    /// The name in the catalog of the pipeline, for what is allowed.
    pub name: String,
    pub standing: Standing,
}

/// All live tools with their standing, in the order they were given.
#[derive(Clone, Debug, Default)]
pub struct Allowlist {
    listed: Vec<Listed>,
    offers: Vec<Offer>,
}

impl Allowlist {
    pub fn new(listed: Vec<Listed>) -> Self {
        let offers = listed
            .iter()
            .filter_map(|tool| match &tool.standing {
                Standing::Allowed(contract) if contract.output.is_some() => Some(Offer {
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

    /// What a planner may choose from; it never learns of the rest. A tool whose answers could not be checked is not in it.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }
}

/// Why there is no list of tools.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DiscoverError(pub String);

/// Where the live tools come from. Asked only once a query has passed the input policy.
#[async_trait]
pub trait Discover: Send + Sync {
    async fn discover(&self) -> Result<Allowlist, DiscoverError>;
}

/// A list that is already there.
#[async_trait]
impl Discover for Allowlist {
    async fn discover(&self) -> Result<Allowlist, DiscoverError> {
        Ok(self.clone())
    }
}

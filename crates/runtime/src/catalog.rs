//! The catalog: the served tools, their contracts, and the invokers that run them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use contract::{
    CallContext, Constraints, Contract, ContractError, ResourceProvider, SchemaViolation, Tool,
    ToolError, ToolOutput,
};
use serde_json::Value;

use crate::call::{CallInterruption, CallSubject};
use crate::elicitation::ElicitationBroker;
use crate::limits::{RateLimit, RateLimitRegistry};
use crate::local::LocalTool;
use crate::resource_catalog::{READ_RESOURCE, ResourceCatalog};

/// The source of a tool's answers, which decides how a contract violation is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerOrigin {
    /// A tool of this server. A contract violation is an internal error.
    #[default]
    Local,
    /// A tool of an upstream server. An answer that violates the contract is withheld and kept for people.
    Upstream,
}

/// Runs a call that has passed every check: a local tool, or a tool of an upstream server.
#[async_trait]
pub trait Invoker: Send + Sync {
    /// Returns the source of the answers; local unless overridden.
    fn origin(&self) -> AnswerOrigin {
        AnswerOrigin::Local
    }

    /// See [`Tool::reword_violation`].
    fn reword(&self, _violation: &SchemaViolation) -> Option<ToolError> {
        None
    }

    /// See [`Tool::check_arguments`].
    fn check(&self, _arguments: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    /// Runs the call and returns its output. The future is dropped when the result is no longer needed: the time limit
    /// has passed, or the caller cancelled or disconnected.
    async fn invoke(
        &self,
        arguments: Value,
        broker: &ElicitationBroker,
        ctx: &CallContext,
    ) -> Result<ToolOutput, CallInterruption>;
}

/// One tool of the catalog, with everything the pipeline needs to run it.
///
/// A call keeps the entry it resolved, even if another catalog is published while it runs.
pub struct CatalogEntry {
    pub contract: Arc<Contract>,
    pub invoker: Arc<dyn Invoker>,
    /// Set when the entry is published. A tool that disappears and returns keeps the quota its callers have used.
    rate: OnceLock<Arc<RateLimit>>,
}

impl CatalogEntry {
    pub(crate) fn new(contract: Arc<Contract>, invoker: Arc<dyn Invoker>) -> Self {
        Self { contract, invoker, rate: OnceLock::new() }
    }

    pub(crate) fn rate_limit(&self) -> &Arc<RateLimit> {
        self.rate.get_or_init(|| {
            let calls = self.contract.constraints.rate_per_minute;
            RateLimitRegistry::default().get_or_create(&self.contract.name, calls)
        })
    }

    fn assign_rate_limit(&self, limits: &mut RateLimitRegistry) {
        let (name, calls) = (&self.contract.name, self.contract.constraints.rate_per_minute);
        let rate = self.rate.get_or_init(|| limits.get_or_create(name, calls));
        limits.register(name, calls, rate);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("duplicate tool name `{0}`")]
    DuplicateName(String),
    #[error("tool name `{0}` is reserved for resource reads")]
    ReservedName(String),
    #[error("duplicate resource `{0}`: two packs offer the same address")]
    DuplicateResource(String),
    #[error(transparent)]
    Contract(#[from] ContractError),
}

/// Maps tool names to entries, sorted by name so that listings are stable, and holds the resources.
///
/// A catalog is built, then published ([`crate::Pipeline::publish`]). A published catalog never changes; it is replaced
/// as a whole.
#[derive(Default)]
pub struct Catalog {
    entries: BTreeMap<String, Arc<CatalogEntry>>,
    resources: Option<Arc<ResourceCatalog>>,
}

impl Catalog {
    /// Adds a local tool under its own contract.
    pub fn add_tool(&mut self, tool: Arc<dyn Tool>) -> Result<(), CatalogError> {
        let contract = Arc::clone(tool.contract());
        self.add_invoker(contract, Arc::new(LocalTool::new(tool)))
    }

    /// Adds a local tool with constraints adjusted by the operator. The published contract contains the adjusted
    /// values.
    pub fn add_tool_with(
        &mut self,
        tool: Arc<dyn Tool>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<(), CatalogError> {
        let base = tool.contract();
        let mut constraints = base.constraints.clone();
        adjust(&mut constraints);
        if constraints == base.constraints {
            return self.add_tool(tool);
        }
        let mut definition = base.to_definition();
        definition.annotations = Some(constraints.to_annotations());
        definition.constraints = Some(constraints);
        let contract = Contract::new(definition, &base.errors)?;
        self.add_invoker(Arc::new(contract), Arc::new(LocalTool::new(tool)))
    }

    /// Adds a tool with a contract and the invoker that runs it. Errors if the name is reserved or taken.
    pub fn add_invoker(
        &mut self,
        contract: Arc<Contract>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<(), CatalogError> {
        self.add_entry(Arc::new(CatalogEntry::new(contract, invoker)))
    }

    /// Adds an existing entry of another catalog unchanged. Errors if the name is reserved or taken.
    pub fn add_entry(&mut self, entry: Arc<CatalogEntry>) -> Result<(), CatalogError> {
        let name = entry.contract.name.clone();
        if name == READ_RESOURCE {
            return Err(CatalogError::ReservedName(name));
        }
        if self.entries.contains_key(&name) {
            return Err(CatalogError::DuplicateName(name));
        }
        self.entries.insert(name, entry);
        Ok(())
    }

    /// Adds a resource provider to those already present, with constraints adjusted by the operator. Errors if two
    /// providers offer the same address.
    pub fn add_resources(
        &mut self,
        provider: Arc<dyn ResourceProvider>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<(), CatalogError> {
        let resources = match &self.resources {
            Some(resources) => resources.join_provider(provider, adjust)?,
            None => ResourceCatalog::new(provider, adjust)?,
        };
        self.resources = Some(Arc::new(resources));
        Ok(())
    }

    /// Returns the resources of all providers, or `None` without a provider.
    pub fn resources(&self) -> Option<&Arc<ResourceCatalog>> {
        self.resources.as_ref()
    }

    /// Returns the entry that a call runs. This is the only way to reach the entry for resource reads.
    pub(crate) fn resolve(&self, subject: &CallSubject) -> Option<&Arc<CatalogEntry>> {
        match subject {
            CallSubject::Tool(name) => self.get(name),
            CallSubject::Resource => self.resources().map(|resources| &resources.entry),
        }
    }

    /// Returns true if both catalogs list the same names with the same contract digests.
    pub(crate) fn has_same_contracts_as(&self, other: &Self) -> bool {
        // The digest covers the name.
        let digest = |entry: &Arc<CatalogEntry>| entry.contract.digest().to_owned();
        self.all_entries().map(digest).eq(other.all_entries().map(digest))
    }

    /// Iterates over every entry, including the one for resource reads.
    fn all_entries(&self) -> impl Iterator<Item = &Arc<CatalogEntry>> {
        self.entries.values().chain(self.resolve(&CallSubject::Resource))
    }

    /// Assigns a rate limit to every entry, so that used quota survives the replacement of a catalog.
    pub(crate) fn assign_rate_limits(&self, limits: &mut RateLimitRegistry) {
        for entry in self.all_entries() {
            entry.assign_rate_limit(limits);
        }
        limits.remove_expired(|name| name == READ_RESOURCE || self.entries.contains_key(name));
    }

    pub fn get(&self, name: &str) -> Option<&Arc<CatalogEntry>> {
        self.entries.get(name)
    }

    pub fn entries(&self) -> impl Iterator<Item = &Arc<CatalogEntry>> {
        self.entries.values()
    }

    pub fn contracts(&self) -> impl Iterator<Item = &Contract> {
        self.entries().map(|entry| &*entry.contract)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

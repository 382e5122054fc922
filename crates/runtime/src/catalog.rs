//! The catalog: which tools there are, under which contract, and what runs them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use contract::{
    CallContext, Constraints, Contract, ContractError, Output, Resources, Tool, ToolError,
    Violation,
};
use serde_json::Value;

use crate::call::{Stop, Subject};
use crate::documents::{Documents, READ};
use crate::inquiry::Inquiry;
use crate::limits::{Limits, RateLimit};
use crate::local::LocalTool;

/// Whose the answers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Of our own tools: one that breaks its contract is a defect of ours.
    #[default]
    Ours,
    /// Of an upstream server: one that breaks its contract is withheld, and kept for people.
    Upstream,
}

/// Runs a call that has passed every gate: a local tool, or a tool of an upstream server.
#[async_trait]
pub trait Invoker: Send + Sync {
    fn origin(&self) -> Origin {
        Origin::Ours
    }

    /// See [`Tool::reword`].
    fn reword(&self, violation: &Violation) -> Option<ToolError> {
        let _ = violation;
        None
    }

    /// See [`Tool::check`].
    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let _ = arguments;
        Ok(())
    }

    /// Dropped when nobody waits any more: the time limit has passed, or the caller cancelled or went away.
    async fn invoke(
        &self,
        arguments: Value,
        inquiry: &Inquiry,
        ctx: &CallContext,
    ) -> Result<Output, Stop>;
}

/// One tool of the catalog with all that the pipeline needs about it. A call keeps the entry that it found, whatever is
/// published while it runs.
pub struct Entry {
    pub contract: Arc<Contract>,
    pub invoker: Arc<dyn Invoker>,
    /// Given when the entry is published: a tool that comes back finds what its callers have used of their share.
    rate: OnceLock<Arc<RateLimit>>,
}

impl Entry {
    pub(crate) fn new(contract: Arc<Contract>, invoker: Arc<dyn Invoker>) -> Self {
        Self { contract, invoker, rate: OnceLock::new() }
    }

    pub(crate) fn rate(&self) -> &Arc<RateLimit> {
        self.rate
            .get_or_init(|| RateLimit::per_minute(self.contract.constraints.rate_per_minute).into())
    }

    fn limit_by(&self, limits: &mut Limits) {
        let (name, calls) = (&self.contract.name, self.contract.constraints.rate_per_minute);
        let rate = self.rate.get_or_init(|| limits.of(name, calls));
        limits.hold(name, calls, rate);
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("two tools are called `{0}`; a name belongs to one tool only")]
    DuplicateName(String),
    #[error("a tool is called `{0}`, which is how reads of resources are recorded")]
    ReservedName(String),
    #[error("two packs offer the resource `{0}`; an address belongs to one pack only")]
    DuplicateResource(String),
    #[error(transparent)]
    Contract(#[from] ContractError),
}

/// Tool names to entries, in the order of the names, so that every listing is the same; and the resources beside them.
///
/// A catalog is built, then published ([`crate::Pipeline::publish`]), and from then on never changed: another takes its
/// place.
#[derive(Default)]
pub struct Catalog {
    entries: BTreeMap<String, Arc<Entry>>,
    documents: Option<Arc<Documents>>,
}

impl Catalog {
    /// Adds a local tool under its own contract.
    pub fn add_tool(&mut self, tool: Arc<dyn Tool>) -> Result<(), CatalogError> {
        let contract = Arc::clone(tool.contract());
        self.add(contract, Arc::new(LocalTool::new(tool)))
    }

    /// Adds a local tool with constraints that an operator has changed; the published contract says what holds.
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
        let mut definition = base.definition();
        definition.annotations = Some(constraints.annotations());
        definition.constraints = Some(constraints);
        let contract = Contract::new(definition, &base.errors)?;
        self.add(Arc::new(contract), Arc::new(LocalTool::new(tool)))
    }

    pub fn add(
        &mut self,
        contract: Arc<Contract>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<(), CatalogError> {
        self.adopt(Arc::new(Entry::new(contract, invoker)))
    }

    /// Adds an entry of another catalog as it is: what a new catalog has in common with the one before.
    pub fn adopt(&mut self, entry: Arc<Entry>) -> Result<(), CatalogError> {
        let name = entry.contract.name.clone();
        if name == READ {
            return Err(CatalogError::ReservedName(name));
        }
        if self.entries.contains_key(&name) {
            return Err(CatalogError::DuplicateName(name));
        }
        self.entries.insert(name, entry);
        Ok(())
    }

    /// Offers documents to read, beside those that others offer, with limits that an operator may have changed.
    pub fn add_resources(
        &mut self,
        provider: Arc<dyn Resources>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<(), CatalogError> {
        let documents = match &self.documents {
            Some(documents) => documents.and(provider, adjust)?,
            None => Documents::new(provider, adjust)?,
        };
        self.documents = Some(Arc::new(documents));
        Ok(())
    }

    pub fn documents(&self) -> Option<&Arc<Documents>> {
        self.documents.as_ref()
    }

    /// What a call is to run: only this finds the entry behind which the documents are.
    pub(crate) fn resolve(&self, subject: &Subject) -> Option<&Arc<Entry>> {
        match subject {
            Subject::Tool(name) => self.get(name),
            Subject::Resource => self.documents().map(|documents| &documents.entry),
        }
    }

    /// Whether a listing of this catalog and of the other say the same: the same names under the same digests.
    pub(crate) fn offers_the_same_as(&self, other: &Self) -> bool {
        // The digest covers the name.
        let digest = |entry: &Arc<Entry>| entry.contract.digest().to_owned();
        self.all().map(digest).eq(other.all().map(digest))
    }

    /// Every entry, that of the documents too.
    fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values().chain(self.resolve(&Subject::Resource))
    }

    /// Gives every entry its rate limit, so that what callers have used of a share outlives the catalog before.
    pub(crate) fn limit_by(&self, limits: &mut Limits) {
        for entry in self.all() {
            entry.limit_by(limits);
        }
        limits.forget(|name| name == READ || self.entries.contains_key(name));
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(name)
    }

    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    pub fn contracts(&self) -> impl Iterator<Item = &Contract> {
        self.entries().map(|entry| &*entry.contract)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

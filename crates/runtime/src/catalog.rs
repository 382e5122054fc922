//! The catalog: which tools there are, under which contract, and what runs them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::{
    CallContext, Constraints, Contract, ContractError, Output, Resources, Tool, ToolError,
    Violation,
};
use serde_json::Value;

use crate::call::{Stop, Subject};
use crate::documents::{Documents, READ};
use crate::inquiry::Inquiry;
use crate::limits::RateLimit;
use crate::local::LocalTool;

/// Runs a call that has passed every gate: a local tool, or a tool of an upstream server.
#[async_trait]
pub trait Invoker: Send + Sync {
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

    async fn invoke(
        &self,
        arguments: Value,
        inquiry: &Inquiry,
        ctx: &CallContext,
    ) -> Result<Output, Stop>;
}

/// One tool of the catalog with all that the pipeline needs about it.
pub struct Entry {
    pub contract: Arc<Contract>,
    pub invoker: Arc<dyn Invoker>,
    pub(crate) rate: RateLimit,
}

impl Entry {
    pub(crate) fn new(contract: Arc<Contract>, invoker: Arc<dyn Invoker>) -> Self {
        let rate = RateLimit::per_minute(contract.constraints.rate_per_minute);
        Self { contract, invoker, rate }
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
#[derive(Default)]
pub struct Catalog {
    entries: BTreeMap<String, Entry>,
    documents: Option<Documents>,
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
        let name = contract.name.clone();
        if name == READ {
            return Err(CatalogError::ReservedName(name));
        }
        if self.entries.contains_key(&name) {
            return Err(CatalogError::DuplicateName(name));
        }
        self.entries.insert(name, Entry::new(contract, invoker));
        Ok(())
    }

    /// Offers documents to read, beside those that others offer, with limits that an operator may have changed.
    pub fn add_resources(
        &mut self,
        provider: Arc<dyn Resources>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<(), CatalogError> {
        self.documents = Some(match &self.documents {
            Some(documents) => documents.and(provider, adjust)?,
            None => Documents::new(provider, adjust)?,
        });
        Ok(())
    }

    pub fn documents(&self) -> Option<&Documents> {
        self.documents.as_ref()
    }

    /// What a call is to run: only this finds the entry behind which the documents are.
    pub(crate) fn resolve(&self, subject: &Subject) -> Option<&Entry> {
        match subject {
            Subject::Tool(name) => self.get(name),
            Subject::Resource => self.documents().map(|documents| &documents.entry),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub fn contracts(&self) -> impl Iterator<Item = &Contract> {
        self.entries().map(|entry| &*entry.contract)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

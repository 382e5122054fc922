//! Resources behind the pipeline: the providers' documents, and the catalog entry that every read goes through.
//!
//! A read is a call like any other: validated, limited, timed and audited. Its entry is not part of any tool listing
//! and cannot be named by a tool call. Several providers are combined into one: see `joined_resources`.

mod joined_resources;

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{
    CallContext, Constraints, Contract, ContractError, ErrorCode, Resource, ResourceBody,
    ResourceContent, ResourceProvider, ResourceTemplate, ToolDefinition, ToolError, ToolOutput,
};
use serde_json::{Value, json};

use crate::call::CallInterruption;
use crate::catalog::{CatalogEntry, CatalogError, Invoker};
use crate::elicitation::ElicitationBroker;
use crate::local;
use joined_resources::JoinedResources;

/// The name of a resource read in the audit log and the metrics: its method in the protocol.
pub const READ_RESOURCE: &str = "resources/read";
/// Maximum length of an address. It is far more than any provider needs; addresses also appear in messages.
const MAX_URI_LENGTH: usize = 2048;

/// The resources of all providers.
pub struct ResourceCatalog {
    provider: Arc<dyn ResourceProvider>,
    pub(crate) entry: Arc<CatalogEntry>,
}

impl ResourceCatalog {
    pub(crate) fn new(
        provider: Arc<dyn ResourceProvider>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<Self, ContractError> {
        let mut constraints = provider.constraints();
        adjust(&mut constraints);
        Self::with_constraints(constraints, provider)
    }

    /// Returns a catalog with another provider added. Reads share one entry, so the wider of both limits applies.
    /// Errors if both providers offer the same address.
    pub(crate) fn join_provider(
        &self,
        provider: Arc<dyn ResourceProvider>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<Self, CatalogError> {
        if let Some(address) = joined_resources::find_shared_address(&*self.provider, &*provider) {
            return Err(CatalogError::DuplicateResource(address));
        }
        let mut constraints = provider.constraints();
        adjust(&mut constraints);
        let constraints =
            joined_resources::merge_constraints(&self.contract().constraints, constraints);
        let both = JoinedResources { first: Arc::clone(&self.provider), second: provider };
        Ok(Self::with_constraints(constraints, Arc::new(both))?)
    }

    fn with_constraints(
        constraints: Constraints,
        provider: Arc<dyn ResourceProvider>,
    ) -> Result<Self, ContractError> {
        let contract = Contract::new(build_definition(constraints), &[ErrorCode::NotFound])?;
        let invoker = Arc::new(ResourceReader { provider: Arc::clone(&provider) });
        Ok(Self { provider, entry: Arc::new(CatalogEntry::new(Arc::new(contract), invoker)) })
    }

    /// Returns the contract of resource reads, which holds their limits.
    pub fn contract(&self) -> &Contract {
        &self.entry.contract
    }

    /// Returns all listed resources.
    pub async fn list(&self) -> Result<Vec<Resource>, ToolError> {
        self.query_provider(|provider| provider.list_resources()).await
    }

    /// Returns all resource templates.
    pub async fn templates(&self) -> Result<Vec<ResourceTemplate>, ToolError> {
        self.query_provider(|provider| provider.list_templates()).await
    }

    /// Returns the values of a template's variable that start with the typed text.
    pub async fn complete(
        &self,
        template: String,
        variable: String,
        typed: String,
    ) -> Result<Vec<String>, ToolError> {
        self.query_provider(move |provider| {
            provider.complete_variable(&template, &variable, &typed)
        })
        .await
    }

    /// Returns true if clients can subscribe to changes.
    pub fn has_changes(&self) -> bool {
        self.provider.has_revisions()
    }

    /// See [`ResourceProvider::resource_revision`].
    pub fn changes(&self, uri: &str) -> Option<u64> {
        self.provider.resource_revision(uri)
    }

    /// Runs a provider method on the blocking thread pool.
    async fn query_provider<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn ResourceProvider) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let provider = Arc::clone(&self.provider);
        local::run_blocking(move || Ok(query(&*provider))).await
    }
}

fn build_definition(constraints: Constraints) -> ToolDefinition {
    ToolDefinition {
        name: READ_RESOURCE.to_owned(),
        title: Some("Read a resource".to_owned()),
        description: Some("The document at an address.".to_owned()),
        input_schema: Some(json!({
            "type": "object",
            "properties": {"uri": {
                "type": "string",
                "description": "The address, as listed or as expanded from a template",
                "minLength": 1,
                "maxLength": MAX_URI_LENGTH,
            }},
            "required": ["uri"],
            "additionalProperties": false,
        })),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "uri": {"type": "string", "description": "The address that was asked for"},
                "mimeType": {"type": "string", "description": "What kind of document it is"},
                "text": {"type": "string", "description": "The document, if it is text"},
                "blob": {"type": "string", "description": "The document in base64, if it is not"},
            },
            "required": ["uri", "mimeType"],
            "oneOf": [{"required": ["text"]}, {"required": ["blob"]}],
            "additionalProperties": false,
        })),
        constraints: Some(constraints),
        ..ToolDefinition::default()
    }
}

/// Invoker for resource reads.
struct ResourceReader {
    provider: Arc<dyn ResourceProvider>,
}

#[async_trait]
impl Invoker for ResourceReader {
    async fn invoke(
        &self,
        arguments: Value,
        _broker: &ElicitationBroker,
        ctx: &CallContext,
    ) -> Result<ToolOutput, CallInterruption> {
        let (provider, ctx) = (Arc::clone(&self.provider), ctx.clone());
        local::run_blocking(move || {
            ctx.check_cancelled()?;
            let uri = arguments["uri"].as_str().unwrap_or_default();
            provider.read_resource(uri, &ctx).map(build_output)
        })
        .await
        .map_err(CallInterruption::Fail)
    }
}

fn build_output(content: ResourceContent) -> ToolOutput {
    let ResourceContent { uri, mime_type, body } = content;
    let (key, body) = match body {
        ResourceBody::Text(text) => ("text", text),
        ResourceBody::Blob(bytes) => ("blob", STANDARD.encode(bytes)),
    };
    ToolOutput::from_structured(json!({"uri": uri, "mimeType": mime_type, key: body}))
}

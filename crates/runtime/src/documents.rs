//! Resources behind the pipeline: a provider's documents, and the entry that every read of one goes through.
//!
//! A read is a call like any other – validated, limited, timed, audited – to an entry that no listing of tools shows and
//! that no call of a tool can name. Several providers are one to everybody else: see `joined`.

mod joined;

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{
    CallContext, Code, Constraints, Contract, ContractError, Definition, Output, Resource,
    ResourceBody, ResourceContent, ResourceTemplate, Resources, ToolError,
};
use serde_json::{Value, json};

use crate::call::Stop;
use crate::catalog::{CatalogError, Entry, Invoker};
use crate::inquiry::Inquiry;
use crate::local;
use joined::Joined;

/// What a read is called in the audit log and in the metrics: its method in the protocol.
pub const READ: &str = "resources/read";
/// Far more than any provider needs; the address also goes into messages.
const MAX_URI_LENGTH: usize = 2048;

/// The documents of all providers.
pub struct Documents {
    provider: Arc<dyn Resources>,
    pub(crate) entry: Arc<Entry>,
}

impl Documents {
    pub(crate) fn new(
        provider: Arc<dyn Resources>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<Self, ContractError> {
        let mut constraints = provider.constraints();
        adjust(&mut constraints);
        Self::under(constraints, provider)
    }

    /// These and those of another provider, who must not offer the same address. Reads have one entry, so they have the wider
    /// of both limits.
    pub(crate) fn and(
        &self,
        provider: Arc<dyn Resources>,
        adjust: impl FnOnce(&mut Constraints),
    ) -> Result<Self, CatalogError> {
        if let Some(address) = joined::shared_address(&*self.provider, &*provider) {
            return Err(CatalogError::DuplicateResource(address));
        }
        let mut constraints = provider.constraints();
        adjust(&mut constraints);
        let constraints = joined::wider(&self.contract().constraints, constraints);
        let both = Joined { first: Arc::clone(&self.provider), second: provider };
        Ok(Self::under(constraints, Arc::new(both))?)
    }

    fn under(
        constraints: Constraints,
        provider: Arc<dyn Resources>,
    ) -> Result<Self, ContractError> {
        let contract = Contract::new(definition(constraints), &[Code::NotFound])?;
        let invoker = Arc::new(Read { provider: Arc::clone(&provider) });
        Ok(Self { provider, entry: Arc::new(Entry::new(Arc::new(contract), invoker)) })
    }

    /// The limits under which documents are read.
    pub fn contract(&self) -> &Contract {
        &self.entry.contract
    }

    pub async fn list(&self) -> Result<Vec<Resource>, ToolError> {
        self.ask(|provider| provider.list()).await
    }

    pub async fn templates(&self) -> Result<Vec<ResourceTemplate>, ToolError> {
        self.ask(|provider| provider.templates()).await
    }

    /// Values for a template's variable that begin with what was typed.
    pub async fn complete(
        &self,
        template: String,
        variable: String,
        typed: String,
    ) -> Result<Vec<String>, ToolError> {
        self.ask(move |provider| provider.complete(&template, &variable, &typed)).await
    }

    /// Whether documents can be watched.
    pub fn has_changes(&self) -> bool {
        self.provider.has_changes()
    }

    /// See [`Resources::changes`].
    pub fn changes(&self, uri: &str) -> Option<u64> {
        self.provider.changes(uri)
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Resources) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let provider = Arc::clone(&self.provider);
        local::off_the_connection(move || Ok(question(&*provider))).await
    }
}

fn definition(constraints: Constraints) -> Definition {
    Definition {
        name: READ.to_owned(),
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
        ..Definition::default()
    }
}

struct Read {
    provider: Arc<dyn Resources>,
}

#[async_trait]
impl Invoker for Read {
    async fn invoke(
        &self,
        arguments: Value,
        _inquiry: &Inquiry,
        ctx: &CallContext,
    ) -> Result<Output, Stop> {
        let (provider, ctx) = (Arc::clone(&self.provider), ctx.clone());
        local::off_the_connection(move || {
            ctx.check_cancelled()?;
            let uri = arguments["uri"].as_str().unwrap_or_default();
            provider.read(uri, &ctx).map(output)
        })
        .await
        .map_err(Stop::Fail)
    }
}

fn output(content: ResourceContent) -> Output {
    let ResourceContent { uri, mime_type, body } = content;
    let (key, body) = match body {
        ResourceBody::Text(text) => ("text", text),
        ResourceBody::Blob(bytes) => ("blob", STANDARD.encode(bytes)),
    };
    Output::structured(json!({"uri": uri, "mimeType": mime_type, key: body}))
}

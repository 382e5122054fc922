//! The [`ResourceProvider`] trait: implemented by packs that serve documents, beside or instead of tools.
//!
//! Like a tool, a provider is plain blocking code. The pipeline chooses the thread, enforces the provider's
//! [`Constraints`] on every read, and turns a [`ToolError`] into the protocol's error.

use serde::{Deserialize, Serialize};

use crate::{CallContext, Constraints, ToolError};

/// A document that can be read by its URI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub uri: String,
    /// Short and unique among the provider's resources, for programs.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub mime_type: String,
}

/// A family of documents: an RFC 6570 template whose expansions can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    pub uri_template: String,
    /// Short and unique among the provider's templates, for programs.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub mime_type: String,
}

/// The result of reading a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceContent {
    /// The requested URI.
    pub uri: String,
    pub mime_type: String,
    pub body: ResourceBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    Text(String),
    Blob(Vec<u8>),
}

impl ResourceContent {
    pub fn from_text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self { uri: uri.into(), mime_type: mime_type.into(), body: ResourceBody::Text(text.into()) }
    }

    pub fn from_bytes(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: Vec<u8>,
    ) -> Self {
        Self { uri: uri.into(), mime_type: mime_type.into(), body: ResourceBody::Blob(bytes) }
    }
}

/// A provider of documents. Its methods may block unless their documentation says otherwise: they do not run on the
/// threads that serve connections.
pub trait ResourceProvider: Send + Sync + 'static {
    /// Returns the documents with a fixed URI, in listing order.
    fn list_resources(&self) -> Vec<Resource>;

    /// Returns the URI templates, in listing order.
    fn list_templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Returns the limits of a read. Rate, time limit and size limit apply to the provider as a whole.
    fn constraints(&self) -> Constraints {
        Constraints { access: "the documents of this server".into(), ..Constraints::default() }
    }

    /// Reads one document. The URI is bounded in length and otherwise as the caller sent it.
    ///
    /// Returns [`crate::ErrorCode::NotFound`] if no document has this URI: the protocol's resource-not-found error.
    /// Returns [`crate::ErrorCode::InvalidInput`] if the URI has a known form with an invalid value, such as an unknown
    /// module or a limit out of range. It becomes the protocol's invalid-params error, and its message names the valid
    /// values. Any other code is a failure of the server.
    fn read_resource(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError>;

    /// Returns completions of `typed` for `variable` of `template`, most useful first.
    fn complete_variable(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        let _ = (template, variable, typed);
        Vec::new()
    }

    /// Returns true if documents change while they are served and [`ResourceProvider::resource_revision`] reports it, so
    /// that clients can subscribe to them.
    fn has_revisions(&self) -> bool {
        false
    }

    /// Returns a revision number that differs after the document at this URI has changed. Returns `None` if there is no
    /// such document or the provider does not track changes.
    ///
    /// It is polled twice a second for each document and client, on the threads that serve connections, so it must not
    /// block. Polling needs no subscriptions that could leak when a client disconnects.
    fn resource_revision(&self, uri: &str) -> Option<u64> {
        let _ = uri;
        None
    }
}

//! The [`Resources`] trait: what somebody implements who offers documents to read, beside or instead of tools.
//!
//! Like a tool, a provider is plain blocking code. Whoever runs it decides on which thread, holds every read to the
//! provider's [`Constraints`], and turns a [`ToolError`] into what the protocol says.

use serde::{Deserialize, Serialize};

use crate::{CallContext, Constraints, ToolError};

/// A document that can be read by its address.
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

/// What a read answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceContent {
    /// The address that was asked for.
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
    pub fn text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self { uri: uri.into(), mime_type: mime_type.into(), body: ResourceBody::Text(text.into()) }
    }

    pub fn blob(uri: impl Into<String>, mime_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { uri: uri.into(), mime_type: mime_type.into(), body: ResourceBody::Blob(bytes) }
    }
}

/// Something that offers documents. All of it may block, except where it says otherwise: it does not run on the threads that
/// serve connections.
pub trait Resources: Send + Sync + 'static {
    /// The documents with a fixed address, in the order in which they are listed.
    fn list(&self) -> Vec<Resource>;

    /// The families of documents, in the order in which they are listed.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// The limits of a read. The provider as a whole has one rate, one time limit and one size.
    fn constraints(&self) -> Constraints {
        Constraints { access: "the documents of this server".into(), ..Constraints::default() }
    }

    /// One document. The address is bounded in length and otherwise as the caller sent it.
    ///
    /// [`crate::Code::NotFound`] says that no document has this address: the protocol's resource-not-found error.
    /// [`crate::Code::InvalidInput`] says that the address has a known form with a value that does not fit, such as an
    /// unknown module or a limit out of range: the protocol's invalid-params error, whose message names the values
    /// that would do. Any other code is a failure of the server.
    fn read(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError>;

    /// Values for the variable `variable` of `template` that begin with `typed`, most useful first.
    fn complete(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        let _ = (template, variable, typed);
        Vec::new()
    }
    /// Whether documents change while they are offered and [`Resources::changes`] tells of it, so that they can be watched.
    fn has_changes(&self) -> bool {
        false
    }

    /// A number that is another one once the document at this address has changed; None where no document is, or where
    /// nobody tells.
    ///
    /// Who watches asks twice a second, for each document and client, on the threads that serve connections. So this looks
    /// at what is in memory and waits for nothing; and there is nobody to be told, and nothing to forget when a client goes.
    fn changes(&self, uri: &str) -> Option<u64> {
        let _ = uri;
        None
    }
}

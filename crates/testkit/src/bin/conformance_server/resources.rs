//! The resources that the suite reads by URI.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{
    CallContext, ErrorCode, Resource, ResourceContent, ResourceProvider, ResourceTemplate,
    ToolError,
};
use serde_json::json;

use crate::tools::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
/// Reports changes, but never changes.
const WATCHED: &str = "test://watched-resource";

/// The fixed resources of the suite.
pub(crate) struct FixtureResources;

impl ResourceProvider for FixtureResources {
    fn list_resources(&self) -> Vec<Resource> {
        let resource = |uri: &str, name: &str, mime_type: &str| Resource {
            uri: uri.to_owned(),
            name: name.to_owned(),
            title: None,
            description: "A document of the conformance suite".to_owned(),
            mime_type: mime_type.to_owned(),
        };
        vec![
            resource(TEXT, "static-text", "text/plain"),
            resource(BINARY, "static-binary", "image/png"),
            resource(WATCHED, "watched", "text/plain"),
        ]
    }

    fn list_templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://template/{id}/data".to_owned(),
            name: "template".to_owned(),
            title: None,
            description: "A document for any id".to_owned(),
            mime_type: "application/json".to_owned(),
        }]
    }

    fn read_resource(&self, uri: &str, _ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        match (uri, id) {
            (TEXT, _) => {
                Ok(ResourceContent::from_text(uri, "text/plain", "A text that never changes."))
            }
            (WATCHED, _) => {
                Ok(ResourceContent::from_text(uri, "text/plain", "A text with a subscription."))
            }
            (BINARY, _) => {
                let bytes = STANDARD.decode(PNG).expect("the image is valid base64");
                Ok(ResourceContent::from_bytes(uri, "image/png", bytes))
            }
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Ok(ResourceContent::from_text(uri, "application/json", data.to_string()))
            }
            _ => Err(ToolError::new(ErrorCode::NotFound, "unknown resource")),
        }
    }

    fn has_revisions(&self) -> bool {
        true
    }

    fn resource_revision(&self, uri: &str) -> Option<u64> {
        (uri == WATCHED).then_some(0)
    }
}

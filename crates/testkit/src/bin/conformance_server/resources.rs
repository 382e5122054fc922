//! The documents that the suite reads by address.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{
    CallContext, Code, Resource, ResourceContent, ResourceTemplate, Resources, ToolError,
};
use serde_json::json;

use crate::tools::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
/// Never changes, but could.
const WATCHED: &str = "test://watched-resource";

pub(crate) struct Shelf;

impl Resources for Shelf {
    fn list(&self) -> Vec<Resource> {
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

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "test://template/{id}/data".to_owned(),
            name: "template".to_owned(),
            title: None,
            description: "A document for any id".to_owned(),
            mime_type: "application/json".to_owned(),
        }]
    }

    fn read(&self, uri: &str, _ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        match (uri, id) {
            (TEXT, _) => {
                Ok(ResourceContent::text(uri, "text/plain", "A text that stays as it is."))
            }
            (WATCHED, _) => Ok(ResourceContent::text(uri, "text/plain", "A text to be watched.")),
            (BINARY, _) => {
                let bytes = STANDARD.decode(PNG).expect("the picture is valid base64");
                Ok(ResourceContent::blob(uri, "image/png", bytes))
            }
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Ok(ResourceContent::text(uri, "application/json", data.to_string()))
            }
            _ => Err(ToolError::new(Code::NotFound, "there is no such resource")),
        }
    }

    fn has_changes(&self) -> bool {
        true
    }

    fn changes(&self, uri: &str) -> Option<u64> {
        (uri == WATCHED).then_some(0)
    }
}

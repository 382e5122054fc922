//! Resources in the protocol's words: lists, contents, and which error a refused read is.

use contract::{Code, Output, Resource, ResourceTemplate, ToolError};
use rmcp::model::{
    self, CompletionInfo, ErrorCode, ErrorData, ReadResourceResponse, ReadResourceResult,
    ResourceContents,
};
use serde_json::{Value, json};

use crate::call::Reply;

pub(super) fn resource(resource: Resource) -> model::Resource {
    let Resource { uri, name, title, description, mime_type } = resource;
    let mut view = model::Resource::new(uri, name);
    view.title = title;
    view.description = Some(description);
    view.mime_type = Some(mime_type);
    view
}

pub(super) fn template(template: ResourceTemplate) -> model::ResourceTemplate {
    let ResourceTemplate { uri_template, name, title, description, mime_type } = template;
    let mut view = model::ResourceTemplate::new(uri_template, name);
    view.title = title;
    view.description = Some(description);
    view.mime_type = Some(mime_type);
    view
}

/// At most as many values as the protocol allows, and how many there are.
pub(super) fn completion(mut values: Vec<String>) -> CompletionInfo {
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.has_more = Some(values.len() < total);
    info.total = u32::try_from(total).ok();
    info.values = values;
    info
}

/// A document tells the state of this moment, to this caller: it is not to be kept.
pub(super) fn respond(uri: &str, reply: Reply) -> Result<ReadResourceResponse, ErrorData> {
    let output = match reply {
        Reply::Done(output) => output,
        Reply::Failed(error) => return Err(failure(uri, &error)),
        Reply::InputRequired { .. } | Reply::Refused(_) => {
            let why = "the read of a resource asked a question";
            tracing::error!(uri = contract::text::one_line(uri), "{why}");
            return Err(ErrorData::internal_error(why, None));
        }
    };
    let contents = contents(output).ok_or_else(|| {
        ErrorData::internal_error("the resource could not be written", Some(json!({"uri": uri})))
    })?;
    let result = ReadResourceResult::new(vec![contents])
        .with_ttl_ms(0)
        .with_cache_scope(model::CacheScope::Private);
    Ok(result.into())
}

fn contents(output: Output) -> Option<ResourceContents> {
    serde_json::from_value(output.structured?).ok()
}

pub(super) fn unwatched() -> ToolError {
    let message = "there is no resource at this address that tells of changes; resources/list has the addresses";
    ToolError::new(Code::NotFound, message)
}

/// The protocol has a code for an address that is not there and one for a value that does not fit; everything else is
/// the server's failure. What a program needs to know is in the data.
pub(super) fn failure(uri: &str, error: &ToolError) -> ErrorData {
    let code = match error.code {
        Code::NotFound => ErrorCode::RESOURCE_NOT_FOUND,
        Code::InvalidInput => ErrorCode::INVALID_PARAMS,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    let uri: String = uri.chars().take(256).collect();
    let data = json!({
        "uri": contract::text::one_line(&uri),
        "code": error.code,
        "details": Value::Object(error.details.clone()),
    });
    ErrorData::new(code, error.message.clone(), Some(data))
}

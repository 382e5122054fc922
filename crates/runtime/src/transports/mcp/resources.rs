//! Converts resources to the SDK's types: listings, contents, and the errors of failed reads.

use contract::{ErrorCode, Resource, ResourceTemplate, ToolError, ToolOutput};
use rmcp::model::{
    self, CompletionInfo, ErrorCode as RpcErrorCode, ErrorData, ReadResourceResponse,
    ReadResourceResult, ResourceContents,
};
use serde_json::{Value, json};

use crate::call::ToolReply;

pub(super) fn to_mcp_resource(resource: Resource) -> model::Resource {
    let Resource { uri, name, title, description, mime_type } = resource;
    let mut view = model::Resource::new(uri, name);
    view.title = title;
    view.description = Some(description);
    view.mime_type = Some(mime_type);
    view
}

pub(super) fn to_mcp_template(template: ResourceTemplate) -> model::ResourceTemplate {
    let ResourceTemplate { uri_template, name, title, description, mime_type } = template;
    let mut view = model::ResourceTemplate::new(uri_template, name);
    view.title = title;
    view.description = Some(description);
    view.mime_type = Some(mime_type);
    view
}

/// Returns as many values as the protocol allows, and the total count.
pub(super) fn to_completion_info(mut values: Vec<String>) -> CompletionInfo {
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.has_more = Some(values.len() < total);
    info.total = u32::try_from(total).ok();
    info.values = values;
    info
}

/// Returns the response to a read. A document shows the current state for this caller, so it must not be cached.
pub(super) fn build_read_response(
    uri: &str,
    reply: ToolReply,
) -> Result<ReadResourceResponse, ErrorData> {
    let output = match reply {
        ToolReply::Done(output) => output,
        ToolReply::Failed(error) => return Err(to_error_data(uri, &error)),
        ToolReply::InputRequired { .. } | ToolReply::Refused(_) => {
            let message = "the read of a resource requested input";
            tracing::error!(uri = contract::text::one_line(uri), "{message}");
            return Err(ErrorData::internal_error(message, None));
        }
    };
    let contents = parse_contents(output).ok_or_else(|| {
        ErrorData::internal_error("failed to serialize the resource", Some(json!({"uri": uri})))
    })?;
    let result = ReadResourceResult::new(vec![contents])
        .with_ttl_ms(0)
        .with_cache_scope(model::CacheScope::Private);
    Ok(result.into())
}

fn parse_contents(output: ToolOutput) -> Option<ResourceContents> {
    serde_json::from_value(output.structured?).ok()
}

/// Returns the error for a subscription to an address without change notifications.
pub(super) fn not_subscribable_error() -> ToolError {
    let message = "no resource with change notifications at this address; `resources/list` lists the addresses";
    ToolError::new(ErrorCode::NotFound, message)
}

/// Returns the protocol error for a failed read. The protocol has codes for an unknown address and for an invalid
/// value; all other failures are internal errors. The data holds the details for programs.
pub(super) fn to_error_data(uri: &str, error: &ToolError) -> ErrorData {
    let code = match error.code {
        ErrorCode::NotFound => RpcErrorCode::RESOURCE_NOT_FOUND,
        ErrorCode::InvalidInput => RpcErrorCode::INVALID_PARAMS,
        _ => RpcErrorCode::INTERNAL_ERROR,
    };
    let uri: String = uri.chars().take(256).collect();
    let data = json!({
        "uri": contract::text::one_line(&uri),
        "code": error.code,
        "details": Value::Object(error.details.clone()),
    });
    ErrorData::new(code, error.message.clone(), Some(data))
}

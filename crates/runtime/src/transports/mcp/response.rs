//! Converts the reply to a tool call to the protocol's response.

use contract::{ContentBlock, ErrorCode};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock as RpcContentBlock, ErrorData,
    InputRequiredResult, ServerResult,
};

use super::super::verbatim;
use super::{convert, peer_elicitation};
use crate::call::{ProtocolRefusal, ToolReply};

/// Returns the JSON text of the result, as the SDK would send it. `is_typed` as in [`build_response`].
pub(super) fn write_result(mut reply: ToolReply, is_typed: bool) -> Result<String, ErrorData> {
    if let ToolReply::Done(output) = &mut reply {
        if output.has_derived_text
            && let [ContentBlock::Text(text)] = &output.content[..]
        {
            return Ok(verbatim::write_derived_result(text, is_typed));
        }
        if let Some(raw) = &output.raw {
            return Ok(verbatim::write_raw_result(raw, output, is_typed));
        }
    }
    let mut result = ServerResult::from(build_response(reply, is_typed)?);
    if !is_typed {
        result.strip_result_type_for_legacy_peer();
    }
    let result = serde_json::to_vec(&result).expect("a JSON value always serializes");
    Ok(String::from_utf8_lossy(&verbatim::restore(&result)).into_owned())
}

/// Returns the protocol's response for a reply. `is_typed` is true if the client expects a result type.
pub(super) fn build_response(
    reply: ToolReply,
    is_typed: bool,
) -> Result<CallToolResponse, ErrorData> {
    match reply {
        ToolReply::Done(mut output) => {
            if output.has_derived_text
                && let Some(ContentBlock::Text(text)) = output.content.pop()
            {
                return Ok(verbatim::build_derived_stand_in(text).into());
            }
            Ok(match (&output.raw, convert::to_text_blocks(&output.content)) {
                (Some(raw), _) => {
                    verbatim::build_stand_in(verbatim::complete_raw(raw, &output, is_typed)).into()
                }
                (None, Some(texts)) => {
                    let mut result = CallToolResult::success(texts);
                    result.is_error = Some(output.is_error);
                    result.structured_content = output.structured;
                    result.into()
                }
                (None, None) => {
                    verbatim::build_stand_in(convert::to_result_json(output, is_typed)).into()
                }
            })
        }
        // The protocol defines its own error for an unknown tool.
        ToolReply::Failed(error) if error.code == ErrorCode::ToolNotFound => {
            let name = error.details.get("tool").and_then(|name| name.as_str()).unwrap_or_default();
            Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None))
        }
        ToolReply::Failed(error) => {
            let envelope = error.to_envelope();
            let text = RpcContentBlock::text(envelope.to_string());
            let mut result = CallToolResult::error(vec![text]);
            result.structured_content = Some(envelope);
            Ok(result.into())
        }
        ToolReply::InputRequired { elicitations: requests, state } => {
            match peer_elicitation::to_input_requests(&requests) {
                Some(typed) => Ok(InputRequiredResult::new(Some(typed), Some(state)).into()),
                None => Ok(verbatim::build_stand_in(peer_elicitation::input_required_json(
                    &requests, state,
                ))
                .into()),
            }
        }
        ToolReply::Refused(ProtocolRefusal::InvalidState(message)) => {
            Err(ErrorData::invalid_params(message, None))
        }
        ToolReply::Refused(ProtocolRefusal::MissingCapability(ability)) => Err(
            ErrorData::missing_required_client_capability(convert::to_client_capabilities(ability)),
        ),
    }
}

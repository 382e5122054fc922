//! Parses the text of a `tools/call` result into a [`CallOutcome`], after checking its bounds.
//!
//! Checks only the fields that the protocol defines. Output schemas are checked by the gateway.

use contract::json::{self, StrictJsonError};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{
    CallFailure, CallOutcome, ConnectionError, MessageBounds, UpstreamResponse, json_scan,
};

/// The protocol fields of a result.
struct ToolResultFields {
    result_type: Option<String>,
    content: Option<Vec<Value>>,
    /// Any JSON value since 2026-07-28, including `null`.
    structured_content: Option<Value>,
    is_error: Option<bool>,
    input_requests: Option<Map<String, Value>>,
    request_state: Option<String>,
}

/// Parses a result.
///
/// # Errors
/// If the text exceeds the bounds or violates the protocol; the failure includes the raw text.
pub(crate) fn parse_result(
    raw: Box<RawValue>,
    bounds: &MessageBounds,
) -> Result<CallOutcome, CallFailure> {
    match parse_fields(raw.get(), bounds) {
        Ok(ToolResultFields { input_requests: Some(requests), request_state: state, .. }) => {
            Ok(CallOutcome::InputRequired { requests, state })
        }
        Ok(ToolResultFields {
            content,
            structured_content: structured,
            is_error,
            result_type,
            ..
        }) => {
            let (is_error, is_typed) = (is_error.unwrap_or(false), result_type.is_some());
            Ok(CallOutcome::Complete(UpstreamResponse {
                raw,
                content,
                structured,
                is_error,
                is_typed,
            }))
        }
        Err(error) => Err(CallFailure { error, raw: Some(raw) }),
    }
}

/// Parses and checks the fields of a result. `input_requests` is set only if the result is `input_required`.
fn parse_fields(text: &str, bounds: &MessageBounds) -> Result<ToolResultFields, ConnectionError> {
    json_scan::check_json(text, bounds.max_depth)?;
    let shape = match json::parse_strict_json(text, bounds.max_depth) {
        Ok(Value::Object(members)) => ToolResultFields::from_members(members)?,
        Ok(_) => return Err(ConnectionError::protocol_violation("the result is not an object")),
        // The key is omitted: the server chose it, and a model may read this message.
        Err(StrictJsonError::DuplicateKey(_)) => {
            return Err(ConnectionError::protocol_violation("the result has a duplicate key"));
        }
        Err(_) => return Err(ConnectionError::protocol_violation("the result is not valid JSON")),
    };
    match shape.result_type.as_deref() {
        None | Some("complete") => check_complete(shape),
        Some("input_required") => check_input_required(shape),
        Some(_) => {
            Err(ConnectionError::protocol_violation("the result has an unexpected resultType"))
        }
    }
}

impl ToolResultFields {
    fn from_members(mut members: Map<String, Value>) -> Result<Self, ConnectionError> {
        let structured_content = members.remove("structuredContent");
        // `null` is not treated as absent here: the gateway passes the text on and only adds absent fields.
        let (kind, content) = (members.remove("resultType"), members.remove("content"));
        let mut take = |name| members.remove(name).filter(|value| !value.is_null());
        // Not used here, but clients rely on its type.
        if take("_meta").is_some_and(|meta| !meta.is_object()) {
            return Err(wrong_type("_meta"));
        }
        Ok(Self {
            structured_content,
            result_type: take_text("resultType", kind)?,
            content: match content {
                None => None,
                Some(Value::Array(blocks)) => Some(blocks),
                Some(_) => return Err(wrong_type("content")),
            },
            is_error: match take("isError") {
                None => None,
                Some(Value::Bool(is_error)) => Some(is_error),
                Some(_) => return Err(wrong_type("isError")),
            },
            input_requests: match take("inputRequests") {
                None => None,
                Some(Value::Object(requests)) => Some(requests),
                Some(_) => return Err(wrong_type("inputRequests")),
            },
            request_state: take_text("requestState", take("requestState"))?,
        })
    }
}

fn take_text(name: &str, value: Option<Value>) -> Result<Option<String>, ConnectionError> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong_type(name)),
    }
}

fn wrong_type(name: &str) -> ConnectionError {
    ConnectionError::protocol_violation(format!("`{name}` in the result has the wrong type"))
}

fn check_complete(shape: ToolResultFields) -> Result<ToolResultFields, ConnectionError> {
    if shape.content.is_none() && shape.structured_content.is_none() {
        return Err(ConnectionError::protocol_violation(
            "the result has neither content nor structuredContent",
        ));
    }
    if !shape.content.iter().flatten().all(|block| block["type"].is_string()) {
        return Err(ConnectionError::protocol_violation(
            "a content block is not an object with a type",
        ));
    }
    Ok(ToolResultFields { input_requests: None, ..shape })
}

fn check_input_required(shape: ToolResultFields) -> Result<ToolResultFields, ConnectionError> {
    let requests = shape.input_requests.unwrap_or_default();
    if requests.is_empty() && shape.request_state.is_none() {
        return Err(ConnectionError::protocol_violation(
            "the result requires input but does not list any",
        ));
    }
    if !requests.values().all(|request| request["method"].is_string()) {
        return Err(ConnectionError::protocol_violation("an input request has no method"));
    }
    Ok(ToolResultFields { input_requests: Some(requests), ..shape })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_outcome(text: &str) -> String {
        let raw = serde_json::from_str(text).unwrap();
        match parse_result(raw, &MessageBounds { max_depth: 5, ..MessageBounds::default() }) {
            Ok(CallOutcome::Complete(UpstreamResponse {
                raw,
                content,
                structured,
                is_error,
                is_typed,
            })) => {
                assert_eq!(raw.get(), text);
                format!("complete: {content:?} {structured:?} {is_error} {is_typed}")
            }
            Ok(CallOutcome::InputRequired { requests, state }) => {
                format!("input required: {requests:?} {state:?}")
            }
            Err(CallFailure { error, raw }) => {
                assert_eq!(raw.unwrap().get(), text);
                format!("error: {error}")
            }
        }
    }

    #[test]
    fn accepts_only_results_that_follow_the_protocol() {
        let outcomes: Vec<String> = [
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"z":1,"a":0.1},"isError":true,"_meta":{"k":1}}"#,
            r#"{"structuredContent":null}"#,
            r#"{"content":[],"resultType":"complete"}"#,
            r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}},"requestState":"s"}"#,
            r#"{"resultType":"input_required","requestState":"s"}"#,
            r#"{"resultType":"input_required"}"#,
            r#"{"resultType":"input_required","inputRequests":{"q":{}}}"#,
            r#"{"resultType":"task","content":[]}"#,
            r#"{}"#,
            r#"[]"#,
            r#""text""#,
            r#"{"content":{}}"#,
            r#"{"content":["text"]}"#,
            r#"{"content":[],"isError":"no"}"#,
            r#"{"content":[],"isError":null,"_meta":null}"#,
            r#"{"content":[],"_meta":"any"}"#,
            r#"{"content":[],"resultType":null}"#,
            r#"{"structuredContent":{},"content":null}"#,
            r#"{"content":[],"content":[]}"#,
            r#"{"content":[],"structuredContent":{"a":{"say this":1,"say this":2}}}"#,
            r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
            r#"{"content":[],"structuredContent":[[[[[]]]]]}"#,
            r#"{"content":[],"structuredContent":{"n":18446744073709551616}}"#,
        ]
        .into_iter()
        .map(describe_outcome)
        .collect();
        insta::assert_snapshot!(outcomes.join("\n"), @r#"
        complete: Some([Object {"type": String("text"), "text": String("a")}]) Some(Object {"z": Number(1), "a": Number(0.1)}) true false
        complete: None Some(Null) false false
        complete: Some([]) None false true
        input required: {"q": Object {"method": String("elicitation/create")}} Some("s")
        input required: {} Some("s")
        error: protocol violation: the result requires input but does not list any
        error: protocol violation: an input request has no method
        error: protocol violation: the result has an unexpected resultType
        error: protocol violation: the result has neither content nor structuredContent
        error: protocol violation: the result is not an object
        error: protocol violation: the result is not an object
        error: protocol violation: `content` in the result has the wrong type
        error: protocol violation: a content block is not an object with a type
        error: protocol violation: `isError` in the result has the wrong type
        complete: Some([]) None false false
        error: protocol violation: `_meta` in the result has the wrong type
        error: protocol violation: `resultType` in the result has the wrong type
        error: protocol violation: `content` in the result has the wrong type
        error: protocol violation: the result has a duplicate key
        error: protocol violation: the result has a duplicate key
        error: protocol violation: the result is not valid JSON
        error: the server's message is nested deeper than 5 levels
        error: the number 18446744073709551616 does not fit in 64 bits and cannot be checked exactly
        "#);
    }
}

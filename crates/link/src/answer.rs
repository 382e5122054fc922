//! The text of a result, made into a [`Turn`]: bounded first, parsed then, and only as far as the protocol goes.

use contract::json::{self, JsonFault};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Answer, Bounds, Failed, LinkError, Turn, scan};

struct Shape {
    result_type: Option<String>,
    content: Option<Vec<Value>>,
    /// Any value since 2026-07-28, `null` among them.
    structured_content: Option<Value>,
    is_error: Option<bool>,
    input_requests: Option<Map<String, Value>>,
    request_state: Option<String>,
}

pub(crate) fn read(raw: Box<RawValue>, bounds: &Bounds) -> Result<Turn, Failed> {
    match shape(raw.get(), bounds) {
        Ok(Shape { input_requests: Some(requests), request_state: state, .. }) => {
            Ok(Turn::Ask { requests, state })
        }
        Ok(Shape { content, structured_content: structured, is_error, result_type, .. }) => {
            let (is_error, is_typed) = (is_error.unwrap_or(false), result_type.is_some());
            Ok(Turn::Answer(Answer { raw, content, structured, is_error, is_typed }))
        }
        Err(error) => Err(Failed { error, raw: Some(raw) }),
    }
}

/// Requests for input are in it only if it is one.
fn shape(text: &str, bounds: &Bounds) -> Result<Shape, LinkError> {
    scan::check(text, bounds.max_depth)?;
    let shape = match json::read(text, bounds.max_depth) {
        Ok(Value::Object(members)) => Shape::of(members)?,
        Ok(_) => return Err(LinkError::malformed("a result must be an object")),
        // Not its name: the server chose it, and a model may read this.
        Err(JsonFault::DuplicateKey(_)) => {
            return Err(LinkError::malformed("a key stands twice in one object of the result"));
        }
        Err(_) => return Err(LinkError::malformed("the result is not JSON")),
    };
    match shape.result_type.as_deref() {
        None | Some("complete") => answer(shape),
        Some("input_required") => ask(shape),
        Some(_) => Err(LinkError::malformed("the result is of a kind that was not asked for")),
    }
}

impl Shape {
    fn of(mut members: Map<String, Value>) -> Result<Self, LinkError> {
        let structured_content = members.remove("structuredContent");
        // Whoever passes the text on adds what is missing, and `null` is not missing.
        let (kind, content) = (members.remove("resultType"), members.remove("content"));
        let mut take = |name| members.remove(name).filter(|value| !value.is_null());
        // Nobody here reads it, but every client knows its type.
        if take("_meta").is_some_and(|meta| !meta.is_object()) {
            return Err(wrong_type("_meta"));
        }
        Ok(Self {
            structured_content,
            result_type: text("resultType", kind)?,
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
            request_state: text("requestState", take("requestState"))?,
        })
    }
}

fn text(name: &str, value: Option<Value>) -> Result<Option<String>, LinkError> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong_type(name)),
    }
}

fn wrong_type(name: &str) -> LinkError {
    LinkError::malformed(format!("`{name}` of the result has the wrong type"))
}

fn answer(shape: Shape) -> Result<Shape, LinkError> {
    if shape.content.is_none() && shape.structured_content.is_none() {
        return Err(LinkError::malformed("the result has neither content nor structuredContent"));
    }
    if !shape.content.iter().flatten().all(|block| block["type"].is_string()) {
        return Err(LinkError::malformed("a block of the content is no object with a type"));
    }
    Ok(Shape { input_requests: None, ..shape })
}

fn ask(shape: Shape) -> Result<Shape, LinkError> {
    let requests = shape.input_requests.unwrap_or_default();
    if requests.is_empty() && shape.request_state.is_none() {
        return Err(LinkError::malformed("it wants input and does not say which"));
    }
    if !requests.values().all(|request| request["method"].is_string()) {
        return Err(LinkError::malformed("a request for input has no method"));
    }
    Ok(Shape { input_requests: Some(requests), ..shape })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(text: &str) -> String {
        let raw = serde_json::from_str(text).unwrap();
        match read(raw, &Bounds { max_depth: 5, ..Bounds::default() }) {
            Ok(Turn::Answer(Answer { raw, content, structured, is_error, is_typed })) => {
                assert_eq!(raw.get(), text);
                format!("answer: {content:?} {structured:?} {is_error} {is_typed}")
            }
            Ok(Turn::Ask { requests, state }) => format!("ask: {requests:?} {state:?}"),
            Err(Failed { error, raw }) => {
                assert_eq!(raw.unwrap().get(), text);
                format!("error: {error}")
            }
        }
    }

    #[test]
    fn results() {
        let turns: Vec<String> = [
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
        .map(turn)
        .collect();
        insta::assert_snapshot!(turns.join("\n"));
    }
}

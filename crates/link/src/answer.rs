//! The text of a result, made into a [`Turn`]: bounded first, parsed then, and only as far as the protocol goes.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Answer, Bounds, Failed, LinkError, Turn, scan};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    #[serde(default)]
    result_type: Option<String>,
    #[serde(default)]
    content: Option<Vec<Value>>,
    /// Any value since 2026-07-28, `null` among them.
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default, rename = "_meta")]
    meta: Option<Map<String, Value>>,
    #[serde(default)]
    input_requests: Option<Map<String, Value>>,
    #[serde(default)]
    request_state: Option<String>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

pub(crate) fn read(raw: Box<RawValue>, bounds: &Bounds) -> Result<Turn, Failed> {
    match shape(raw.get(), bounds) {
        Ok(Shape { input_requests: Some(requests), request_state: state, .. }) => {
            Ok(Turn::Ask { requests, state })
        }
        Ok(Shape { content, structured_content: structured, is_error, meta, .. }) => {
            let (content, is_error) = (content.unwrap_or_default(), is_error.unwrap_or(false));
            Ok(Turn::Answer(Answer { raw, content, structured, is_error, meta }))
        }
        Err(error) => Err(Failed { error, raw: Some(raw) }),
    }
}

/// Requests for input are in it only if it is one.
fn shape(text: &str, bounds: &Bounds) -> Result<Shape, LinkError> {
    scan::check(text, bounds.max_depth)?;
    if !text.starts_with('{') {
        return Err(LinkError::malformed("a result must be an object"));
    }
    // The parser's words quote what it read: they name the place, we name the rule.
    let shape: Shape = serde_json::from_str(text).map_err(|error| {
        let at = error.column();
        LinkError::malformed(format!("a member of the result has the wrong type (column {at})"))
    })?;
    match shape.result_type.as_deref() {
        None | Some("complete") => answer(shape),
        Some("input_required") => ask(shape),
        Some(_) => Err(LinkError::malformed("the result is of a kind that was not asked for")),
    }
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
            Ok(Turn::Answer(Answer { raw, content, structured, is_error, meta })) => {
                assert_eq!(raw.get(), text);
                format!("answer: {content:?} {structured:?} {is_error} {meta:?}")
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
            r#"{"content":[],"content":[]}"#,
            r#"{"content":[],"structuredContent":[[[[[]]]]]}"#,
            r#"{"content":[],"structuredContent":{"n":18446744073709551616}}"#,
        ]
        .into_iter()
        .map(turn)
        .collect();
        insta::assert_snapshot!(turns.join("\n"));
    }
}

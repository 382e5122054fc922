//! An answer of MCP content blocks as the structured value that an output schema can be held against.

use serde_json::{Value, json};

use super::ResultMode;

/// Applies an overlay's `result` to an answer: its `content` blocks and its `structuredContent`.
///
/// A server that answers with structured content is taken at its word whatever the mode. Errors are fragments that name
/// what is missing, never what the answer held.
pub fn structure(
    mode: ResultMode,
    content: &[Value],
    structured: Option<&Value>,
) -> Result<Value, String> {
    if let Some(structured) = structured {
        return Ok(structured.clone());
    }
    let texts: Vec<&str> = content.iter().filter_map(text_of).collect();
    match mode {
        ResultMode::Structured => Err("the answer has no structuredContent".into()),
        ResultMode::Text if texts.is_empty() && !content.is_empty() => {
            Err("the answer has no text block".into())
        }
        ResultMode::Text => Ok(json!({"text": texts.join("\n")})),
        ResultMode::Json => {
            let [text] = texts[..] else {
                return Err(format!(
                    "the answer has {} text blocks, and only a single one can be read as JSON",
                    texts.len()
                ));
            };
            serde_json::from_str(text).map_err(|error| {
                let (line, column) = (error.line(), error.column());
                format!("the answer's text is not JSON (line {line}, column {column})")
            })
        }
    }
}

fn text_of(block: &Value) -> Option<&str> {
    (block.get("type")? == "text").then(|| block.get("text")?.as_str()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mode: ResultMode, content: Value, expected: Result<Value, &str>) {
        let content = content.as_array().expect("blocks");
        assert_eq!(structure(mode, content, None), expected.map_err(str::to_owned), "{content:?}");
    }

    #[test]
    fn texts_become_structured() {
        use ResultMode::{Json, Structured, Text};
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "", "mimeType": "image/png"});
        check(Structured, json!([text("a")]), Err("the answer has no structuredContent"));
        check(Text, json!([text("a"), image, text("b")]), Ok(json!({"text": "a\nb"})));
        check(Text, json!([]), Ok(json!({"text": ""})));
        check(Text, json!([image]), Err("the answer has no text block"));
        check(Json, json!([text("{\"n\": 1}")]), Ok(json!({"n": 1})));
        check(
            Json,
            json!([text("{secret")]),
            Err("the answer's text is not JSON (line 1, column 2)"),
        );
        check(
            Json,
            json!([text("1"), text("2")]),
            Err("the answer has 2 text blocks, and only a single one can be read as JSON"),
        );
        let structured = json!({"x": 1});
        assert_eq!(structure(Text, &[text("a")], Some(&structured)), Ok(structured));
    }
}

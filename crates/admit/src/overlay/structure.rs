//! Converts MCP content blocks into a structured value that an output schema can validate.

use serde_json::{Value, json};

use super::ResultMode;

/// Applies an overlay's `result` to an answer, given as its `content` blocks and its `structuredContent`.
///
/// Returns `structuredContent` unchanged if the server sent it, whatever the mode. Errors are message fragments that
/// never contain the answer's content.
pub fn structure_answer(
    mode: ResultMode,
    content: &[Value],
    structured: Option<&Value>,
) -> Result<Value, String> {
    if let Some(structured) = structured {
        return Ok(structured.clone());
    }
    let texts: Vec<&str> = content.iter().filter_map(block_text).collect();
    match mode {
        ResultMode::Structured => Err("the answer has no structuredContent".into()),
        ResultMode::Text if texts.is_empty() && !content.is_empty() => {
            Err("the answer has no text block".into())
        }
        ResultMode::Text => Ok(json!({"text": texts.join("\n")})),
        ResultMode::Json => {
            let [text] = texts[..] else {
                return Err(format!(
                    "the answer has {} text blocks, expected exactly one with JSON",
                    texts.len()
                ));
            };
            serde_json::from_str(text).map_err(|error| {
                let (line, column) = (error.line(), error.column());
                format!("the answer's text is invalid JSON at line {line}, column {column}")
            })
        }
    }
}

fn block_text(block: &Value) -> Option<&str> {
    (block.get("type")? == "text").then(|| block.get("text")?.as_str()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_structure(mode: ResultMode, content: Value, expected: Result<Value, &str>) {
        let content = content.as_array().expect("blocks");
        assert_eq!(
            structure_answer(mode, content, None),
            expected.map_err(str::to_owned),
            "{content:?}"
        );
    }

    #[test]
    fn converts_text_blocks_by_result_mode() {
        use ResultMode::{Json, Structured, Text};
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "", "mimeType": "image/png"});
        check_structure(Structured, json!([text("a")]), Err("the answer has no structuredContent"));
        check_structure(Text, json!([text("a"), image, text("b")]), Ok(json!({"text": "a\nb"})));
        check_structure(Text, json!([]), Ok(json!({"text": ""})));
        check_structure(Text, json!([image]), Err("the answer has no text block"));
        check_structure(Json, json!([text("{\"n\": 1}")]), Ok(json!({"n": 1})));
        check_structure(
            Json,
            json!([text("{secret")]),
            Err("the answer's text is invalid JSON at line 1, column 2"),
        );
        check_structure(
            Json,
            json!([text("1"), text("2")]),
            Err("the answer has 2 text blocks, expected exactly one with JSON"),
        );
        let structured = json!({"x": 1});
        assert_eq!(structure_answer(Text, &[text("a")], Some(&structured)), Ok(structured));
    }
}

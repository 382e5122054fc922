//! The routing headers of 2026-07-28, which repeat parts of a request for proxies: `Mcp-Method`, `Mcp-Name` and
//! `Mcp-Param-*`.

use std::collections::HashSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";

/// Returns headers for the arguments whose schema has an annotation. Skips invalid annotations: see [`find_header_defect`].
pub(crate) fn headers_from_arguments(
    schema: Option<&Value>,
    arguments: &Map<String, Value>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut out = Vec::new();
    if let Some(properties) = schema.and_then(|schema| schema.get("properties")) {
        visit_annotations(properties, Some(arguments), &mut |_, annotation, argument| {
            let text = match argument {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(flag)) => flag.to_string(),
                Some(Value::Number(number)) => number.to_string(),
                _ => return,
            };
            let name =
                annotation.as_str().map(|name| format!("mcp-param-{name}").to_ascii_lowercase());
            if let Some(name) = name.and_then(|name| name.parse().ok()) {
                out.push((name, encode_header_value(&text)));
            }
        });
    }
    out
}

/// Calls `visit` with the schema, annotation and argument of each annotated property.
fn visit_annotations<'a>(
    properties: &'a Value,
    arguments: Option<&'a Map<String, Value>>,
    visit: &mut impl FnMut(&'a Value, &'a Value, Option<&'a Value>),
) {
    for (name, schema) in properties.as_object().into_iter().flatten() {
        let argument = arguments.and_then(|arguments| arguments.get(name));
        if let Some(annotation) = schema.get(ANNOTATION) {
            visit(schema, annotation, argument);
        }
        if let Some(inner) = schema.get("properties") {
            visit_annotations(inner, argument.and_then(Value::as_object), visit);
        }
    }
}

/// Encodes text as a header value: unchanged if it is printable ASCII, otherwise in the base64 form of the revision.
pub(crate) fn encode_header_value(text: &str) -> HeaderValue {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches([' ', '\t']).len() == text.len()
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let value = if plain {
        HeaderValue::from_str(text)
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", BASE64_STANDARD.encode(text)))
    };
    value.expect("visible ASCII is a header value")
}

/// Returns the reason that a tool's `x-mcp-header` annotations make it unusable over HTTP, or `None` if they are valid.
/// Clients must drop a tool with a defect.
pub fn find_header_defect(input_schema: &Value) -> Option<String> {
    if input_schema.get(ANNOTATION).is_some() || has_misplaced_annotation(input_schema, true) {
        return Some(format!("{ANNOTATION} is allowed only on properties of the arguments"));
    }
    let mut seen = HashSet::new();
    let mut defect = None;
    visit_annotations(input_schema.get("properties")?, None, &mut |schema, annotation, _| {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let problem = match annotation.as_str() {
            None => "is not a string",
            Some("") => "is empty",
            Some(name) if !name.chars().all(token) => "is not a valid header name",
            Some(name) if !seen.insert(name.to_ascii_lowercase()) => "is used twice",
            Some(_)
                if !["string", "integer", "boolean"].iter().any(|kind| schema["type"] == *kind) =>
            {
                "is on a property that is not a string, integer or boolean"
            }
            Some(_) => return,
        };
        defect.get_or_insert_with(|| format!("an {ANNOTATION} {problem}"));
    });
    defect
}

/// Returns true if there is an annotation anywhere but on a property reached from the root through `properties` alone.
fn has_misplaced_annotation(schema: &Value, on_path: bool) -> bool {
    let Some(schema) = schema.as_object() else {
        return schema
            .as_array()
            .is_some_and(|items| items.iter().any(|item| has_misplaced_annotation(item, false)));
    };
    let each = |map: &Value, on_path| {
        map.as_object().is_some_and(|map| {
            map.values().any(|inner| {
                // On the path, an annotation on the property itself is valid.
                has_misplaced_annotation(inner, on_path)
                    || (!on_path && inner.get(ANNOTATION).is_some())
            })
        })
    };
    schema.iter().any(|(key, inner)| match key.as_str() {
        ANNOTATION => false,
        "properties" => each(inner, on_path),
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => each(inner, false),
        "default" | "const" | "enum" | "examples" => false,
        _ => inner.get(ANNOTATION).is_some() || has_misplaced_annotation(inner, false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sends_annotated_arguments_as_headers() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "absent": {"type": "string", "x-mcp-header": "Absent"},
            "list": {"type": "array", "x-mcp-header": "List"},
        }});
        let arguments = json!({"region": " µ", "deep": {"n": 5}, "list": [1]});
        let headers = headers_from_arguments(Some(&schema), arguments.as_object().unwrap());
        let shown: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(shown, ["mcp-param-region: =?base64?IMK1?=", "mcp-param-n: 5"]);
        assert_eq!(
            encode_header_value("=?base64?eA==?=").to_str().unwrap(),
            "=?base64?PT9iYXNlNjQ/ZUE9PT89?="
        );
        assert_eq!(encode_header_value("plain text").to_str().unwrap(), "plain text");
    }

    #[test]
    fn reports_invalid_annotations() {
        let defect_of =
            |schema: Value| find_header_defect(&schema).unwrap_or_else(|| "valid".to_owned());
        let property = |annotation: Value, kind: &str| json!({"properties": {"p": {"type": kind, "x-mcp-header": annotation}}});
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "X"},
            "b": {"type": "string", "x-mcp-header": "x"},
        }});
        let defects = [
            defect_of(property(json!("Region"), "string")),
            defect_of(json!({"properties": {"x-mcp-header": {"type": "string"}}})),
            defect_of(property(json!(""), "string")),
            defect_of(property(json!(5), "string")),
            defect_of(property(json!("a b"), "string")),
            defect_of(property(json!("A"), "number")),
            defect_of(twice),
            defect_of(json!({"items": {"x-mcp-header": "A"}})),
            defect_of(
                json!({"properties": {"p": {"items": {"properties": {"q": {"x-mcp-header": "A"}}}}}}),
            ),
            defect_of(json!({"$defs": {"p": {"type": "string", "x-mcp-header": "A"}}})),
            defect_of(json!({"x-mcp-header": "A", "properties": {}})),
        ];
        insta::assert_snapshot!(defects.join("\n"));
    }
}

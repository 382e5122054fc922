//! The headers of 2026-07-28 that repeat parts of a request for those who route it: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`.

use std::collections::HashSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";

/// Arguments whose schema asks for it, as headers. Annotations that are no good are left out: see [`header_defect`].
pub(crate) fn of_arguments(
    schema: Option<&Value>,
    arguments: &Map<String, Value>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut out = Vec::new();
    if let Some(properties) = schema.and_then(|schema| schema.get("properties")) {
        collect(properties, Some(arguments), &mut |_, annotation, argument| {
            let text = match argument {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(flag)) => flag.to_string(),
                Some(Value::Number(number)) => number.to_string(),
                _ => return,
            };
            let name =
                annotation.as_str().map(|name| format!("mcp-param-{name}").to_ascii_lowercase());
            if let Some(name) = name.and_then(|name| name.parse().ok()) {
                out.push((name, value(&text)));
            }
        });
    }
    out
}

/// Calls `found` with each annotated property's schema, its annotation and its argument.
fn collect<'a>(
    properties: &'a Value,
    arguments: Option<&'a Map<String, Value>>,
    found: &mut impl FnMut(&'a Value, &'a Value, Option<&'a Value>),
) {
    for (name, schema) in properties.as_object().into_iter().flatten() {
        let argument = arguments.and_then(|arguments| arguments.get(name));
        if let Some(annotation) = schema.get(ANNOTATION) {
            found(schema, annotation, argument);
        }
        if let Some(inner) = schema.get("properties") {
            collect(inner, argument.and_then(Value::as_object), found);
        }
    }
}

/// A value as a header can carry it: plain if it is plain, otherwise in the wrapping that the revision prescribes.
pub(crate) fn value(text: &str) -> HeaderValue {
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

/// Why a tool's `x-mcp-header` annotations make it unusable over HTTP; a client drops such a tool.
pub fn header_defect(input_schema: &Value) -> Option<String> {
    if input_schema.get(ANNOTATION).is_some() || off_path(input_schema, true) {
        return Some(format!("{ANNOTATION} stands where no property of the arguments is"));
    }
    let mut seen = HashSet::new();
    let mut defect = None;
    collect(input_schema.get("properties")?, None, &mut |schema, annotation, _| {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let problem = match annotation.as_str() {
            None => "is no string",
            Some("") => "is empty",
            Some(name) if !name.chars().all(token) => "is no name of a header",
            Some(name) if !seen.insert(name.to_ascii_lowercase()) => "is used twice",
            Some(_)
                if !["string", "integer", "boolean"].iter().any(|kind| schema["type"] == *kind) =>
            {
                "is on a property that is no string, integer or boolean"
            }
            Some(_) => return,
        };
        defect.get_or_insert_with(|| format!("an {ANNOTATION} {problem}"));
    });
    defect
}

/// An annotation anywhere but on a property reached from the root through `properties` alone.
fn off_path(schema: &Value, on_path: bool) -> bool {
    let Some(schema) = schema.as_object() else {
        return schema
            .as_array()
            .is_some_and(|items| items.iter().any(|item| off_path(item, false)));
    };
    let each = |map: &Value, on_path| {
        map.as_object().is_some_and(|map| {
            map.values().any(|inner| {
                // On the path, the annotation itself is what is wanted.
                off_path(inner, on_path) || (!on_path && inner.get(ANNOTATION).is_some())
            })
        })
    };
    schema.iter().any(|(key, inner)| match key.as_str() {
        ANNOTATION => false,
        "properties" => each(inner, on_path),
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => each(inner, false),
        "default" | "const" | "enum" | "examples" => false,
        _ => inner.get(ANNOTATION).is_some() || off_path(inner, false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_become_headers() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "absent": {"type": "string", "x-mcp-header": "Absent"},
            "list": {"type": "array", "x-mcp-header": "List"},
        }});
        let arguments = json!({"region": " µ", "deep": {"n": 5}, "list": [1]});
        let headers = of_arguments(Some(&schema), arguments.as_object().unwrap());
        let shown: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(shown, ["mcp-param-region: =?base64?IMK1?=", "mcp-param-n: 5"]);
        assert_eq!(value("=?base64?eA==?=").to_str().unwrap(), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
        assert_eq!(value("plain text").to_str().unwrap(), "plain text");
    }

    #[test]
    fn defects() {
        let on = |schema: Value| header_defect(&schema).unwrap_or_else(|| "fine".to_owned());
        let property = |annotation: Value, kind: &str| json!({"properties": {"p": {"type": kind, "x-mcp-header": annotation}}});
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "X"},
            "b": {"type": "string", "x-mcp-header": "x"},
        }});
        let found = [
            on(property(json!("Region"), "string")),
            on(json!({"properties": {"x-mcp-header": {"type": "string"}}})),
            on(property(json!(""), "string")),
            on(property(json!(5), "string")),
            on(property(json!("a b"), "string")),
            on(property(json!("A"), "number")),
            on(twice),
            on(json!({"items": {"x-mcp-header": "A"}})),
            on(
                json!({"properties": {"p": {"items": {"properties": {"q": {"x-mcp-header": "A"}}}}}}),
            ),
            on(json!({"$defs": {"p": {"type": "string", "x-mcp-header": "A"}}})),
            on(json!({"x-mcp-header": "A", "properties": {}})),
        ];
        insta::assert_snapshot!(found.join("\n"));
    }
}

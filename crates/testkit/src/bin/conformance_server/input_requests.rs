//! The requests that tools of the suite send to the client: forms, sampling and roots.

use runtime::{ElicitationKind, ElicitationRequest};
use serde_json::{Value, json};

pub(crate) fn request_form(
    key: &str,
    message: &str,
    properties: Value,
    required: &[&str],
) -> ElicitationRequest {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    ElicitationRequest::new_form(key, message, schema)
}

pub(crate) fn request_name(key: &str, message: &str) -> ElicitationRequest {
    request_form(key, message, json!({"name": {"type": "string"}}), &["name"])
}

pub(crate) fn request_confirmation() -> ElicitationRequest {
    request_form("confirm", "Please confirm", json!({"ok": {"type": "boolean"}}), &["ok"])
}

pub(crate) fn request_completion(key: &str, prompt: &str) -> ElicitationRequest {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": 100,
    });
    ElicitationRequest { key: key.into(), kind: ElicitationKind::Sampling(params) }
}

pub(crate) fn request_roots() -> ElicitationRequest {
    ElicitationRequest { key: "client_roots".into(), kind: ElicitationKind::Roots }
}

/// Returns a form with a default for every primitive type (SEP-1034).
pub(crate) fn request_defaults() -> ElicitationRequest {
    let properties = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    });
    request_form("defaults", "Please check these values", properties, &[])
}

/// Returns a form with every way to write an enumeration (SEP-1330).
pub(crate) fn request_enumerations() -> ElicitationRequest {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |noun: &str| {
        json!([
            {"const": "value1", "title": format!("First {noun}")},
            {"const": "value2", "title": format!("Second {noun}")},
            {"const": "value3", "title": format!("Third {noun}")},
        ])
    };
    let properties = json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    });
    request_form("enumerations", "Please choose", properties, &[])
}

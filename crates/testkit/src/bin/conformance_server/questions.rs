//! The questions that fixtures put to the client.

use runtime::{Question, QuestionKind};
use serde_json::{Value, json};

pub(crate) fn form(key: &str, message: &str, properties: Value, required: &[&str]) -> Question {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Question::form(key, message, schema)
}

pub(crate) fn name(key: &str, message: &str) -> Question {
    form(key, message, json!({"name": {"type": "string"}}), &["name"])
}

pub(crate) fn confirmation() -> Question {
    form("confirm", "Please confirm", json!({"ok": {"type": "boolean"}}), &["ok"])
}

pub(crate) fn completion(key: &str, prompt: &str) -> Question {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": 100,
    });
    Question { key: key.into(), kind: QuestionKind::Sampling(params) }
}

pub(crate) fn roots() -> Question {
    Question { key: "client_roots".into(), kind: QuestionKind::Roots }
}

/// A default for every primitive type (SEP-1034).
pub(crate) fn defaults() -> Question {
    let properties = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    });
    form("defaults", "Please check these values", properties, &[])
}

/// Every way to write an enumeration (SEP-1330).
pub(crate) fn enumerations() -> Question {
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
    form("enumerations", "Please choose", properties, &[])
}

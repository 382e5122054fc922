//! The parameters of a tool, with the type of value that each accepts.

use serde_json::Value;

use crate::schema_view::SchemaView;

/// The type of value that a parameter accepts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SlotType {
    /// One of these strings.
    Choice(Vec<String>),
    Flag,
    Integer,
    Number,
    Text(TextKind),
    /// A list of strings.
    TextList(TextKind),
    /// A fixed value.
    Constant(Value),
    /// A value that a query cannot express, such as an object or a list of lists.
    Other,
}

/// The kind of a string parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Plain,
    Path,
    Url,
}

/// A parameter of a tool.
#[derive(Debug)]
pub(super) struct ParameterSlot<'a> {
    pub(super) name: &'a str,
    pub(super) takes: SlotType,
    /// Required, without a default.
    pub(super) is_needed: bool,
}

/// Returns the parameters that an input schema declares.
pub(super) fn parameter_slots(schema: &Value) -> Vec<ParameterSlot<'_>> {
    let whole = SchemaView::from_root(schema);
    whole
        .properties()
        .into_iter()
        .map(|(name, view)| {
            let is_needed = whole.requires_property(name) && view.keyword("default").is_none();
            ParameterSlot { name, takes: slot_type(name, &view), is_needed }
        })
        .collect()
}

fn slot_type(name: &str, view: &SchemaView<'_>) -> SlotType {
    if let Some(value) = view.keyword("const") {
        return SlotType::Constant(value.clone());
    }
    if let Some(Value::Array(values)) = view.keyword("enum") {
        let texts: Option<Vec<_>> = values.iter().map(|v| v.as_str().map(str::to_owned)).collect();
        return texts.map_or(SlotType::Other, SlotType::Choice);
    }
    if view.has_type("boolean") {
        SlotType::Flag
    } else if view.has_type("integer") {
        SlotType::Integer
    } else if view.has_type("number") {
        SlotType::Number
    } else if view.has_type("string") {
        SlotType::Text(text_kind(name, view))
    } else if view.has_type("array") {
        match view.item(0) {
            Some(item) if item.has_type("string") && item.keyword("enum").is_none() => {
                SlotType::TextList(text_kind(name, &item))
            }
            _ => SlotType::Other,
        }
    } else {
        SlotType::Other
    }
}

/// Returns the kind of a string parameter, from its format or its name.
fn text_kind(name: &str, view: &SchemaView<'_>) -> TextKind {
    let format = view.keyword("format").and_then(Value::as_str).unwrap_or_default();
    let lower = name.to_lowercase();
    let named = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if matches!(format, "uri" | "iri" | "uri-reference") || named(&["url", "uri"]) {
        TextKind::Url
    } else if named(&["path", "file", "dir", "folder"]) {
        TextKind::Path
    } else {
        TextKind::Plain
    }
}

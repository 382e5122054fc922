//! The parameters of a tool, by what kind of value each takes.

use serde_json::Value;

use crate::described::Described;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Takes {
    /// One of these texts.
    Choice(Vec<String>),
    Flag,
    Integer,
    Number,
    Text(Text),
    /// Any number of them.
    Texts(Text),
    /// Always the same.
    Constant(Value),
    /// What a query cannot spell: objects, lists of lists.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Plain,
    Path,
    Url,
}

#[derive(Debug)]
pub(super) struct Slot<'a> {
    pub(super) name: &'a str,
    pub(super) takes: Takes,
    /// Without it there is no call: no default stands in.
    pub(super) is_needed: bool,
}

pub(super) fn slots(schema: &Value) -> Vec<Slot<'_>> {
    let whole = Described::whole(schema);
    whole
        .properties()
        .into_iter()
        .map(|(name, place)| {
            let is_needed = whole.requires(name) && place.keyword("default").is_none();
            Slot { name, takes: takes(name, &place), is_needed }
        })
        .collect()
}

fn takes(name: &str, place: &Described<'_>) -> Takes {
    if let Some(value) = place.keyword("const") {
        return Takes::Constant(value.clone());
    }
    if let Some(Value::Array(values)) = place.keyword("enum") {
        let texts: Option<Vec<_>> = values.iter().map(|v| v.as_str().map(str::to_owned)).collect();
        return texts.map_or(Takes::Other, Takes::Choice);
    }
    if place.is("boolean") {
        Takes::Flag
    } else if place.is("integer") {
        Takes::Integer
    } else if place.is("number") {
        Takes::Number
    } else if place.is("string") {
        Takes::Text(text(name, place))
    } else if place.is("array") {
        match place.item(0) {
            Some(item) if item.is("string") && item.keyword("enum").is_none() => {
                Takes::Texts(text(name, &item))
            }
            _ => Takes::Other,
        }
    } else {
        Takes::Other
    }
}

/// What kind of text, by its format or the words of its name.
fn text(name: &str, place: &Described<'_>) -> Text {
    let format = place.keyword("format").and_then(Value::as_str).unwrap_or_default();
    let lower = name.to_lowercase();
    let named = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if matches!(format, "uri" | "iri" | "uri-reference") || named(&["url", "uri"]) {
        Text::Url
    } else if named(&["path", "file", "dir", "folder"]) {
        Text::Path
    } else {
        Text::Plain
    }
}

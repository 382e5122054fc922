//! Where a schema holds further schemas: the one list of keywords that every walk over a schema uses.

use serde_json::{Map, Value};

/// What a subschema is applied to, seen from the schema that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A named property of the instance.
    Property,
    /// An element of the instance.
    Item,
    /// Keys or values that have no name of their own (`additionalProperties`, `patternProperties` …).
    Rest,
    /// The same instance, and it must hold (`allOf`).
    Also,
    /// The same instance, as one choice of several (`anyOf`, `oneOf`).
    Choice,
    /// The same instance, under a condition (`if`, `then`, `else`, `not`, `dependentSchemas`).
    Condition,
    /// Nothing until a `$ref` points here.
    Definition,
}

impl Place {
    pub fn same_instance(self) -> bool {
        matches!(self, Self::Also | Self::Choice | Self::Condition)
    }
}

/// One step down: `properties` → `name`, `allOf` → `0`, or a keyword alone.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub place: Place,
    pub keyword: &'a str,
    pub key: Key<'a>,
    pub schema: &'a Value,
}

#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    None,
    Name(&'a str),
    Index(usize),
}

/// The direct subschemas of a schema, in document order. Instance data (`default`, `enum` …) is not entered.
pub fn subschemas(schema: &Map<String, Value>) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for (keyword, value) in schema {
        let Some(place) = place_of(keyword) else { continue };
        match value {
            Value::Object(map) if holds_names(keyword) => {
                steps.extend(map.iter().map(|(name, schema)| Step {
                    place,
                    keyword,
                    key: Key::Name(name),
                    schema,
                }));
            }
            Value::Array(list) => {
                steps.extend(list.iter().enumerate().map(|(index, schema)| Step {
                    place,
                    keyword,
                    key: Key::Index(index),
                    schema,
                }));
            }
            schema => steps.push(Step { place, keyword, key: Key::None, schema }),
        }
    }
    steps
}

fn place_of(keyword: &str) -> Option<Place> {
    Some(match keyword {
        "properties" => Place::Property,
        "items" | "prefixItems" | "contains" | "additionalItems" | "unevaluatedItems" => {
            Place::Item
        }
        "additionalProperties"
        | "patternProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "contentSchema" => Place::Rest,
        "allOf" => Place::Also,
        "anyOf" | "oneOf" => Place::Choice,
        "if" | "then" | "else" | "not" | "dependentSchemas" => Place::Condition,
        "$defs" | "definitions" => Place::Definition,
        _ => return None,
    })
}

fn holds_names(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions"
    )
}

/// What a reference inside the document points at: `#`, `#/pointer` or `#anchor`.
pub fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = percent_decoded(reference.strip_prefix('#')?)?;
    if fragment.is_empty() || fragment.starts_with('/') {
        root.pointer(&fragment)
    } else {
        anchored(root, &fragment)
    }
}

fn anchored<'a>(value: &'a Value, anchor: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => {
            let named = ["$anchor", "$dynamicAnchor"]
                .iter()
                .any(|keyword| map.get(*keyword).and_then(Value::as_str) == Some(anchor));
            if named {
                return Some(value);
            }
            map.values().find_map(|value| anchored(value, anchor))
        }
        Value::Array(list) => list.iter().find_map(|value| anchored(value, anchor)),
        _ => None,
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

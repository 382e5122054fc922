//! The keywords under which a schema contains subschemas. Every traversal of a schema uses this list.

use serde_json::{Map, Value};

/// The part of the instance to which a subschema applies, relative to the schema that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubschemaRole {
    /// Applies to a named property of the instance.
    Property,
    /// Applies to an element of the instance.
    Item,
    /// Applies to keys or values without a declared name (`additionalProperties`, `patternProperties` …).
    OtherKeys,
    /// Applies to the same instance, unconditionally (`allOf`).
    AllOf,
    /// Applies to the same instance, as one of several choices (`anyOf`, `oneOf`).
    Choice,
    /// Applies to the same instance, under a condition (`if`, `then`, `else`, `not`, `dependentSchemas`).
    Condition,
    /// Applies only if a `$ref` points here.
    Definition,
}

impl SubschemaRole {
    /// Returns true if the subschema applies to the same instance as the schema that contains it.
    pub fn is_same_instance(self) -> bool {
        matches!(self, Self::AllOf | Self::Choice | Self::Condition)
    }
}

/// A direct subschema with its location: `properties` → `name`, `allOf` → `0`, or a keyword alone.
#[derive(Clone, Copy, Debug)]
pub struct SubschemaEntry<'a> {
    pub role: SubschemaRole,
    pub keyword: &'a str,
    pub key: SubschemaKey<'a>,
    pub schema: &'a Value,
}

/// The location of a subschema below its keyword.
#[derive(Clone, Copy, Debug)]
pub enum SubschemaKey<'a> {
    None,
    Name(&'a str),
    Index(usize),
}

/// Returns the direct subschemas of a schema, in document order. Instance data (`default`, `enum` …) is skipped.
pub fn direct_subschemas(schema: &Map<String, Value>) -> Vec<SubschemaEntry<'_>> {
    let mut steps = Vec::new();
    for (keyword, value) in schema {
        let Some(place) = subschema_role(keyword) else { continue };
        match value {
            Value::Object(map) if has_named_subschemas(keyword) => {
                steps.extend(map.iter().map(|(name, schema)| SubschemaEntry {
                    role: place,
                    keyword,
                    key: SubschemaKey::Name(name),
                    schema,
                }));
            }
            Value::Array(list) => {
                steps.extend(list.iter().enumerate().map(|(index, schema)| SubschemaEntry {
                    role: place,
                    keyword,
                    key: SubschemaKey::Index(index),
                    schema,
                }));
            }
            schema => {
                steps.push(SubschemaEntry { role: place, keyword, key: SubschemaKey::None, schema })
            }
        }
    }
    steps
}

fn subschema_role(keyword: &str) -> Option<SubschemaRole> {
    Some(match keyword {
        "properties" => SubschemaRole::Property,
        "items" | "prefixItems" | "contains" | "additionalItems" | "unevaluatedItems" => {
            SubschemaRole::Item
        }
        "additionalProperties"
        | "patternProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "contentSchema" => SubschemaRole::OtherKeys,
        "allOf" => SubschemaRole::AllOf,
        "anyOf" | "oneOf" => SubschemaRole::Choice,
        "if" | "then" | "else" | "not" | "dependentSchemas" => SubschemaRole::Condition,
        "$defs" | "definitions" => SubschemaRole::Definition,
        _ => return None,
    })
}

fn has_named_subschemas(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions"
    )
}

/// Returns the target of a local reference: `#`, `#/pointer` or `#anchor`.
pub fn resolve_reference<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = percent_decode(reference.strip_prefix('#')?)?;
    if fragment.is_empty() || fragment.starts_with('/') {
        root.pointer(&fragment)
    } else {
        find_anchor(root, &fragment)
    }
}

fn find_anchor<'a>(value: &'a Value, anchor: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => {
            let named = ["$anchor", "$dynamicAnchor"]
                .iter()
                .any(|keyword| map.get(*keyword).and_then(Value::as_str) == Some(anchor));
            if named {
                return Some(value);
            }
            map.values().find_map(|value| find_anchor(value, anchor))
        }
        Value::Array(list) => list.iter().find_map(|value| find_anchor(value, anchor)),
        _ => None,
    }
}

fn percent_decode(text: &str) -> Option<String> {
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

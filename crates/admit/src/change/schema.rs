//! Compares two schemas keyword by keyword: does the new one accept fewer values, more values, or is it unclear?
//!
//! This is not a prover. Each known keyword reports narrowed or widened. Any other keyword reports unknown, which
//! counts as the worst case for input and output. Added and removed properties are tracked separately from sets of
//! values, because an open object accepts both although callers notice the difference.

use std::collections::{BTreeSet, HashSet};

use contract::canonical_json;
use serde_json::{Map, Value};

/// All differences between two schemas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SchemaDelta {
    /// A value that was accepted is now rejected.
    pub(crate) narrowed: bool,
    /// A value that was rejected is now accepted.
    pub(crate) widened: bool,
    /// A property was added.
    pub(crate) added: bool,
    /// A property was added to an object that accepted no others.
    pub(crate) added_to_closed: bool,
    /// A property was removed.
    pub(crate) removed: bool,
    /// A default was added, removed or changed.
    pub(crate) defaults: bool,
    /// A text changed, or the order of an unordered list.
    pub(crate) texts: bool,
    /// A part cannot be compared.
    pub(crate) unknown: bool,
}

impl SchemaDelta {
    fn merge(&mut self, other: Self) {
        self.narrowed |= other.narrowed;
        self.widened |= other.widened;
        self.added |= other.added;
        self.added_to_closed |= other.added_to_closed;
        self.removed |= other.removed;
        self.defaults |= other.defaults;
        self.texts |= other.texts;
        self.unknown |= other.unknown;
    }

    fn is_text_only(self) -> bool {
        self == Self { texts: self.texts, ..Self::default() }
    }
}

const NARROWED: SchemaDelta = delta_from_flags(true, false, false);
const WIDENED: SchemaDelta = delta_from_flags(false, true, false);
const UNKNOWN: SchemaDelta = delta_from_flags(false, false, true);

const fn delta_from_flags(narrowed: bool, widened: bool, unknown: bool) -> SchemaDelta {
    SchemaDelta {
        narrowed,
        widened,
        added: false,
        added_to_closed: false,
        removed: false,
        defaults: false,
        texts: false,
        unknown,
    }
}

/// Compares two whole schemas.
pub(crate) fn compare_schemas(old: &Value, new: &Value) -> SchemaDelta {
    let delta = compare_subschemas(old, new);
    // Narrowing a definition that is referenced under a negation or condition can widen the whole schema.
    let by_reference = |schema: &Value| {
        schema.get("$defs") != new.get("$defs")
            || schema.get("definitions") != new.get("definitions")
    };
    if by_reference(old)
        && !delta.is_text_only()
        && (has_non_monotone_keyword(old) || has_non_monotone_keyword(new))
    {
        return SchemaDelta { unknown: true, ..delta };
    }
    delta
}

/// Returns true if the schema has a keyword under which narrowing a subschema can widen the whole.
fn has_non_monotone_keyword(schema: &Value) -> bool {
    const NOT_MONOTONE: &[&str] =
        &["not", "if", "oneOf", "contains", "dependentSchemas", "unevaluatedProperties"];
    match schema {
        Value::Object(map) => {
            NOT_MONOTONE.iter().any(|keyword| map.contains_key(*keyword))
                || map.values().any(has_non_monotone_keyword)
        }
        Value::Array(list) => list.iter().any(has_non_monotone_keyword),
        _ => false,
    }
}

fn compare_subschemas(old: &Value, new: &Value) -> SchemaDelta {
    if old == new {
        return SchemaDelta::default();
    }
    let empty = Map::new();
    match (old, new) {
        (Value::Bool(false), _) => WIDENED,
        (_, Value::Bool(false)) => NARROWED,
        (Value::Bool(true), Value::Object(new)) => relate_maps(&empty, new),
        (Value::Object(old), Value::Bool(true)) => relate_maps(old, &empty),
        (Value::Object(old), Value::Object(new)) => relate_maps(old, new),
        _ => UNKNOWN,
    }
}

fn relate_maps(old: &Map<String, Value>, new: &Map<String, Value>) -> SchemaDelta {
    let mut whole = SchemaDelta::default();
    let keywords: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for keyword in keywords {
        let (before, after) = (old.get(keyword), new.get(keyword));
        if before == after {
            continue;
        }
        let delta = relate_keyword(keyword, before, after, old);
        // A text, or equivalent values: `["a", "b"]` and `["b", "a"]`, `1` and `1.0`, `false` and an absent key.
        let same = delta == SchemaDelta::default();
        whole.merge(if same { SchemaDelta { texts: true, ..delta } } else { delta });
    }
    whole
}

fn relate_keyword(
    keyword: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    owner: &Map<String, Value>,
) -> SchemaDelta {
    match keyword {
        "title" | "description" | "$comment" | "examples" | "deprecated" | "readOnly"
        | "writeOnly" => SchemaDelta::default(),
        "default" => SchemaDelta { defaults: true, ..SchemaDelta::default() },
        "type" => relate_types(old, new),
        "enum" => relate_values(old.and_then(to_value_set), new.and_then(to_value_set)),
        "const" => relate_values(old.map(to_singleton_set), new.map(to_singleton_set)),
        "required" => relate_required(old, new),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
        | "maxContains" => relate_bound(old, new, false),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            relate_bound(old, new, true)
        }
        "uniqueItems" => match (is_true(old), is_true(new)) {
            (false, true) => NARROWED,
            (true, false) => WIDENED,
            _ => SchemaDelta::default(),
        },
        "pattern" | "format" | "multipleOf" => match (old, new) {
            (None, _) => NARROWED,
            (_, None) => WIDENED,
            _ => SchemaDelta { narrowed: true, widened: true, ..SchemaDelta::default() },
        },
        "properties" => relate_properties(old, new, owner),
        "additionalProperties" | "items" | "additionalItems" if !is_list(old) && !is_list(new) => {
            compare_subschemas(old.unwrap_or(&Value::Bool(true)), new.unwrap_or(&Value::Bool(true)))
        }
        "prefixItems" | "items" | "allOf" => relate_lists(old, new),
        "anyOf" => relate_choices(old, new),
        "$defs" | "definitions" => relate_definitions(old, new),
        "patternProperties" => relate_same_names(old, new),
        "oneOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => relate_opaque(old, new),
        _ => UNKNOWN,
    }
}

/// Compares subschemas whose effect on the whole is not modeled: anything but a text change is unknown.
fn relate_opaque(old: Option<&Value>, new: Option<&Value>) -> SchemaDelta {
    let words = SchemaDelta::default();
    match (old, new) {
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            let differ_in_words = |(old, new)| compare_subschemas(old, new).is_text_only();
            if old.iter().zip(new).all(differ_in_words) { words } else { UNKNOWN }
        }
        (Some(old), Some(new)) if compare_subschemas(old, new).is_text_only() => words,
        _ => UNKNOWN,
    }
}

fn relate_types(old: Option<&Value>, new: Option<&Value>) -> SchemaDelta {
    const ALL: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];
    let set = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        let mut set: BTreeSet<String> = match value {
            None => ALL.iter().map(|kind| (*kind).to_owned()).collect(),
            Some(Value::String(kind)) => BTreeSet::from([kind.clone()]),
            Some(Value::Array(kinds)) => {
                kinds.iter().map(|kind| kind.as_str().map(str::to_owned)).collect::<Option<_>>()?
            }
            Some(_) => return None,
        };
        // Every integer is a number.
        if set.contains("number") {
            set.insert("integer".into());
        }
        Some(set)
    };
    let (Some(old), Some(new)) = (set(old), set(new)) else { return UNKNOWN };
    delta_from_flags(!old.is_subset(&new), !new.is_subset(&old), false)
}

fn to_singleton_set(value: &Value) -> HashSet<String> {
    HashSet::from([canonical_json(value)])
}

fn to_value_set(value: &Value) -> Option<HashSet<String>> {
    Some(value.as_array()?.iter().map(canonical_json).collect())
}

/// Compares sets of allowed values; `None` allows every value.
fn relate_values(old: Option<HashSet<String>>, new: Option<HashSet<String>>) -> SchemaDelta {
    match (old, new) {
        (None, None) => UNKNOWN,
        (None, Some(_)) => NARROWED,
        (Some(_), None) => WIDENED,
        (Some(old), Some(new)) => {
            delta_from_flags(!old.is_subset(&new), !new.is_subset(&old), false)
        }
    }
}

fn relate_required(old: Option<&Value>, new: Option<&Value>) -> SchemaDelta {
    let set = |value: Option<&Value>| value.map_or_else(|| Some(HashSet::new()), to_value_set);
    let (Some(old), Some(new)) = (set(old), set(new)) else { return UNKNOWN };
    delta_from_flags(!new.is_subset(&old), !old.is_subset(&new), false)
}

fn relate_bound(old: Option<&Value>, new: Option<&Value>, is_lower: bool) -> SchemaDelta {
    let number = |value: Option<&Value>| value.map(Value::as_f64);
    match (number(old), number(new)) {
        (None, Some(Some(_))) => NARROWED,
        (Some(Some(_)), None) => WIDENED,
        // Different integers beyond the exact range of a double can be equal as doubles.
        (Some(Some(old_bound)), Some(Some(new_bound))) if old_bound != new_bound => {
            if (new_bound > old_bound) == is_lower { NARROWED } else { WIDENED }
        }
        (Some(Some(bound)), Some(Some(_))) if bound.abs() < 9e15 => SchemaDelta::default(),
        _ => UNKNOWN,
    }
}

fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}

fn is_list(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_array)
}

fn relate_properties(
    old: Option<&Value>,
    new: Option<&Value>,
    owner: &Map<String, Value>,
) -> SchemaDelta {
    let empty = Map::new();
    let (Some(old), Some(new)) =
        (old.map_or(Some(&empty), Value::as_object), new.map_or(Some(&empty), Value::as_object))
    else {
        return UNKNOWN;
    };
    let mut whole = SchemaDelta::default();
    for (name, before) in old {
        whole.merge(match new.get(name) {
            Some(after) => compare_subschemas(before, after),
            None => SchemaDelta { removed: true, ..SchemaDelta::default() },
        });
    }
    if new.keys().any(|name| !old.contains_key(name)) {
        let was_closed = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|keyword| owner.get(*keyword).is_some_and(|rest| rest != &Value::Bool(true)));
        whole.merge(SchemaDelta {
            added: true,
            added_to_closed: was_closed,
            ..SchemaDelta::default()
        });
    }
    whole
}

fn relate_lists(old: Option<&Value>, new: Option<&Value>) -> SchemaDelta {
    match (old.and_then(Value::as_array), new.and_then(Value::as_array)) {
        (Some(old), Some(new)) if old.len() == new.len() => {
            let mut whole = SchemaDelta::default();
            old.iter().zip(new).for_each(|(old, new)| whole.merge(compare_subschemas(old, new)));
            whole
        }
        _ => UNKNOWN,
    }
}

fn relate_choices(old: Option<&Value>, new: Option<&Value>) -> SchemaDelta {
    let (Some(before), Some(after)) =
        (old.and_then(Value::as_array), new.and_then(Value::as_array))
    else {
        return match (old, new) {
            (None, Some(_)) => NARROWED,
            (Some(_), None) => WIDENED,
            _ => UNKNOWN,
        };
    };
    if before.len() == after.len() {
        return relate_lists(old, new);
    }
    if after.starts_with(before) {
        WIDENED
    } else if before.starts_with(after) {
        NARROWED
    } else {
        UNKNOWN
    }
}

/// Compares definitions that both sides have. Unreferenced ones have no effect, and referenced ones must exist.
fn relate_definitions(old: Option<&Value>, new: Option<&Value>) -> SchemaDelta {
    let mut whole = SchemaDelta::default();
    for (name, before) in old.and_then(Value::as_object).into_iter().flatten() {
        if let Some(after) = new.and_then(|new| new.get(name)) {
            whole.merge(compare_subschemas(before, after));
        }
    }
    whole
}

fn relate_same_names(old: Option<&Value>, new: Option<&Value>) -> SchemaDelta {
    let (Some(old), Some(new)) = (old.and_then(Value::as_object), new.and_then(Value::as_object))
    else {
        return UNKNOWN;
    };
    if old.len() != new.len() || !old.keys().all(|name| new.contains_key(name)) {
        return UNKNOWN;
    }
    let mut whole = SchemaDelta::default();
    old.iter().for_each(|(name, before)| whole.merge(compare_subschemas(before, &new[name])));
    whole
}

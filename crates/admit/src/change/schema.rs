//! How two schemas relate, keyword by keyword: does the new one accept less, more, or something that nobody can tell?
//!
//! Not a prover. Each keyword that is understood says narrowed or widened; what is not understood says unknown, which
//! counts as the worst on either side. A declared property that comes or goes is told apart from sets of values, because
//! an open object accepts both and yet a caller notices.

use std::collections::{BTreeSet, HashSet};

use contract::canonical_json;
use serde_json::{Map, Value};

/// What differs, all of it at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    /// Something that was accepted is refused.
    pub(crate) narrowed: bool,
    /// Something that was refused is accepted.
    pub(crate) widened: bool,
    /// A property is declared that was not.
    pub(crate) added: bool,
    /// … in an object that accepted no others.
    pub(crate) added_to_closed: bool,
    /// A property is declared no more.
    pub(crate) removed: bool,
    /// A default came, went or changed.
    pub(crate) defaults: bool,
    /// Words, or the order of a list that has none.
    pub(crate) texts: bool,
    /// Cannot be compared.
    pub(crate) unknown: bool,
}

impl Delta {
    fn add(&mut self, other: Self) {
        self.narrowed |= other.narrowed;
        self.widened |= other.widened;
        self.added |= other.added;
        self.added_to_closed |= other.added_to_closed;
        self.removed |= other.removed;
        self.defaults |= other.defaults;
        self.texts |= other.texts;
        self.unknown |= other.unknown;
    }

    fn is_words_only(self) -> bool {
        self == Self { texts: self.texts, ..Self::default() }
    }
}

const NARROWED: Delta = with(true, false, false);
const WIDENED: Delta = with(false, true, false);
const UNKNOWN: Delta = with(false, false, true);

const fn with(narrowed: bool, widened: bool, unknown: bool) -> Delta {
    Delta {
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
pub(crate) fn relate(old: &Value, new: &Value) -> Delta {
    let delta = relate_at(old, new);
    // A definition that is referred to under a negation or a condition works the other way round.
    let by_reference = |schema: &Value| {
        schema.get("$defs") != new.get("$defs")
            || schema.get("definitions") != new.get("definitions")
    };
    if by_reference(old) && !delta.is_words_only() && (is_tangled(old) || is_tangled(new)) {
        return Delta { unknown: true, ..delta };
    }
    delta
}

fn is_tangled(schema: &Value) -> bool {
    const NOT_MONOTONE: &[&str] =
        &["not", "if", "oneOf", "contains", "dependentSchemas", "unevaluatedProperties"];
    match schema {
        Value::Object(map) => {
            NOT_MONOTONE.iter().any(|keyword| map.contains_key(*keyword))
                || map.values().any(is_tangled)
        }
        Value::Array(list) => list.iter().any(is_tangled),
        _ => false,
    }
}

fn relate_at(old: &Value, new: &Value) -> Delta {
    if old == new {
        return Delta::default();
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

fn relate_maps(old: &Map<String, Value>, new: &Map<String, Value>) -> Delta {
    let mut whole = Delta::default();
    let keywords: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for keyword in keywords {
        let (before, after) = (old.get(keyword), new.get(keyword));
        if before == after {
            continue;
        }
        let delta = relate_keyword(keyword, before, after, old);
        // `["a", "b"]` against `["b", "a"]`, `1` against `1.0`, `false` where nothing means the same.
        let same = delta == Delta::default();
        whole.add(if same { Delta { texts: true, ..delta } } else { delta });
    }
    whole
}

fn relate_keyword(
    keyword: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    owner: &Map<String, Value>,
) -> Delta {
    match keyword {
        "title" | "description" | "$comment" | "examples" | "deprecated" | "readOnly"
        | "writeOnly" => Delta { texts: true, ..Delta::default() },
        "default" => Delta { defaults: true, ..Delta::default() },
        "type" => relate_types(old, new),
        "enum" => relate_values(old.and_then(set_of), new.and_then(set_of)),
        "const" => relate_values(old.map(one), new.map(one)),
        "required" => relate_required(old, new),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
        | "maxContains" => relate_bound(old, new, false),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            relate_bound(old, new, true)
        }
        "uniqueItems" => match (is_true(old), is_true(new)) {
            (false, true) => NARROWED,
            (true, false) => WIDENED,
            _ => Delta::default(),
        },
        "pattern" | "format" | "multipleOf" => match (old, new) {
            (None, _) => NARROWED,
            (_, None) => WIDENED,
            _ => Delta { narrowed: true, widened: true, ..Delta::default() },
        },
        "properties" => relate_properties(old, new, owner),
        "additionalProperties" | "items" | "additionalItems" if !is_list(old) && !is_list(new) => {
            relate_at(old.unwrap_or(&Value::Bool(true)), new.unwrap_or(&Value::Bool(true)))
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

/// A schema whose effect on the whole is not followed: only its words may differ.
fn relate_opaque(old: Option<&Value>, new: Option<&Value>) -> Delta {
    let words = Delta { texts: true, ..Delta::default() };
    match (old, new) {
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            let differ_in_words = |(old, new)| relate_at(old, new).is_words_only();
            if old.iter().zip(new).all(differ_in_words) { words } else { UNKNOWN }
        }
        (Some(old), Some(new)) if relate_at(old, new).is_words_only() => words,
        _ => UNKNOWN,
    }
}

fn relate_types(old: Option<&Value>, new: Option<&Value>) -> Delta {
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
    with(!old.is_subset(&new), !new.is_subset(&old), false)
}

fn one(value: &Value) -> HashSet<String> {
    HashSet::from([canonical_json(value)])
}

fn set_of(value: &Value) -> Option<HashSet<String>> {
    Some(value.as_array()?.iter().map(canonical_json).collect())
}

/// None means every value.
fn relate_values(old: Option<HashSet<String>>, new: Option<HashSet<String>>) -> Delta {
    match (old, new) {
        (None, None) => UNKNOWN,
        (None, Some(_)) => NARROWED,
        (Some(_), None) => WIDENED,
        (Some(old), Some(new)) => with(!old.is_subset(&new), !new.is_subset(&old), false),
    }
}

fn relate_required(old: Option<&Value>, new: Option<&Value>) -> Delta {
    let set = |value: Option<&Value>| value.map_or_else(|| Some(HashSet::new()), set_of);
    let (Some(old), Some(new)) = (set(old), set(new)) else { return UNKNOWN };
    with(!new.is_subset(&old), !old.is_subset(&new), false)
}

fn relate_bound(old: Option<&Value>, new: Option<&Value>, is_lower: bool) -> Delta {
    let number = |value: Option<&Value>| value.map(Value::as_f64);
    match (number(old), number(new)) {
        (None, Some(Some(_))) => NARROWED,
        (Some(Some(_)), None) => WIDENED,
        // Two whole numbers beyond the exact range of a double are equal as doubles, and yet differ.
        (Some(Some(old_bound)), Some(Some(new_bound))) if old_bound != new_bound => {
            if (new_bound > old_bound) == is_lower { NARROWED } else { WIDENED }
        }
        (Some(Some(bound)), Some(Some(_))) if bound.abs() < 9e15 => Delta::default(),
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
) -> Delta {
    let empty = Map::new();
    let (Some(old), Some(new)) =
        (old.map_or(Some(&empty), Value::as_object), new.map_or(Some(&empty), Value::as_object))
    else {
        return UNKNOWN;
    };
    let mut whole = Delta::default();
    for (name, before) in old {
        whole.add(match new.get(name) {
            Some(after) => relate_at(before, after),
            None => Delta { removed: true, ..Delta::default() },
        });
    }
    if new.keys().any(|name| !old.contains_key(name)) {
        let was_closed = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|keyword| owner.get(*keyword).is_some_and(|rest| rest != &Value::Bool(true)));
        whole.add(Delta { added: true, added_to_closed: was_closed, ..Delta::default() });
    }
    whole
}

fn relate_lists(old: Option<&Value>, new: Option<&Value>) -> Delta {
    match (old.and_then(Value::as_array), new.and_then(Value::as_array)) {
        (Some(old), Some(new)) if old.len() == new.len() => {
            let mut whole = Delta::default();
            old.iter().zip(new).for_each(|(old, new)| whole.add(relate_at(old, new)));
            whole
        }
        _ => UNKNOWN,
    }
}

fn relate_choices(old: Option<&Value>, new: Option<&Value>) -> Delta {
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

/// What nothing refers to does not matter, and what is referred to must be there.
fn relate_definitions(old: Option<&Value>, new: Option<&Value>) -> Delta {
    let mut whole = Delta::default();
    for (name, before) in old.and_then(Value::as_object).into_iter().flatten() {
        if let Some(after) = new.and_then(|new| new.get(name)) {
            whole.add(relate_at(before, after));
        }
    }
    whole
}

fn relate_same_names(old: Option<&Value>, new: Option<&Value>) -> Delta {
    let (Some(old), Some(new)) = (old.and_then(Value::as_object), new.and_then(Value::as_object))
    else {
        return UNKNOWN;
    };
    if old.len() != new.len() || !old.keys().all(|name| new.contains_key(name)) {
        return UNKNOWN;
    }
    let mut whole = Delta::default();
    old.iter().for_each(|(name, before)| whole.add(relate_at(before, &new[name])));
    whole
}

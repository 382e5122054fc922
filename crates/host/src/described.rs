//! What a schema describes, place by place: which names an object may have, and what stands at them.
//!
//! JSON Schema lets everything through that it does not mention. A host that wants no undocumented parameter and no
//! free-form answer asks the other question: is this place described at all? A name counts as described where
//! `properties`, `patternProperties` or a schema for further properties speaks of it; `additionalProperties: true` and
//! `{}` describe nothing. The instance is known to be valid, so all branches of a choice are looked at alike.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use regex::Regex;
use serde_json::{Map, Value};

use crate::json::{short, token};

/// Schemas that may apply to one place; a chain of references that is longer ends undescribed.
const MAX_SCHEMAS: usize = 256;

/// All schemas that speak of one place of an instance.
pub(crate) struct Described<'a> {
    document: Rc<Document<'a>>,
    here: Vec<&'a Map<String, Value>>,
    /// Those of them that hold whatever the instance is: no branch of a choice, no condition.
    always: Vec<&'a Map<String, Value>>,
}

/// A schema as a whole, with the patterns in it that were asked for: an instance may have a million names.
struct Document<'a> {
    root: &'a Value,
    patterns: RefCell<HashMap<&'a str, Option<Regex>>>,
}

impl<'a> Described<'a> {
    pub(crate) fn whole(root: &'a Value) -> Self {
        let document = Document { root, patterns: RefCell::default() };
        Self::of(Rc::new(document), [root])
    }

    fn of(document: Rc<Document<'a>>, schemas: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut here: Vec<&'a Map<String, Value>> = Vec::new();
        let mut always = Vec::new();
        let mut queue: VecDeque<(&'a Value, bool)> =
            schemas.into_iter().map(|schema| (schema, true)).collect();
        while let Some((schema, holds)) = queue.pop_front() {
            let Some(map) = schema.as_object() else { continue };
            if here.len() >= MAX_SCHEMAS || here.iter().any(|known| std::ptr::eq(*known, map)) {
                continue;
            }
            here.push(map);
            if holds {
                always.push(map);
            }
            for (keyword, value) in map {
                match (keyword.as_str(), value) {
                    ("$ref" | "$dynamicRef", Value::String(target)) => {
                        queue.extend(resolved(document.root, target).map(|schema| (schema, holds)));
                    }
                    ("allOf", Value::Array(parts)) => {
                        queue.extend(parts.iter().map(|part| (part, holds)));
                    }
                    ("anyOf" | "oneOf", Value::Array(parts)) => {
                        queue.extend(parts.iter().map(|part| (part, false)));
                    }
                    ("if" | "then" | "else", part) => queue.push_back((part, false)),
                    ("dependentSchemas", Value::Object(parts)) => {
                        queue.extend(parts.values().map(|part| (part, false)));
                    }
                    _ => {}
                }
            }
        }
        Self { document, here, always }
    }

    /// The declared names with what is said of each, in the order of the document.
    pub(crate) fn properties(&self) -> Vec<(&'a str, Described<'a>)> {
        let mut names: Vec<&'a str> = Vec::new();
        for map in &self.here {
            let properties = map.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(Map::keys).map(String::as_str));
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        names.into_iter().filter_map(|name| Some((name, self.property(name)?))).collect()
    }

    /// What is said of the property of an object; `None` if nothing is.
    pub(crate) fn property(&self, name: &str) -> Option<Described<'a>> {
        let mut found: Vec<&'a Value> = Vec::new();
        for map in &self.here {
            let named = map.get("properties").and_then(|properties| properties.get(name));
            found.extend(named);
            let patterns = map.get("patternProperties").and_then(Value::as_object);
            let patterns = patterns.into_iter().flatten();
            let patterns: Vec<_> = patterns
                .filter(|(pattern, _)| self.document.matches(pattern, name))
                .map(|(_, s)| s)
                .collect();
            if named.is_none() && patterns.is_empty() {
                let rest = ["additionalProperties", "unevaluatedProperties"];
                found.extend(
                    rest.iter().filter_map(|keyword| map.get(*keyword)).filter(|s| says(s)),
                );
            }
            found.extend(patterns);
        }
        (!found.is_empty()).then(|| Self::of(Rc::clone(&self.document), found))
    }

    /// What is said of the element of an array; `None` if nothing is.
    pub(crate) fn item(&self, index: usize) -> Option<Described<'a>> {
        let mut found: Vec<&'a Value> = Vec::new();
        for map in &self.here {
            let places = ["prefixItems", "items"];
            let mut listed = places.iter().filter_map(|keyword| map.get(*keyword)?.get(index));
            match listed.find(|schema| says(schema)) {
                Some(schema) => found.push(schema),
                None => found.extend(
                    ["items", "additionalItems", "unevaluatedItems"]
                        .iter()
                        .filter_map(|keyword| map.get(*keyword))
                        .filter(|schema| says(schema)),
                ),
            }
        }
        (!found.is_empty()).then(|| Self::of(Rc::clone(&self.document), found))
    }

    /// The first value of a keyword among the schemas of this place.
    pub(crate) fn keyword(&self, keyword: &str) -> Option<&'a Value> {
        self.here.iter().find_map(|map| map.get(keyword))
    }

    /// Whether a schema of this place names the type, alone or in a list.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.here.iter().filter_map(|map| map.get("type")).any(|value| match value {
            Value::String(name) => name == kind,
            Value::Array(names) => names.iter().any(|name| name == kind),
            _ => false,
        })
    }

    /// Whether the object must have the name, whatever else it holds.
    pub(crate) fn requires(&self, name: &str) -> bool {
        self.always
            .iter()
            .filter_map(|map| map.get("required")?.as_array())
            .any(|names| names.iter().any(|required| required == name))
    }
}

impl<'a> Document<'a> {
    /// A pattern that this engine does not know matches nothing, so that what it allows counts as undescribed.
    fn matches(&self, pattern: &'a str, name: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let compiled = patterns
            .entry(pattern)
            .or_insert_with(|| regex::RegexBuilder::new(pattern).size_limit(1 << 20).build().ok());
        compiled.as_ref().is_some_and(|pattern| pattern.is_match(name))
    }
}

/// The pointer to the first name or element that the schema does not describe.
pub(crate) fn undescribed(schema: &Value, instance: &Value) -> Option<String> {
    find(&Described::whole(schema), instance, &mut String::new())
}

fn find(place: &Described<'_>, instance: &Value, path: &mut String) -> Option<String> {
    let length = path.len();
    let mut below = |step: &str, inner: Option<Described<'_>>, value: &Value| {
        path.push('/');
        path.push_str(&token(step));
        let found = match inner {
            Some(inner) => find(&inner, value, path),
            None => Some(path.clone()),
        };
        path.truncate(length);
        found
    };
    match instance {
        Value::Object(map) => {
            map.iter().find_map(|(name, value)| below(name, place.property(name), value))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, value)| below(&index.to_string(), place.item(index), value)),
        _ => None,
    }
}

/// A pointer as people read it: `options.limit`, bounded and on one line.
pub(crate) fn field(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
    let dotted = steps.collect::<Vec<_>>().join(".");
    if dotted.is_empty() { "(the whole value)".to_owned() } else { short(&dotted) }
}

/// A schema that describes something: not `true`, not `{}`, not a list of schemas.
fn says(schema: &Value) -> bool {
    schema.as_object().is_some_and(|map| !map.is_empty())
}

/// Only what stands in the document; what cannot be found describes nothing.
fn resolved<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    root.pointer(target.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, instance: &Value, expected: Option<&str>) {
        assert_eq!(undescribed(schema, instance).as_deref(), expected, "{schema} {instance}");
    }

    #[test]
    fn a_name_is_described_where_a_schema_speaks_of_it() {
        let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        check(&open, &json!({"a": "x"}), None);
        check(&open, &json!({"a": "x", "b/c": 1}), Some("/b~1c"));
        let free =
            json!({"properties": {"o": {"type": "object"}, "l": {"type": "array"}, "any": {}}});
        check(&free, &json!({"o": {}, "l": [], "any": 7}), None);
        check(&free, &json!({"o": {"k": 1}}), Some("/o/k"));
        check(&free, &json!({"l": [1]}), Some("/l/0"));
        check(&json!({"additionalProperties": true}), &json!({"k": 1}), Some("/k"));
        check(&json!({"additionalProperties": {"type": "string"}}), &json!({"k": "1"}), None);
        check(&json!({"patternProperties": {"^x-": {}}}), &json!({"x-a": 1}), None);
        check(&json!({"patternProperties": {"^x-": {}}}), &json!({"y": 1}), Some("/y"));
    }

    #[test]
    fn references_choices_and_lists_are_followed() {
        let schema = json!({
            "properties": {"tree": {"$ref": "#/$defs/node"}, "pair": {"prefixItems": [{"type": "string"}]}},
            "allOf": [{"properties": {"b": {}}}],
            "oneOf": [{"properties": {"c": {}}}, {"properties": {"d": {}}}],
            "$defs": {"node": {"properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            }}},
        });
        let tree = json!({"name": "r", "children": [{"name": "x", "children": [{"name": "y"}]}]});
        check(&schema, &json!({"tree": tree, "b": 1, "c": 1, "d": 1}), None);
        let tree = json!({"children": [{"children": [{"nome": "y"}]}]});
        check(&schema, &json!({"tree": tree}), Some("/tree/children/0/children/0/nome"));
        check(&schema, &json!({"pair": ["a", "b"]}), Some("/pair/1"));
        check(&json!({"$ref": "#"}), &json!({"a": 1}), Some("/a"));
    }
}

//! A view of a JSON schema at one location of an instance: its properties and items, and the subschemas that apply.
//!
//! JSON Schema accepts everything that it does not mention. The host accepts no undocumented parameters and no
//! free-form answers, so it also checks that each location is described. A property is described by `properties`,
//! `patternProperties` or a schema for additional properties; `additionalProperties: true` and `{}` describe nothing.
//! The instance is known to be valid, so all branches of a choice count.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use regex::Regex;
use serde_json::{Map, Value};

use crate::json::{escape_pointer_token, shorten_name};

/// Maximum schemas that are collected for one location; beyond it, properties count as undescribed.
const MAX_SCHEMAS: usize = 256;

/// All schemas that apply to one location of an instance.
pub(crate) struct SchemaView<'a> {
    document: Rc<SchemaDocument<'a>>,
    here: Vec<&'a Map<String, Value>>,
    /// The schemas that apply unconditionally: no branch of a choice, no condition.
    always: Vec<&'a Map<String, Value>>,
}

/// The root schema, with a cache of its compiled patterns. An instance may have a million properties.
struct SchemaDocument<'a> {
    root: &'a Value,
    patterns: RefCell<HashMap<&'a str, Option<Regex>>>,
}

impl<'a> SchemaView<'a> {
    /// Creates the view of the whole instance.
    pub(crate) fn from_root(root: &'a Value) -> Self {
        let document = SchemaDocument { root, patterns: RefCell::default() };
        Self::from_schemas(Rc::new(document), [root])
    }

    fn from_schemas(
        document: Rc<SchemaDocument<'a>>,
        schemas: impl IntoIterator<Item = &'a Value>,
    ) -> Self {
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
                        queue.extend(
                            resolve_reference(document.root, target).map(|schema| (schema, holds)),
                        );
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

    /// Returns the declared properties with their views, in the order of the document.
    pub(crate) fn properties(&self) -> Vec<(&'a str, SchemaView<'a>)> {
        let mut names: Vec<&'a str> = Vec::new();
        for map in &self.here {
            let properties = map.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(Map::keys).map(String::as_str));
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        names.into_iter().filter_map(|name| Some((name, self.property(name)?))).collect()
    }

    /// Returns the view of a property, or `None` if it is undescribed.
    pub(crate) fn property(&self, name: &str) -> Option<SchemaView<'a>> {
        let mut found: Vec<&'a Value> = Vec::new();
        for map in &self.here {
            let named = map.get("properties").and_then(|properties| properties.get(name));
            found.extend(named);
            let patterns = map.get("patternProperties").and_then(Value::as_object);
            let patterns = patterns.into_iter().flatten();
            let patterns: Vec<_> = patterns
                .filter(|(pattern, _)| self.document.matches_pattern(pattern, name))
                .map(|(_, s)| s)
                .collect();
            if named.is_none() && patterns.is_empty() {
                let rest = ["additionalProperties", "unevaluatedProperties"];
                found.extend(
                    rest.iter()
                        .filter_map(|keyword| map.get(*keyword))
                        .filter(|s| is_descriptive(s)),
                );
            }
            found.extend(patterns);
        }
        (!found.is_empty()).then(|| Self::from_schemas(Rc::clone(&self.document), found))
    }

    /// Returns the view of an array element, or `None` if it is undescribed.
    pub(crate) fn item(&self, index: usize) -> Option<SchemaView<'a>> {
        let mut found: Vec<&'a Value> = Vec::new();
        for map in &self.here {
            let keywords = ["prefixItems", "items"];
            let mut listed = keywords.iter().filter_map(|keyword| map.get(*keyword)?.get(index));
            match listed.find(|schema| is_descriptive(schema)) {
                Some(schema) => found.push(schema),
                None => found.extend(
                    ["items", "additionalItems", "unevaluatedItems"]
                        .iter()
                        .filter_map(|keyword| map.get(*keyword))
                        .filter(|schema| is_descriptive(schema)),
                ),
            }
        }
        (!found.is_empty()).then(|| Self::from_schemas(Rc::clone(&self.document), found))
    }

    /// Returns the first value of a keyword among the schemas of this location.
    pub(crate) fn keyword(&self, keyword: &str) -> Option<&'a Value> {
        self.here.iter().find_map(|map| map.get(keyword))
    }

    /// Returns true if a schema of this location names the type, alone or in a list.
    pub(crate) fn has_type(&self, kind: &str) -> bool {
        self.here.iter().filter_map(|map| map.get("type")).any(|value| match value {
            Value::String(name) => name == kind,
            Value::Array(names) => names.iter().any(|name| name == kind),
            _ => false,
        })
    }

    /// Returns true if the property is required unconditionally.
    pub(crate) fn requires_property(&self, name: &str) -> bool {
        self.always
            .iter()
            .filter_map(|map| map.get("required")?.as_array())
            .any(|names| names.iter().any(|required| required == name))
    }
}

impl<'a> SchemaDocument<'a> {
    /// Returns true if the name matches. An unsupported pattern matches nothing, so its properties are undescribed.
    fn matches_pattern(&self, pattern: &'a str, name: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let compiled = patterns
            .entry(pattern)
            .or_insert_with(|| regex::RegexBuilder::new(pattern).size_limit(1 << 20).build().ok());
        compiled.as_ref().is_some_and(|pattern| pattern.is_match(name))
    }
}

/// Returns the pointer to the first property or element that the schema does not describe.
pub(crate) fn find_undescribed(schema: &Value, instance: &Value) -> Option<String> {
    find_undescribed_below(&SchemaView::from_root(schema), instance, &mut String::new())
}

fn find_undescribed_below(
    view: &SchemaView<'_>,
    instance: &Value,
    path: &mut String,
) -> Option<String> {
    let length = path.len();
    let mut below = |step: &str, inner: Option<SchemaView<'_>>, value: &Value| {
        path.push('/');
        path.push_str(&escape_pointer_token(step));
        let found = match inner {
            Some(inner) => find_undescribed_below(&inner, value, path),
            None => Some(path.clone()),
        };
        path.truncate(length);
        found
    };
    match instance {
        Value::Object(map) => {
            map.iter().find_map(|(name, value)| below(name, view.property(name), value))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, value)| below(&index.to_string(), view.item(index), value)),
        _ => None,
    }
}

/// Formats a pointer for messages: `options.limit`, bounded and on one line.
pub(crate) fn format_field_path(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
    let dotted = steps.collect::<Vec<_>>().join(".");
    if dotted.is_empty() { "(the whole value)".to_owned() } else { shorten_name(&dotted) }
}

/// Returns true if the schema describes a value: it is not `true`, `{}` or a list of schemas.
fn is_descriptive(schema: &Value) -> bool {
    schema.as_object().is_some_and(|map| !map.is_empty())
}

/// Resolves a local reference; returns `None` for any other.
fn resolve_reference<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    root.pointer(target.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, instance: &Value, expected: Option<&str>) {
        assert_eq!(find_undescribed(schema, instance).as_deref(), expected, "{schema} {instance}");
    }

    #[test]
    fn property_is_described_if_a_schema_declares_it() {
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
    fn follows_references_choices_and_lists() {
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

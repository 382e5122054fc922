//! Rules against contracts: a field that none of a rule's tools declares cannot exist, so the rule is a mistake.
//!
//! A schema that leaves its fields open and names none says nothing about them, and nothing is held against it.

use contract::Contract;
use serde_json::Value;

use crate::ast::{Path, Root, Step};
use crate::{Compiled, RuleError};

/// Schemas may refer to themselves.
const MAX_DEPTH: usize = 32;
/// Tools that an error names.
const MAX_NAMED: usize = 3;

pub(crate) fn check(rule: &Compiled, tools: &[(&str, &Contract)]) -> Vec<RuleError> {
    let tools: Vec<_> = tools.iter().filter(|(name, _)| rule.is_for(name)).collect();
    if tools.is_empty() {
        if rule.tools.is_none() {
            return Vec::new();
        }
        let globs: Vec<_> = rule.globs.iter().map(|glob| format!("`{glob}`")).collect();
        return vec![RuleError::NoTool { rule: rule.name.to_string(), globs: globs.join(", ") }];
    }
    let mut wrong: Vec<RuleError> = Vec::new();
    let mut seen = Vec::new();
    for path in &rule.paths {
        let schema = |contract: &Contract| match path.root {
            Root::Arguments => Some(may_exist(contract.input.as_value(), &path.steps)),
            // Without a schema of its output a tool may answer anything.
            Root::Result => Some(
                contract
                    .output
                    .as_ref()
                    .is_none_or(|schema| may_exist(schema.as_value(), &path.steps)),
            ),
            _ => None,
        };
        let exists = tools.iter().any(|(_, contract)| schema(contract).unwrap_or(true));
        if !exists && !seen.contains(&path.to_string()) {
            seen.push(path.to_string());
            wrong.push(no_such_field(rule, path, &tools));
        }
    }
    wrong
}

fn no_such_field(rule: &Compiled, path: &Path, tools: &[&(&str, &Contract)]) -> RuleError {
    let mut named: Vec<_> =
        tools.iter().take(MAX_NAMED).map(|(name, _)| contract::text::one_line(name)).collect();
    if tools.len() > MAX_NAMED {
        named.push(format!("and {} more", tools.len() - MAX_NAMED));
    }
    RuleError::NoSuchField {
        rule: rule.name.to_string(),
        path: path.to_string(),
        tools: named.join(", "),
    }
}

fn may_exist(schema: &Value, steps: &[Step]) -> bool {
    walk(schema, schema, steps, 0)
}

fn walk(document: &Value, schema: &Value, steps: &[Step], depth: usize) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    let mut parts = Parts::default();
    parts.collect(document, schema, depth);
    if parts.open {
        return true;
    }
    let next = |schemas: Vec<&Value>| {
        schemas.into_iter().any(|schema| walk(document, schema, rest, depth + 1))
    };
    match step {
        Step::Field(name) => {
            let declared: Vec<_> =
                parts.properties.iter().filter_map(|fields| fields.get(name.as_str())).collect();
            // Open, but silent about its fields.
            let silent = parts.properties.is_empty() && parts.is_object && !parts.closed;
            silent || next(declared)
        }
        // Keys of an object are not in the schema, and elements are only if it says so.
        Step::Index(_) | Step::Each => {
            parts.is_object || parts.items.is_empty() || next(parts.items)
        }
    }
}

/// What a schema says about fields and elements, with everything that it is composed of.
#[derive(Default)]
struct Parts<'s> {
    properties: Vec<&'s serde_json::Map<String, Value>>,
    items: Vec<&'s Value>,
    is_object: bool,
    /// No fields but the declared ones.
    closed: bool,
    /// Nothing can be said.
    open: bool,
}

impl<'s> Parts<'s> {
    fn collect(&mut self, document: &'s Value, schema: &'s Value, depth: usize) {
        let Value::Object(keywords) = schema else {
            // `true`: anything goes.
            self.open |= *schema == Value::Bool(true);
            return;
        };
        if depth > MAX_DEPTH {
            self.open = true;
            return;
        }
        let types = match keywords.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let composed =
            ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"]
                .iter()
                .any(|keyword| keywords.contains_key(*keyword));
        let described =
            ["properties", "items", "prefixItems", "additionalProperties", "enum", "const"]
                .iter()
                .any(|keyword| keywords.contains_key(*keyword));
        self.is_object |= types.contains(&"object")
            || (types.is_empty() && (described && !keywords.contains_key("items")));
        self.open |= types.is_empty() && !composed && !described;
        self.open |=
            keywords.contains_key("patternProperties") || keywords.contains_key("$dynamicRef");
        self.closed |= keywords.get("additionalProperties") == Some(&Value::Bool(false));
        self.properties.extend(
            keywords
                .get("properties")
                .and_then(Value::as_object)
                .filter(|fields| !fields.is_empty()),
        );
        match keywords.get("items") {
            Some(Value::Array(items)) => self.items.extend(items),
            Some(items) => self.items.push(items),
            None => {}
        }
        for keyword in ["prefixItems", "allOf", "anyOf", "oneOf"] {
            let parts = keywords.get(keyword).and_then(Value::as_array).into_iter().flatten();
            match keyword {
                "prefixItems" => self.items.extend(parts),
                _ => parts.for_each(|part| self.collect(document, part, depth + 1)),
            }
        }
        for keyword in ["then", "else"] {
            if let Some(part) = keywords.get(keyword) {
                self.collect(document, part, depth + 1);
            }
        }
        let dependent = keywords.get("dependentSchemas").and_then(Value::as_object);
        dependent.into_iter().flat_map(|parts| parts.values()).for_each(|part| {
            self.collect(document, part, depth + 1);
        });
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            match reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer)) {
                Some(part) => self.collect(document, part, depth + 1),
                // An anchor or an id: legal, rare, and not followed here.
                None => self.open = true,
            }
        }
    }
}

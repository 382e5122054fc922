//! Checks rules against contracts: a rule must not read a field that none of its tools declares.
//!
//! A schema that allows additional fields and declares none accepts every path.

use contract::Contract;
use serde_json::Value;

use crate::ast::{FieldPath, PathStep, RuleVariable};
use crate::{CompiledRule, RuleError};

/// Maximum schema depth that is followed; schemas can be recursive.
const MAX_DEPTH: usize = 32;
/// Maximum tools that an error names.
const MAX_NAMED: usize = 3;

/// Returns an error for each path that no matching tool declares, and a warning if no tool matches.
pub(crate) fn check_against_contracts(
    rule: &CompiledRule,
    tools: &[(&str, &Contract)],
) -> Vec<RuleError> {
    let tools: Vec<_> = tools.iter().filter(|(name, _)| rule.applies_to(name)).collect();
    if tools.is_empty() {
        if rule.tools.is_none() {
            return Vec::new();
        }
        let globs: Vec<_> = rule.globs.iter().map(|glob| format!("`{glob}`")).collect();
        return vec![RuleError::NoTool { rule: rule.name.to_string(), globs: globs.join(", ") }];
    }
    let mut errors: Vec<RuleError> = Vec::new();
    let mut seen = Vec::new();
    for path in &rule.paths {
        let schema = |contract: &Contract| match path.root {
            RuleVariable::Arguments => Some(path_may_exist(contract.input.as_value(), &path.steps)),
            // A tool without an output schema can return anything.
            RuleVariable::Result => Some(
                contract
                    .output
                    .as_ref()
                    .is_none_or(|schema| path_may_exist(schema.as_value(), &path.steps)),
            ),
            _ => None,
        };
        let exists = tools.iter().any(|(_, contract)| schema(contract).unwrap_or(true));
        if !exists && !seen.contains(&path.to_string()) {
            seen.push(path.to_string());
            errors.push(no_such_field_error(rule, path, &tools));
        }
    }
    errors
}

fn no_such_field_error(
    rule: &CompiledRule,
    path: &FieldPath,
    tools: &[&(&str, &Contract)],
) -> RuleError {
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

fn path_may_exist(schema: &Value, steps: &[PathStep]) -> bool {
    path_may_exist_below(schema, schema, steps, 0)
}

/// Returns true unless the schema rules the path out.
fn path_may_exist_below(
    document: &Value,
    schema: &Value,
    steps: &[PathStep],
    depth: usize,
) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    let mut parts = DeclaredFields::default();
    parts.collect_from(document, schema, depth);
    if parts.open {
        return true;
    }
    let next = |schemas: Vec<&Value>| {
        schemas.into_iter().any(|schema| path_may_exist_below(document, schema, rest, depth + 1))
    };
    match step {
        PathStep::Field(name) => {
            let declared: Vec<_> =
                parts.properties.iter().filter_map(|fields| fields.get(name.as_str())).collect();
            // The object accepts any field and declares none.
            let undeclared = parts.properties.is_empty() && parts.is_object && !parts.closed;
            undeclared || next(declared)
        }
        // Computed keys of an object are unknown; elements are checked only if the schema declares them.
        PathStep::Index(_) | PathStep::Each => {
            parts.is_object || parts.items.is_empty() || next(parts.items)
        }
    }
}

/// The fields and elements that a schema declares, including those of its subschemas.
#[derive(Default)]
struct DeclaredFields<'s> {
    properties: Vec<&'s serde_json::Map<String, Value>>,
    items: Vec<&'s Value>,
    is_object: bool,
    /// Additional fields are not allowed.
    closed: bool,
    /// The schema accepts any path, or could not be analyzed.
    open: bool,
}

impl<'s> DeclaredFields<'s> {
    fn collect_from(&mut self, document: &'s Value, schema: &'s Value, depth: usize) {
        let Value::Object(keywords) = schema else {
            // The schema `true` accepts anything.
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
                _ => parts.for_each(|part| self.collect_from(document, part, depth + 1)),
            }
        }
        for keyword in ["then", "else"] {
            if let Some(part) = keywords.get(keyword) {
                self.collect_from(document, part, depth + 1);
            }
        }
        let dependent = keywords.get("dependentSchemas").and_then(Value::as_object);
        dependent.into_iter().flat_map(|parts| parts.values()).for_each(|part| {
            self.collect_from(document, part, depth + 1);
        });
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            match reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer)) {
                Some(part) => self.collect_from(document, part, depth + 1),
                // Anchors and ids are legal but rare, and are not followed.
                None => self.open = true,
            }
        }
    }
}

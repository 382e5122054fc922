//! Checks of properties: declared if required, described, with a default, and closed to undeclared ones.

use std::collections::{HashMap, HashSet};

use contract::keywords::{SubschemaRole, direct_subschemas, resolve_reference};
use serde_json::{Map, Value};

use super::finding::{FindingCollector, quote_name};
use super::fold::fold_text;
use super::rules::RuleId;
use super::schema_tree::{SchemaTree, SubschemaNode};
use super::subject::{LintSubject, SubjectSchema};

/// Phrases by which a description says what happens if the property is omitted.
const OMISSION_PHRASES: &[&str] = &[
    "no default",
    "without default",
    "without a default",
    "default:",
    "default is",
    "default =",
    "(default",
    "defaults to",
    "defaulting to",
    "by default",
    "if omitted",
    "when omitted",
    "if not ",
    "when not ",
    "if absent",
    "when absent",
    "if missing",
    "when missing",
    "if unset",
    "when unset",
    "if empty",
    "when empty",
    "omit ",
    "omitted",
    "leave out",
    "left out",
    "leave empty",
    "left empty",
    "leave blank",
    "unless ",
    "if provided",
    "when provided",
    "if given",
    "when given",
    "if set",
    "when set",
    "if specified",
    "when specified",
    "otherwise",
];
/// Maximum schemas followed to collect the properties of one instance.
const MAX_COLLECTED: usize = 10_000;

pub(super) fn check_properties(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    if let Some(side) = &subject.input {
        check_described(side, RuleId::UndescribedProperty, "parameter", report);
        check_defaults(side, report);
        check_closed(side, report);
    }
    if let Some(side) = &subject.output {
        check_described(side, RuleId::UndescribedOutput, "field", report);
    }
    for side in subject.schemas() {
        check_required(side, report);
    }
}

fn check_described(
    side: &SubjectSchema<'_>,
    rule: RuleId,
    noun: &str,
    report: &mut FindingCollector,
) {
    for node in &side.tree.nodes {
        let Some(name) = node.property_name() else { continue };
        if !is_repeated(&side.tree, node) && find_description(side.value, node.schema).is_none() {
            report.add_finding(
                rule,
                side.tree.pointer_to(node),
                format!("the {noun} {} has no description", quote_name(name)),
                "describe its meaning, unit and format",
            );
        }
    }
}

/// Returns true if the property is declared again for a condition or a choice; the first declaration describes it.
fn is_repeated(tree: &SchemaTree<'_>, node: &SubschemaNode<'_>) -> bool {
    let (Some(name), Some(owner)) = (node.property_name(), tree.parent(node)) else { return false };
    let first = tree.instance_root(owner);
    !std::ptr::eq(first, owner)
        && first.schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
}

/// Returns the description of a schema or of its reference's target.
fn find_description<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a str> {
    let own = |schema: &'a Value| {
        schema
            .get("description")
            .and_then(Value::as_str)
            .filter(|text| !fold_text(text).trim().is_empty())
    };
    let referred = |schema: &'a Value| {
        let target = schema.get("$ref").and_then(Value::as_str)?;
        own(resolve_reference(root, target)?)
    };
    own(schema).or_else(|| referred(schema)).or_else(|| {
        // Generators wrap a reference in `allOf` to add a description or a default.
        schema
            .get("allOf")
            .and_then(Value::as_array)?
            .iter()
            .find_map(|part| own(part).or_else(|| referred(part)))
    })
}

fn check_defaults(side: &SubjectSchema<'_>, report: &mut FindingCollector) {
    for node in &side.tree.nodes {
        let (Some(name), Some(owner)) = (node.property_name(), side.tree.parent(node)) else {
            continue;
        };
        let is_required = |schema: &Value| {
            schema
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|required| required.iter().any(|required| required == name))
        };
        if is_required(owner.schema)
            || is_required(side.tree.instance_root(owner).schema)
            || is_repeated(&side.tree, node)
            || node.schema.get("default").is_some()
            || node.schema.get("const").is_some()
            || node.schema == &Value::Bool(false)
        {
            continue;
        }
        let text = find_description(side.value, node.schema).map(fold_text).unwrap_or_default();
        if !OMISSION_PHRASES.iter().any(|words| text.contains(words)) {
            report.add_finding(
                RuleId::OptionalWithoutDefault,
                side.tree.pointer_to(node),
                format!("the optional parameter {} has no default", quote_name(name)),
                "declare `default`, or write \"no default\" and the behavior without it in the description",
            );
        }
    }
}

fn check_closed(side: &SubjectSchema<'_>, report: &mut FindingCollector) {
    for node in &side.tree.nodes {
        let Some(map) = node.as_object() else { continue };
        let is_root = node.step.is_none();
        let is_object = map.contains_key("properties")
            || map.get("type").is_some_and(|kind| {
                kind == "object"
                    || kind.as_array().is_some_and(|kinds| kinds.contains(&"object".into()))
            });
        // Parts of an `allOf` and conditions see only some of the keys: the enclosing schema must be closed instead.
        let is_part = matches!(node.role(), Some(SubschemaRole::AllOf | SubschemaRole::Condition));
        if !is_object || is_part || is_closed(map) || (!is_root && is_map(map)) {
            continue;
        }
        let whole = side.tree.instance_root(node);
        if !std::ptr::eq(whole, node) && whole.as_object().is_some_and(is_closed) {
            continue;
        }
        report.add_finding(
            RuleId::OpenInput,
            side.tree.pointer_to(node),
            if is_root { "undeclared parameters are accepted" } else { "undeclared keys are accepted here" },
            r#"add "additionalProperties": false, so that a misspelled name is rejected instead of ignored"#,
        );
    }
}

fn is_closed(map: &Map<String, Value>) -> bool {
    ["additionalProperties", "unevaluatedProperties"].iter().any(|keyword| {
        match map.get(*keyword) {
            None | Some(Value::Bool(true)) => false,
            Some(Value::Object(schema)) => !schema.is_empty(),
            Some(_) => true,
        }
    })
}

/// Returns true for an object whose keys are data; it is open on purpose.
fn is_map(map: &Map<String, Value>) -> bool {
    !map.contains_key("properties")
        && (map.contains_key("additionalProperties") || map.contains_key("patternProperties"))
}

fn check_required(side: &SubjectSchema<'_>, report: &mut FindingCollector) {
    let mut gathered: HashMap<*const SubschemaNode<'_>, DeclaredProperties<'_>> = HashMap::new();
    for node in &side.tree.nodes {
        let Some(map) = node.as_object() else { continue };
        let Some(required) = map.get("required").and_then(Value::as_array) else { continue };
        let whole = side.tree.instance_root(node);
        let known = gathered
            .entry(whole)
            .or_insert_with(|| DeclaredProperties::from_schema(side.value, whole.schema));
        for name in required.iter().filter_map(Value::as_str).filter(|name| !known.declares(name)) {
            report.add_finding(
                RuleId::UnknownRequired,
                format!("{}/required", side.tree.pointer_to(node)),
                format!("{} is required but not declared in `properties`", quote_name(name)),
                "declare the property, or remove it from `required`",
            );
        }
    }
}

/// The properties that the schemas of one instance declare.
#[derive(Default)]
struct DeclaredProperties<'a> {
    names: HashSet<&'a str>,
    /// Any name may be declared: some keys are described by pattern or as a map, or the limit was reached.
    has_rest: bool,
}

impl<'a> DeclaredProperties<'a> {
    fn declares(&self, name: &str) -> bool {
        self.has_rest || self.names.contains(name)
    }

    fn from_schema(root: &'a Value, whole: &'a Value) -> Self {
        let mut known = Self::default();
        let mut seen: HashSet<*const Map<String, Value>> = HashSet::new();
        let mut queue: Vec<_> = whole.as_object().into_iter().collect();
        while let Some(schema) = queue.pop() {
            if seen.len() >= MAX_COLLECTED {
                known.has_rest = true;
                break;
            }
            if !seen.insert(schema) {
                continue;
            }
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                known.names.extend(properties.keys().map(String::as_str));
            }
            known.has_rest |= schema.contains_key("patternProperties")
                || schema.get("additionalProperties").is_some_and(Value::is_object);
            let target = schema.get("$ref").and_then(Value::as_str);
            queue.extend(target.and_then(|target| resolve_reference(root, target)?.as_object()));
            queue.extend(
                direct_subschemas(schema)
                    .into_iter()
                    .filter(|step| step.role.is_same_instance())
                    .filter_map(|step| step.schema.as_object()),
            );
        }
        known
    }
}

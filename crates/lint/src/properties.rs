//! Properties: declared where they are required, described, with a default, and no others let in.

use std::collections::{HashMap, HashSet};

use contract::keywords::{Place, resolve, subschemas};
use serde_json::{Map, Value};

use super::finding::{Report, quoted};
use super::fold::fold;
use super::rules::Id;
use super::subject::{Side, Subject};
use super::tree::{Node, Tree};

/// Words with which a description says what happens when the property is left out.
const WITHOUT_IT: &[&str] = &[
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
/// Schemas followed while one instance's properties are gathered.
const MAX_GATHERED: usize = 10_000;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    if let Some(side) = &subject.input {
        check_described(side, Id::UndescribedProperty, "parameter", report);
        check_defaults(side, report);
        check_closed(side, report);
    }
    if let Some(side) = &subject.output {
        check_described(side, Id::UndescribedOutput, "field", report);
    }
    for side in subject.sides() {
        check_required(side, report);
    }
}

fn check_described(side: &Side<'_>, rule: Id, what: &str, report: &mut Report) {
    for node in &side.tree.nodes {
        let Some(name) = node.property() else { continue };
        if !is_repeated(&side.tree, node) && description(side.value, node.schema).is_none() {
            report.add(
                rule,
                side.tree.path(node),
                format!("the {what} {} has no description", quoted(name)),
                "say what it means, in which unit and form",
            );
        }
    }
}

/// Declared a second time for a condition or a choice; the first place describes it.
fn is_repeated(tree: &Tree<'_>, node: &Node<'_>) -> bool {
    let (Some(name), Some(owner)) = (node.property(), tree.parent(node)) else { return false };
    let first = tree.instance_root(owner);
    !std::ptr::eq(first, owner)
        && first.schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
}

/// The description of a schema, or of what it refers to.
fn description<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a str> {
    let own = |schema: &'a Value| {
        schema
            .get("description")
            .and_then(Value::as_str)
            .filter(|text| !fold(text).trim().is_empty())
    };
    let referred = |schema: &'a Value| {
        let target = schema.get("$ref").and_then(Value::as_str)?;
        own(resolve(root, target)?)
    };
    own(schema).or_else(|| referred(schema)).or_else(|| {
        // Generators wrap a reference to put a description or a default beside it.
        schema
            .get("allOf")
            .and_then(Value::as_array)?
            .iter()
            .find_map(|part| own(part).or_else(|| referred(part)))
    })
}

fn check_defaults(side: &Side<'_>, report: &mut Report) {
    for node in &side.tree.nodes {
        let (Some(name), Some(owner)) = (node.property(), side.tree.parent(node)) else { continue };
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
        let text = description(side.value, node.schema).map(fold).unwrap_or_default();
        if !WITHOUT_IT.iter().any(|words| text.contains(words)) {
            report.add(
                Id::OptionalWithoutDefault,
                side.tree.path(node),
                format!("the optional parameter {} has no default", quoted(name)),
                "declare `default`, or say \"no default\" and what happens without it in the description",
            );
        }
    }
}

fn check_closed(side: &Side<'_>, report: &mut Report) {
    for node in &side.tree.nodes {
        let Some(map) = node.map() else { continue };
        let is_root = node.step.is_none();
        let is_object = map.contains_key("properties")
            || map.get("type").is_some_and(|kind| {
                kind == "object"
                    || kind.as_array().is_some_and(|kinds| kinds.contains(&"object".into()))
            });
        // Parts of an `allOf` and conditions see only some of the keys: closing belongs to the whole.
        let is_part = matches!(node.place(), Some(Place::Also | Place::Condition));
        if !is_object || is_part || is_closed(map) || (!is_root && is_map(map)) {
            continue;
        }
        let whole = side.tree.instance_root(node);
        if !std::ptr::eq(whole, node) && whole.map().is_some_and(is_closed) {
            continue;
        }
        report.add(
            Id::OpenInput,
            side.tree.path(node),
            if is_root { "undeclared parameters are accepted" } else { "undeclared keys are accepted here" },
            r#"add "additionalProperties": false, so that a misspelt name is refused instead of ignored"#,
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

/// An object whose keys are data: declared open on purpose.
fn is_map(map: &Map<String, Value>) -> bool {
    !map.contains_key("properties")
        && (map.contains_key("additionalProperties") || map.contains_key("patternProperties"))
}

fn check_required(side: &Side<'_>, report: &mut Report) {
    let mut gathered: HashMap<*const Node<'_>, Known<'_>> = HashMap::new();
    for node in &side.tree.nodes {
        let Some(map) = node.map() else { continue };
        let Some(required) = map.get("required").and_then(Value::as_array) else { continue };
        let whole = side.tree.instance_root(node);
        let known = gathered.entry(whole).or_insert_with(|| Known::of(side.value, whole.schema));
        for name in required.iter().filter_map(Value::as_str).filter(|name| !known.has(name)) {
            report.add(
                Id::UnknownRequired,
                format!("{}/required", side.tree.path(node)),
                format!("{} is required but not declared in `properties`", quoted(name)),
                "declare the property, or take it off the list",
            );
        }
    }
}

/// The properties that the schemas of one instance declare.
#[derive(Default)]
struct Known<'a> {
    names: HashSet<&'a str>,
    /// Some keys are described by pattern or as a map, or there is too much to look through.
    has_rest: bool,
}

impl<'a> Known<'a> {
    fn has(&self, name: &str) -> bool {
        self.has_rest || self.names.contains(name)
    }

    fn of(root: &'a Value, whole: &'a Value) -> Self {
        let mut known = Self::default();
        let mut seen: HashSet<*const Map<String, Value>> = HashSet::new();
        let mut queue: Vec<_> = whole.as_object().into_iter().collect();
        while let Some(schema) = queue.pop() {
            if seen.len() >= MAX_GATHERED {
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
            queue.extend(target.and_then(|target| resolve(root, target)?.as_object()));
            queue.extend(
                subschemas(schema)
                    .into_iter()
                    .filter(|step| step.place.same_instance())
                    .filter_map(|step| step.schema.as_object()),
            );
        }
        known
    }
}

//! A JSON Schema that is compiled once and enforced many times.
//!
//! Drafts 2020-12 (default) and draft-07 (where `$schema` says so). `$ref` never leaves the document: nothing is
//! fetched. Size and depth are bounded before any compilation, because schemas come from strangers too.

pub(crate) mod cost;
pub(crate) mod keywords;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

/// Larger than any schema of the reference servers by two orders of magnitude; small enough to compile at once.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;
/// `serde_json` itself stops at 128 levels; compilation recurses several frames a level.
pub const MAX_SCHEMA_DEPTH: usize = 64;
/// Subschemas that may meet one instance (see `cost`). Hand-written schemas stay below a hundred.
pub const MAX_SCHEMA_COST: u64 = 10_000;
/// Choices of a recursive union that are followed to say what is wrong with a value.
const MAX_CHOICES: usize = 1_000;
/// Steps that one `pattern` may backtrack before it counts as a violation instead of running away.
const BACKTRACK_LIMIT: usize = 100_000;
/// How deep defaults are filled in; a recursive schema would never end by itself.
const MAX_DEFAULT_DEPTH: usize = 16;

/// The drafts that a contract may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draft {
    Draft7,
    Draft202012,
}

/// Why a value is not a schema that can be enforced.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("the schema has {size} bytes, over the limit of {MAX_SCHEMA_BYTES}")]
    TooLarge { size: usize },
    #[error("the schema nests deeper than {MAX_SCHEMA_DEPTH} levels")]
    TooDeep,
    #[error(
        "checking one value takes more than {MAX_SCHEMA_COST} steps, because parts repeat each other or themselves"
    )]
    TooCostly,
    #[error("`$schema` is `{0}`, but only draft 2020-12 and draft-07 are supported")]
    UnsupportedDraft(String),
    #[error("`$ref` to `{0}` leaves the document, and nothing is ever fetched")]
    RemoteReference(String),
    #[error("{reason} (at `{path}`)")]
    Invalid { path: String, reason: String },
}

/// One broken rule: where, which keyword, and a sentence that never repeats the value itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Violation {
    /// JSON pointer into the instance; empty for the whole.
    pub path: String,
    /// The schema keyword that was broken: `type`, `required`, `pattern` …
    pub keyword: String,
    pub message: String,
}

impl Violation {
    /// The property the violation is about, dotted: `options.limit`, or the whole value.
    pub fn field(&self) -> String {
        field_name(&self.path)
    }
}

/// A schema with its compiled validator.
#[derive(Debug)]
pub struct Schema {
    value: Value,
    validator: Validator,
    has_defaults: bool,
    cost: cost::Cost,
}

impl Schema {
    pub fn compile(value: Value) -> Result<Self, SchemaError> {
        let size = value.to_string().len();
        if size > MAX_SCHEMA_BYTES {
            return Err(SchemaError::TooLarge { size });
        }
        if depth(&value) > MAX_SCHEMA_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        let draft = match draft_of(&value)? {
            Draft::Draft7 => jsonschema::Draft::Draft7,
            Draft::Draft202012 => jsonschema::Draft::Draft202012,
        };
        if let Some(reference) = remote_reference(&value) {
            return Err(SchemaError::RemoteReference(reference.to_owned()));
        }
        let cost = cost::cost(&value);
        if cost.steps > MAX_SCHEMA_COST {
            return Err(SchemaError::TooCostly);
        }
        if let Err(error) = jsonschema::meta::validate(&with_draft(&value, draft)) {
            return Err(invalid(&error));
        }
        let validator = jsonschema::options()
            .with_draft(draft)
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
            .build(&value)
            .map_err(|error| invalid(&error))?;
        let has_defaults = mentions_default(&value);
        Ok(Self { value, validator, has_defaults, cost })
    }

    pub fn as_value(&self) -> &Value {
        &self.value
    }

    pub fn draft(&self) -> Draft {
        draft_of(&self.value).unwrap_or(Draft::Draft202012)
    }

    /// Evaluations that one part of an instance may need, at most [`MAX_SCHEMA_COST`].
    pub(crate) fn cost(&self) -> u64 {
        self.cost.steps
    }

    pub fn is_valid(&self, instance: &Value) -> bool {
        self.validator.is_valid(instance)
    }

    /// The first broken rule, if any.
    pub fn validate(&self, instance: &Value) -> Result<(), Violation> {
        // Two passes, because nearly every call is valid and `is_valid` allocates nothing.
        if self.validator.is_valid(instance) {
            return Ok(());
        }
        // A union's error holds those of all its choices, and theirs: too much to collect for a deep value.
        let levels = u32::try_from(depth(instance)).unwrap_or(u32::MAX);
        if self.cost.choices.saturating_pow(levels) > MAX_CHOICES {
            let message = format!("`{}` does not fit the schema", field_name(""));
            return Err(Violation { path: String::new(), keyword: "anyOf".into(), message });
        }
        // Not `iter_errors`, which collects every error before it gives the first.
        self.validator.validate(instance).map_err(|error| violation(&error))
    }

    /// Puts declared defaults where an object lacks them, before validation.
    pub fn fill_defaults(&self, instance: &mut Value) {
        if self.has_defaults {
            fill(&self.value, &self.value, instance, 0);
        }
    }
}

fn draft_of(schema: &Value) -> Result<Draft, SchemaError> {
    match schema.get("$schema") {
        None => Ok(Draft::Draft202012),
        Some(Value::String(uri)) => match uri.trim_end_matches('#') {
            "https://json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
            "http://json-schema.org/draft-07/schema"
            | "https://json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
            _ => Err(SchemaError::UnsupportedDraft(uri.clone())),
        },
        Some(other) => Err(SchemaError::UnsupportedDraft(other.to_string())),
    }
}

/// The meta schema is chosen by `$schema`; a document without one is judged by the draft it is compiled with.
fn with_draft(schema: &Value, draft: jsonschema::Draft) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        let uri = match draft {
            jsonschema::Draft::Draft7 => "http://json-schema.org/draft-07/schema#",
            _ => "https://json-schema.org/draft/2020-12/schema",
        };
        map.insert("$schema".into(), uri.into());
    }
    schema
}

/// The first `$ref` or `$dynamicRef` that does not start with `#`, unless an `$id` in the document answers to it.
fn remote_reference(schema: &Value) -> Option<&str> {
    fn ids<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(id)) = map.get("$id") {
                    found.push(id.trim_end_matches('#'));
                }
                map.values().for_each(|value| ids(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| ids(value, found)),
            _ => {}
        }
    }
    fn find<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
        match value {
            Value::Object(map) => map
                .iter()
                .find_map(|(key, value)| match value {
                    Value::String(target) if matches!(key.as_str(), "$ref" | "$dynamicRef") => {
                        let document = target.split('#').next().unwrap_or_default();
                        (!document.is_empty() && !known.contains(&document))
                            .then_some(target.as_str())
                    }
                    _ => None,
                })
                .or_else(|| map.values().find_map(|value| find(value, known))),
            Value::Array(items) => items.iter().find_map(|value| find(value, known)),
            _ => None,
        }
    }
    let mut known = Vec::new();
    ids(schema, &mut known);
    find(schema, &known)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn mentions_default(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.contains_key("default") || map.values().any(mentions_default),
        Value::Array(items) => items.iter().any(mentions_default),
        _ => false,
    }
}

fn fill(root: &Value, schema: &Value, instance: &mut Value, level: usize) {
    let Some(schema) = schema.as_object().filter(|_| level < MAX_DEFAULT_DEPTH) else { return };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str)
        && let Some(target) = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
    {
        fill(root, target, instance, level + 1);
    }
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        fill(root, part, instance, level + 1);
    }
    match instance {
        Value::Object(map) => fill_object(root, schema, map, level),
        Value::Array(items) => {
            if let Some(of) = schema.get("items") {
                items.iter_mut().for_each(|item| fill(root, of, item, level + 1));
            }
        }
        _ => {}
    }
}

fn fill_object(
    root: &Value,
    schema: &Map<String, Value>,
    map: &mut Map<String, Value>,
    level: usize,
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        if let Some(present) = map.get_mut(name) {
            fill(root, property, present, level + 1);
        } else if let Some(default) = property.get("default") {
            map.insert(name.clone(), default.clone());
        }
    }
}

fn invalid(error: &ValidationError<'_>) -> SchemaError {
    SchemaError::Invalid {
        path: error.instance_path().to_string(),
        reason: match error.kind() {
            Kind::Referencing(cause) => cause.to_string(),
            _ => error.masked_with("the value").to_string(),
        },
    }
}

fn violation(error: &ValidationError<'_>) -> Violation {
    let path = error.instance_path().to_string();
    let subject = format!("`{}`", field_name(&path));
    let message = match error.kind() {
        Kind::Required { property } => {
            format!("{} is required", name_of(&path, property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<_> =
                unexpected.iter().take(5).map(|name| name_of(&path, name)).collect();
            format!("{} is not a parameter of this contract", names.join(", "))
        }
        Kind::Type { .. } => format!("{subject} must be of type {}", expected_types(error)),
        Kind::Enum { options } => format!("{subject} must be one of {options}"),
        Kind::Constant { expected_value } => format!("{subject} must be {expected_value}"),
        Kind::Pattern { pattern } => format!("{subject} must match the pattern {pattern}"),
        Kind::Format { format } => format!("{subject} must be in the format `{format}`"),
        Kind::MaxLength { limit } => format!("{subject} must have at most {limit} characters"),
        Kind::MinLength { limit } => format!("{subject} must have at least {limit} characters"),
        Kind::Maximum { limit } => format!("{subject} must be at most {limit}"),
        Kind::Minimum { limit } => format!("{subject} must be at least {limit}"),
        Kind::MaxItems { limit } => format!("{subject} must have at most {limit} items"),
        Kind::MinItems { limit } => format!("{subject} must have at least {limit} items"),
        _ => format!("{subject}: {}", error.masked_with("the value")),
    };
    // A pattern or constant is repeated as the schema has it, and a schema may hold anything.
    let message = crate::text::one_line(&message);
    Violation { path, keyword: error.kind().keyword().to_owned(), message }
}

fn expected_types(error: &ValidationError<'_>) -> String {
    use jsonschema::error::TypeKind;
    match error.kind() {
        Kind::Type { kind: TypeKind::Single(kind) } => kind.to_string(),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    }
}

fn name_of(parent: &str, name: &str) -> String {
    let name: String = name.chars().take(64).collect();
    if parent.is_empty() {
        format!("`{}`", crate::text::one_line(&name))
    } else {
        format!("`{}.{}`", field_name(parent), crate::text::one_line(&name))
    }
}

fn field_name(path: &str) -> String {
    if path.is_empty() {
        return "(the whole value)".into();
    }
    let dotted = path
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect::<Vec<_>>()
        .join(".");
    crate::text::one_line(&dotted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, instance: Value, expected: &str) {
        let violation = Schema::compile(schema).unwrap().validate(&instance).unwrap_err();
        assert_eq!(format!("{} {}", violation.keyword, violation.message), expected);
    }

    #[test]
    fn violations_name_the_field_and_the_rule() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "mode": {"enum": ["a", "b"]},
                "n": {"type": ["integer", "null"], "minimum": 1},
                "o": {"type": "object", "required": ["p"]},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        check(schema.clone(), json!({}), "required `path` is required");
        check(schema.clone(), json!([]), "type `(the whole value)` must be of type object");
        check(schema.clone(), json!({"path": 1}), "type `path` must be of type string");
        check(
            schema.clone(),
            json!({"path": "A"}),
            "pattern `path` must match the pattern ^[a-z]+$",
        );
        check(
            schema.clone(),
            json!({"path": "abcdef"}),
            "maxLength `path` must have at most 5 characters",
        );
        check(
            schema.clone(),
            json!({"path": "a", "mode": "c"}),
            r#"enum `mode` must be one of ["a","b"]"#,
        );
        check(schema.clone(), json!({"path": "a", "n": 0}), "minimum `n` must be at least 1");
        check(schema.clone(), json!({"path": "a", "o": {}}), "required `o.p` is required");
        check(
            schema,
            json!({"path": "a", "x\u{202e}y": 1}),
            "additionalProperties `x\\u{202e}y` is not a parameter of this contract",
        );
    }

    #[test]
    fn defaults_are_filled_through_references_and_arrays() {
        let schema = Schema::compile(json!({
            "type": "object",
            "properties": {
                "a": {"default": 1},
                "nested": {"$ref": "#/$defs/n"},
                "list": {"type": "array", "items": {"$ref": "#/$defs/n"}},
            },
            "$defs": {"n": {"type": "object", "properties": {"b": {"default": "x"}}}},
        }))
        .unwrap();
        let mut value = json!({"nested": {}, "list": [{"b": "y"}, {}]});
        schema.fill_defaults(&mut value);
        assert_eq!(value, json!({"a": 1, "nested": {"b": "x"}, "list": [{"b": "y"}, {"b": "x"}]}));
    }

    #[test]
    fn what_cannot_be_enforced_does_not_compile() {
        let errors: Vec<String> = [
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
            json!({"$ref": "https://example.com/s.json"}),
            json!({"properties": {"a": {"$ref": "other.json#/x"}}}),
            json!({"$ref": "#/$defs/nowhere"}),
            json!({"type": "int"}),
            json!({"pattern": "("}),
            (0..100).fold(json!({}), |inner, _| json!({"not": inner})),
            json!({"description": "x".repeat(MAX_SCHEMA_BYTES)}),
            json!({"allOf": [{"$ref": "#"}]}),
        ]
        .into_iter()
        .map(|schema| Schema::compile(schema).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn both_drafts_are_enforced_with_their_own_rules() {
        let items = json!([{"type": "string"}]);
        let old = Schema::compile(json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "items": items,
        }))
        .unwrap();
        assert_eq!(old.draft(), Draft::Draft7);
        assert!(!old.is_valid(&json!([1])));
        let new = Schema::compile(json!({"prefixItems": items})).unwrap();
        assert_eq!(new.draft(), Draft::Draft202012);
        assert!(!new.is_valid(&json!([1])));
    }

    #[test]
    fn a_deep_violation_is_told_in_time() {
        let deep = (0..60).fold(json!(1), |inner, _| json!({"a": inner}));
        let a = json!({"properties": {"a": {"$ref": "#"}}});
        let all = json!({"type": "object", "allOf": [a, a]});
        check(
            all,
            deep.clone(),
            &format!("type `{}` must be of type object", vec!["a"; 60].join(".")),
        );
        let any = json!({"type": "object", "anyOf": [a, a]});
        check(any.clone(), deep, "anyOf `(the whole value)` does not fit the schema");
        check(
            any,
            json!({"a": 1}),
            "anyOf `(the whole value)`: the value is not valid under any of the schemas listed in the 'anyOf' keyword",
        );
    }

    #[test]
    fn a_pattern_never_runs_away() {
        let schema = Schema::compile(json!({"pattern": "^(a|aa)+(?=b)$"})).unwrap();
        assert!(!schema.is_valid(&json!("a".repeat(5_000))));
    }
}

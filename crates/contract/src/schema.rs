//! A JSON Schema that is compiled once and enforced many times.
//!
//! Drafts 2020-12 (default) and draft-07 (where `$schema` says so). `$ref` never leaves the document: nothing is
//! fetched. Size and depth are bounded before any compilation, because schemas come from strangers too.

pub(crate) mod cost;
mod defaults;
pub mod keywords;
mod violation;

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

pub use violation::Violation;
use violation::violation;

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

/// A schema with its compiled validator. Cheap to clone: a validator may take a hundred kilobytes.
#[derive(Clone, Debug)]
pub struct Schema {
    value: Arc<Value>,
    validator: Arc<Validator>,
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
        let has_defaults = defaults::mentions_default(&value);
        Ok(Self { value: Arc::new(value), validator: Arc::new(validator), has_defaults, cost })
    }

    pub fn as_value(&self) -> &Value {
        &self.value
    }

    pub fn draft(&self) -> Draft {
        draft_of(&self.value).unwrap_or(Draft::Draft202012)
    }

    /// Evaluations that one part of an instance may need, at most [`MAX_SCHEMA_COST`].
    pub fn cost(&self) -> u64 {
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
            let message = format!("`{}` does not fit the schema", violation::field_name(""));
            return Err(Violation { path: String::new(), keyword: "anyOf".into(), message });
        }
        // Not `iter_errors`, which collects every error before it gives the first.
        self.validator.validate(instance).map_err(|error| violation(&error))
    }

    /// Puts declared defaults where an object lacks them, before validation.
    pub fn fill_defaults(&self, instance: &mut Value) {
        if self.has_defaults {
            defaults::fill(&self.value, &self.value, instance, 0);
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

fn invalid(error: &ValidationError<'_>) -> SchemaError {
    SchemaError::Invalid {
        path: error.instance_path().to_string(),
        reason: match error.kind() {
            Kind::Referencing(cause) => cause.to_string(),
            _ => error.masked_with("the value").to_string(),
        },
    }
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

//! JSON Schemas that are compiled once and enforced many times.
//!
//! Supports draft 2020-12 (the default) and draft-07 (if `$schema` names it). `$ref` never leaves the document: nothing
//! is fetched. Size, depth and cost are bounded before compilation, because schemas also come from untrusted servers.

pub(crate) mod cost;
mod defaults;
pub mod keywords;
mod violation;

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

pub use violation::SchemaViolation;
use violation::to_violation;

/// Maximum size of a schema. Two orders of magnitude above the reference servers; small enough to compile quickly.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;
/// Maximum nesting of a schema. `serde_json` itself stops at 128 levels; compilation recurses several frames per level.
pub const MAX_SCHEMA_DEPTH: usize = 64;
/// Maximum number of subschemas evaluated for one instance (see `cost`). Hand-written schemas stay below a hundred.
pub const MAX_SCHEMA_COST: u64 = 10_000;
/// Maximum choices of a recursive union that are followed to describe a violation.
const MAX_UNION_CHOICES: usize = 1_000;
/// Maximum backtracking steps of one `pattern`; a match that needs more counts as a violation.
const BACKTRACK_LIMIT: usize = 100_000;

/// The supported JSON Schema drafts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaDraft {
    Draft7,
    Draft202012,
}

/// The reason why a value is not an enforceable schema.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("the schema has {size} bytes, over the limit of {MAX_SCHEMA_BYTES}")]
    TooLarge { size: usize },
    #[error("the schema nests deeper than {MAX_SCHEMA_DEPTH} levels")]
    TooDeep,
    #[error(
        "checking one value takes more than {MAX_SCHEMA_COST} steps because subschemas apply repeatedly or recursively"
    )]
    TooCostly,
    #[error("`$schema` is `{0}`, but only draft 2020-12 and draft-07 are supported")]
    UnsupportedDraft(String),
    #[error("`$ref` to `{0}` leaves the document; remote schemas are never fetched")]
    RemoteReference(String),
    #[error("{reason} (at `{path}`)")]
    Invalid { path: String, reason: String },
}

/// A schema with its compiled validator. Clones share the validator, which may take a hundred kilobytes.
#[derive(Clone, Debug)]
pub struct Schema {
    value: Arc<Value>,
    validator: Arc<Validator>,
    has_defaults: bool,
    cost: cost::SchemaCost,
}

impl Schema {
    /// Compiles a schema. Returns an error if it is invalid, exceeds a bound, or refers to another document.
    pub fn compile(value: Value) -> Result<Self, SchemaError> {
        let size = value.to_string().len();
        if size > MAX_SCHEMA_BYTES {
            return Err(SchemaError::TooLarge { size });
        }
        if nesting_depth(&value) > MAX_SCHEMA_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        let draft = match detect_draft(&value)? {
            SchemaDraft::Draft7 => jsonschema::Draft::Draft7,
            SchemaDraft::Draft202012 => jsonschema::Draft::Draft202012,
        };
        if let Some(reference) = find_remote_reference(&value) {
            return Err(SchemaError::RemoteReference(reference.to_owned()));
        }
        let cost = cost::estimate_cost(&value);
        if cost.steps > MAX_SCHEMA_COST {
            return Err(SchemaError::TooCostly);
        }
        if let Err(error) = jsonschema::meta::validate(&with_schema_uri(&value, draft)) {
            return Err(to_schema_error(&error));
        }
        let validator = jsonschema::options()
            .with_draft(draft)
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
            .build(&value)
            .map_err(|error| to_schema_error(&error))?;
        let has_defaults = defaults::has_default(&value);
        Ok(Self { value: Arc::new(value), validator: Arc::new(validator), has_defaults, cost })
    }

    pub fn as_value(&self) -> &Value {
        &self.value
    }

    pub fn draft(&self) -> SchemaDraft {
        detect_draft(&self.value).unwrap_or(SchemaDraft::Draft202012)
    }

    /// Returns the estimated evaluations for one part of an instance, at most [`MAX_SCHEMA_COST`].
    pub fn cost(&self) -> u64 {
        self.cost.steps
    }

    pub fn is_valid(&self, instance: &Value) -> bool {
        self.validator.is_valid(instance)
    }

    /// Returns the first violation as the error, if there is one.
    pub fn validate(&self, instance: &Value) -> Result<(), SchemaViolation> {
        // Two passes, because nearly every call is valid and `is_valid` allocates nothing.
        if self.validator.is_valid(instance) {
            return Ok(());
        }
        // The error of a union contains the errors of all its choices, recursively: too much to collect for a deep value.
        let levels = u32::try_from(nesting_depth(instance)).unwrap_or(u32::MAX);
        if self.cost.choices.saturating_pow(levels) > MAX_UNION_CHOICES {
            let message = format!("`{}` does not match the schema", violation::field_name(""));
            return Err(SchemaViolation { path: String::new(), keyword: "anyOf".into(), message });
        }
        // Not `iter_errors`, which collects every error before it yields the first.
        self.validator.validate(instance).map_err(|error| to_violation(&error))
    }

    /// Inserts declared defaults for missing properties, before validation.
    pub fn fill_defaults(&self, instance: &mut Value) {
        if self.has_defaults {
            defaults::fill_value(&self.value, &self.value, instance, 0);
        }
    }
}

fn detect_draft(schema: &Value) -> Result<SchemaDraft, SchemaError> {
    match schema.get("$schema") {
        None => Ok(SchemaDraft::Draft202012),
        Some(Value::String(uri)) => match uri.trim_end_matches('#') {
            "https://json-schema.org/draft/2020-12/schema" => Ok(SchemaDraft::Draft202012),
            "http://json-schema.org/draft-07/schema"
            | "https://json-schema.org/draft-07/schema" => Ok(SchemaDraft::Draft7),
            _ => Err(SchemaError::UnsupportedDraft(uri.clone())),
        },
        Some(other) => Err(SchemaError::UnsupportedDraft(other.to_string())),
    }
}

/// Returns the schema with `$schema` set. The validator picks the meta-schema by it, so a document without one is
/// checked against the draft it is compiled with.
fn with_schema_uri(schema: &Value, draft: jsonschema::Draft) -> Value {
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

/// Returns the first `$ref` or `$dynamicRef` that leaves the document: it does not start with `#`, and no `$id` in the
/// document matches it.
fn find_remote_reference(schema: &Value) -> Option<&str> {
    fn collect_ids<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(id)) = map.get("$id") {
                    found.push(id.trim_end_matches('#'));
                }
                map.values().for_each(|value| collect_ids(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| collect_ids(value, found)),
            _ => {}
        }
    }
    fn find_outside<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
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
                .or_else(|| map.values().find_map(|value| find_outside(value, known))),
            Value::Array(items) => items.iter().find_map(|value| find_outside(value, known)),
            _ => None,
        }
    }
    let mut known = Vec::new();
    collect_ids(schema, &mut known);
    find_outside(schema, &known)
}

fn nesting_depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(nesting_depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(nesting_depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn to_schema_error(error: &ValidationError<'_>) -> SchemaError {
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
    fn rejects_schemas_that_cannot_be_enforced() {
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
    fn each_draft_is_enforced_with_its_own_keywords() {
        let items = json!([{"type": "string"}]);
        let old = Schema::compile(json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "items": items,
        }))
        .unwrap();
        assert_eq!(old.draft(), SchemaDraft::Draft7);
        assert!(!old.is_valid(&json!([1])));
        let new = Schema::compile(json!({"prefixItems": items})).unwrap();
        assert_eq!(new.draft(), SchemaDraft::Draft202012);
        assert!(!new.is_valid(&json!([1])));
    }

    #[test]
    fn describes_deep_violations_in_bounded_time() {
        let deep = (0..60).fold(json!(1), |inner, _| json!({"a": inner}));
        let a = json!({"properties": {"a": {"$ref": "#"}}});
        let all = json!({"type": "object", "allOf": [a, a]});
        check(
            all,
            deep.clone(),
            &format!("type `{}` must be of type object", vec!["a"; 60].join(".")),
        );
        let any = json!({"type": "object", "anyOf": [a, a]});
        check(any.clone(), deep, "anyOf `(the whole value)` does not match the schema");
        check(
            any,
            json!({"a": 1}),
            "anyOf `(the whole value)`: the value is not valid under any of the schemas listed in the 'anyOf' keyword",
        );
    }

    #[test]
    fn backtracking_pattern_stops_at_its_limit() {
        let schema = Schema::compile(json!({"pattern": "^(a|aa)+(?=b)$"})).unwrap();
        assert!(!schema.is_valid(&json!("a".repeat(5_000))));
    }
}

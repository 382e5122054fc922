//! Typed parsing: validated structured content as a Rust type, or as a tree that its schema describes.
//!
//! [`OutputParsers`] selects a parser by server and tool. A registered type must keep every field of the answer, unless
//! it is registered as partial. A tool without a registered type parses into a [`SchemaValue`], which rejects fields
//! that the schema does not describe. The output schema is validated first in both cases.

mod locate;
mod parsers;
mod schema_value;

use contract::{Contract, SchemaViolation};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::schema_view::format_field_path;
pub use parsers::{OutputParsers, ParsedOutput};
pub use schema_value::SchemaValue;

/// The reason why a value does not match its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedError {
    #[error("the contract of `{0}` has no output schema")]
    NoSchema(String),
    #[error("{} at {}: {}", .0.keyword, format_pointer(&.0.path), .0.message)]
    Violation(#[from] SchemaViolation),
    #[error("`{}` is not described by the output schema", format_field_path(.path))]
    Undescribed { path: String },
    #[error("`{}` does not match {type_name}: {reason}", format_field_path(.path))]
    Mismatch { type_name: &'static str, path: String, reason: String },
    #[error("{type_name} drops `{}` of the answer", format_field_path(.path))]
    Dropped { type_name: &'static str, path: String },
}

fn format_pointer(path: &str) -> String {
    let path = if path.is_empty() { "/" } else { path };
    crate::json::shorten_text(path, 200)
}

/// Structured content that satisfies its output schema, the only form in which a model sees an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidatedOutput(Value);

impl ValidatedOutput {
    /// Checks a value against the output schema of a contract.
    pub fn new(contract: &Contract, value: Value) -> Result<Self, TypedError> {
        let Some(schema) = &contract.output else {
            return Err(TypedError::NoSchema(crate::json::shorten_name(&contract.name)));
        };
        schema.validate(&value)?;
        Ok(Self(value))
    }

    pub fn value(&self) -> &Value {
        &self.0
    }
}

/// Parses a value as `T`; errors if `T` drops a part of it.
pub fn parse_typed<T: DeserializeOwned + Serialize>(value: &Value) -> Result<T, TypedError> {
    let parsed: T = parse_typed_partially(value)?;
    let type_name = std::any::type_name::<T>();
    let serialized = serde_json::to_value(&parsed).map_err(|error| TypedError::Mismatch {
        type_name,
        path: String::new(),
        reason: crate::json::shorten_text(&error.to_string(), 200),
    })?;
    match find_dropped_field(value, &serialized, &mut String::new()) {
        Some(path) => Err(TypedError::Dropped { type_name, path }),
        None => Ok(parsed),
    }
}

/// Parses a value as `T`, which may drop parts of it.
pub(crate) fn parse_typed_partially<T: DeserializeOwned>(value: &Value) -> Result<T, TypedError> {
    // Accepts `7.0` as an integer, as JSON Schema does.
    contract::parse_arguments(value.clone()).map_err(|_| {
        let (path, reason) = locate::locate_mismatch::<T>(value);
        TypedError::Mismatch { type_name: std::any::type_name::<T>(), path, reason }
    })
}

/// Returns the pointer to the first difference between a value and its round trip. An absent field equals null.
fn find_dropped_field(value: &Value, round_trip: &Value, path: &mut String) -> Option<String> {
    let length = path.len();
    let mut below = |step: &str, value: &Value, round_trip: &Value| {
        path.push('/');
        path.push_str(&crate::json::escape_pointer_token(step));
        let found = find_dropped_field(value, round_trip, path);
        path.truncate(length);
        found
    };
    match (value, round_trip) {
        (Value::Object(map), Value::Object(round_trip)) => map.iter().find_map(|(name, value)| {
            below(name, value, round_trip.get(name).unwrap_or(&Value::Null))
        }),
        (Value::Array(items), Value::Array(round_trip)) if items.len() == round_trip.len() => {
            items.iter().zip(round_trip).enumerate().find_map(|(index, (value, round_trip))| {
                below(&index.to_string(), value, round_trip)
            })
        }
        (Value::Number(one), Value::Number(other)) => {
            // `7` equals `7.0`, but two large integers may differ although they round to the same float.
            let is_float = one.is_f64() || other.is_f64();
            let same = one == other || (is_float && one.as_f64() == other.as_f64());
            (!same).then(|| path.clone())
        }
        (value, round_trip) => (value != round_trip).then(|| path.clone()),
    }
}

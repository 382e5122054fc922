//! Typed parsing: validated structured content as a Rust type, or as the shape that its schema describes.
//!
//! A parser is chosen by server and tool in [`Parsers`]. A registered type must take in everything that the answer holds:
//! one that drops a field in silence is refused, unless it was registered as partial. A tool without a registered type parses into a
//! [`Shape`], which refuses what the schema does not describe. Both begin with the schema itself.

mod locate;
mod parsers;
mod shape;

use contract::{Contract, Violation};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::described::field;
pub use parsers::{Parsed, Parsers};
pub use shape::Shape;

/// Why a value is not of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedError {
    #[error("the contract of `{0}` has no output schema")]
    NoSchema(String),
    #[error("{} at {}: {}", .0.keyword, pointer(&.0.path), .0.message)]
    Violation(#[from] Violation),
    #[error("`{}` is not described by the output schema", field(.path))]
    Undescribed { path: String },
    #[error("`{}` does not fit {type_name}: {reason}", field(.path))]
    Mismatch { type_name: &'static str, path: String, reason: String },
    #[error("{type_name} drops `{}` of the answer", field(.path))]
    Dropped { type_name: &'static str, path: String },
}

fn pointer(path: &str) -> String {
    let path = if path.is_empty() { "/" } else { path };
    crate::json::shortened(path, 200)
}

/// Structured content that satisfies its output schema. The only form in which an answer goes to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Validated(Value);

impl Validated {
    /// Checks a value against the output schema of a contract.
    pub fn new(contract: &Contract, value: Value) -> Result<Self, TypedError> {
        let Some(schema) = &contract.output else {
            return Err(TypedError::NoSchema(crate::json::short(&contract.name)));
        };
        schema.validate(&value)?;
        Ok(Self(value))
    }

    pub fn value(&self) -> &Value {
        &self.0
    }
}

/// A value as a type that takes in all of it.
pub fn typed<T: DeserializeOwned + Serialize>(value: &Value) -> Result<T, TypedError> {
    let read: T = partly_typed(value)?;
    let type_name = std::any::type_name::<T>();
    let again = serde_json::to_value(&read).map_err(|error| TypedError::Mismatch {
        type_name,
        path: String::new(),
        reason: crate::json::shortened(&error.to_string(), 200),
    })?;
    match dropped(value, &again, &mut String::new()) {
        Some(path) => Err(TypedError::Dropped { type_name, path }),
        None => Ok(read),
    }
}

/// A value as a type that may leave parts of it out.
pub(crate) fn partly_typed<T: DeserializeOwned>(value: &Value) -> Result<T, TypedError> {
    // Takes `7.0` for the integer that JSON Schema says it is.
    contract::parse(value.clone()).map_err(|_| {
        let (path, reason) = locate::fault::<T>(value);
        TypedError::Mismatch { type_name: std::any::type_name::<T>(), path, reason }
    })
}

/// The first place that a value has and its second reading has not. An absent field is a null one.
fn dropped(value: &Value, again: &Value, path: &mut String) -> Option<String> {
    let length = path.len();
    let mut below = |step: &str, value: &Value, again: &Value| {
        path.push('/');
        path.push_str(&crate::json::token(step));
        let found = dropped(value, again, path);
        path.truncate(length);
        found
    };
    match (value, again) {
        (Value::Object(map), Value::Object(again)) => map
            .iter()
            .find_map(|(name, value)| below(name, value, again.get(name).unwrap_or(&Value::Null))),
        (Value::Array(items), Value::Array(again)) if items.len() == again.len() => items
            .iter()
            .zip(again)
            .enumerate()
            .find_map(|(index, (value, again))| below(&index.to_string(), value, again)),
        (Value::Number(one), Value::Number(other)) => {
            // `7` and `7.0` are the same number; two large integers may be the same float and are not.
            let is_float = one.is_f64() || other.is_f64();
            let same = one == other || (is_float && one.as_f64() == other.as_f64());
            (!same).then(|| path.clone())
        }
        (value, again) => (value != again).then(|| path.clone()),
    }
}

//! A typed tree for tools without a registered type. It holds only values that the schema describes.

use serde_json::Value;

use super::TypedError;
use crate::json::escape_pointer_token;
use crate::schema_view::SchemaView;

/// Every integer up to this magnitude is exact as a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A value, typed by its schema.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaValue {
    /// Fields in the order of the answer.
    Record(Vec<(String, SchemaValue)>),
    List(Vec<SchemaValue>),
    Text(String),
    Integer(i128),
    Number(f64),
    Flag(bool),
    Null,
}

impl SchemaValue {
    /// Parses a value that satisfies the schema; errors at a property or element that the schema does not describe.
    pub fn parse(schema: &Value, value: &Value) -> Result<Self, TypedError> {
        parse_at(&SchemaView::from_root(schema), value, &mut String::new())
    }

    /// Returns a field of a record.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Record(fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Converts the tree back to JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Record(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), value.to_value())).collect()
            }
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Text(text) => text.as_str().into(),
            Self::Integer(number) => i64::try_from(*number)
                .map(Value::from)
                .or_else(|_| u64::try_from(*number).map(Value::from))
                .unwrap_or(Value::Null),
            Self::Number(number) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::Null => Value::Null,
        }
    }
}

fn parse_at(
    view: &SchemaView<'_>,
    value: &Value,
    path: &mut String,
) -> Result<SchemaValue, TypedError> {
    // One path buffer is shared by all levels, because names can be arbitrarily long.
    let length = path.len();
    let mut below = |step: &str, inner: Option<SchemaView<'_>>, value: &Value| {
        path.push('/');
        path.push_str(&escape_pointer_token(step));
        let Some(inner) = inner else {
            return Err(TypedError::Undescribed { path: path.clone() });
        };
        let shape = parse_at(&inner, value, path)?;
        path.truncate(length);
        Ok(shape)
    };
    Ok(match value {
        Value::Null => SchemaValue::Null,
        Value::Bool(flag) => SchemaValue::Flag(*flag),
        Value::String(text) => SchemaValue::Text(text.clone()),
        Value::Number(number) => {
            let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            let float = number.as_f64().unwrap_or(f64::NAN);
            let as_whole = whole.or_else(|| to_exact_integer(float));
            let only_float = view.has_type("number") && !view.has_type("integer");
            match as_whole {
                // The type in the schema decides: `7.0` can be an integer, and `7` can be a float.
                Some(whole)
                    if view.has_type("integer") || (is_integer_literal(number) && !only_float) =>
                {
                    SchemaValue::Integer(whole)
                }
                _ => SchemaValue::Number(float),
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items =
                items.map(|(index, item)| below(&index.to_string(), view.item(index), item));
            SchemaValue::List(items.collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(name, value)| Ok((name.clone(), below(name, view.property(name), value)?)));
            SchemaValue::Record(fields.collect::<Result<_, TypedError>>()?)
        }
    })
}

fn is_integer_literal(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64()
}

fn to_exact_integer(float: f64) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within bounds")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i128)
}

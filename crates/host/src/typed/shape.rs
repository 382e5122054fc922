//! A typed tree for tools that nobody wrote a type for: what the schema says, and nothing that it does not.

use serde_json::Value;

use super::TypedError;
use crate::described::Described;
use crate::json::token;

/// Up to here every whole number is exact as a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A value as its schema types it.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Names in the order of the answer.
    Record(Vec<(String, Shape)>),
    List(Vec<Shape>),
    Text(String),
    Integer(i128),
    Number(f64),
    Flag(bool),
    Nothing,
}

impl Shape {
    /// Reads a value that satisfies the schema. A name or element that the schema does not describe is refused.
    pub fn read(schema: &Value, value: &Value) -> Result<Self, TypedError> {
        at(&Described::whole(schema), value, &mut String::new())
    }

    /// The field of a record.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Record(fields) = self else { return None };
        fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// Back to JSON.
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
            Self::Nothing => Value::Null,
        }
    }
}

fn at(place: &Described<'_>, value: &Value, path: &mut String) -> Result<Shape, TypedError> {
    // One buffer for all places: names are as long as an upstream likes.
    let length = path.len();
    let mut below = |step: &str, inner: Option<Described<'_>>, value: &Value| {
        path.push('/');
        path.push_str(&token(step));
        let Some(inner) = inner else {
            return Err(TypedError::Undescribed { path: path.clone() });
        };
        let shape = at(&inner, value, path)?;
        path.truncate(length);
        Ok(shape)
    };
    Ok(match value {
        Value::Null => Shape::Nothing,
        Value::Bool(flag) => Shape::Flag(*flag),
        Value::String(text) => Shape::Text(text.clone()),
        Value::Number(number) => {
            let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            let float = number.as_f64().unwrap_or(f64::NAN);
            let as_whole = whole.or_else(|| exact(float));
            let only_float = place.is("number") && !place.is("integer");
            match as_whole {
                // `7.0` is an integer where the schema says so; `7` is a number where it says that.
                Some(whole) if place.is("integer") || (whole_is_exact(number) && !only_float) => {
                    Shape::Integer(whole)
                }
                _ => Shape::Number(float),
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items =
                items.map(|(index, item)| below(&index.to_string(), place.item(index), item));
            Shape::List(items.collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(name, value)| Ok((name.clone(), below(name, place.property(name), value)?)));
            Shape::Record(fields.collect::<Result<_, TypedError>>()?)
        }
    })
}

fn whole_is_exact(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64()
}

fn exact(float: f64) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within bounds")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i128)
}

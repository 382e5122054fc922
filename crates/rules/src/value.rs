//! Conversion of JSON values to CEL values. Strings are borrowed, so large arguments are not copied.

use std::collections::HashMap;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use contract::Caller;
use serde_json::{Map, Value};

type BoxedCelValue<'v> = Box<dyn Val + 'v>;

pub(crate) fn value_to_cel(value: &Value) -> BoxedCelValue<'_> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(truth) => Box::new(CelBool::from(*truth)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            // `arbitrary_precision` is off, so every other number is a float.
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => text_to_cel(text),
        Value::Array(items) => {
            Box::new(CelList::from(items.iter().map(value_to_cel).collect::<Vec<_>>()))
        }
        Value::Object(fields) => object_to_cel(fields),
    }
}

pub(crate) fn text_to_cel(text: &str) -> BoxedCelValue<'_> {
    Box::new(CelString::from(text))
}

fn object_to_cel(fields: &Map<String, Value>) -> BoxedCelValue<'_> {
    entries_to_cel(fields.iter().map(|(name, value)| (name.as_str(), value_to_cel(value))))
}

fn entries_to_cel<'v>(
    entries: impl Iterator<Item = (&'v str, BoxedCelValue<'v>)>,
) -> BoxedCelValue<'v> {
    let entries = entries.map(|(name, value)| (CelMapKey::from(name), value));
    Box::new(CelMap::from(entries.collect::<HashMap<_, _>>()))
}

/// Converts the caller; unknown fields are left out, so that `has()` works.
pub(crate) fn caller_to_cel(caller: &Caller) -> BoxedCelValue<'_> {
    let fields = [
        ("principal", Some(&caller.principal)),
        ("client", caller.client.as_ref()),
        ("session", caller.session.as_ref()),
    ];
    entries_to_cel(fields.into_iter().filter_map(|(name, text)| Some((name, text_to_cel(text?)))))
}

/// Converts the hints; a missing hint gets its MCP default. A rule on `!annotations.readOnlyHint` must also match a
/// tool without annotations.
pub(crate) fn annotations_to_cel(annotations: &Map<String, Value>) -> BoxedCelValue<'_> {
    let defaults = [
        ("readOnlyHint", false),
        ("destructiveHint", true),
        ("idempotentHint", false),
        ("openWorldHint", true),
    ];
    let defaults =
        defaults.map(|(name, truth)| (name, Box::new(CelBool::from(truth)) as BoxedCelValue<'_>));
    // Later entries override the defaults.
    entries_to_cel(
        defaults
            .into_iter()
            .chain(annotations.iter().map(|(name, value)| (name.as_str(), value_to_cel(value)))),
    )
}

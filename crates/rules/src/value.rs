//! JSON as CEL sees it. Texts are borrowed, so a large argument is not copied.

use std::collections::HashMap;

use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use contract::Caller;
use serde_json::{Map, Value};

type Boxed<'v> = Box<dyn Val + 'v>;

pub(crate) fn of(value: &Value) -> Boxed<'_> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(truth) => Box::new(CelBool::from(*truth)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            // Without arbitrary precision every other number has a nearest one.
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => of_text(text),
        Value::Array(items) => Box::new(CelList::from(items.iter().map(of).collect::<Vec<_>>())),
        Value::Object(fields) => of_map(fields),
    }
}

pub(crate) fn of_text(text: &str) -> Boxed<'_> {
    Box::new(CelString::from(text))
}

fn of_map(fields: &Map<String, Value>) -> Boxed<'_> {
    map(fields.iter().map(|(name, value)| (name.as_str(), of(value))))
}

fn map<'v>(entries: impl Iterator<Item = (&'v str, Boxed<'v>)>) -> Boxed<'v> {
    let entries = entries.map(|(name, value)| (CelMapKey::from(name), value));
    Box::new(CelMap::from(entries.collect::<HashMap<_, _>>()))
}

/// Only what is known of the caller, so that `has()` tells.
pub(crate) fn of_caller(caller: &Caller) -> Boxed<'_> {
    let fields = [
        ("principal", Some(&caller.principal)),
        ("client", caller.client.as_ref()),
        ("session", caller.session.as_ref()),
    ];
    map(fields.into_iter().filter_map(|(name, text)| Some((name, of_text(text?)))))
}

/// The hints, and for those that are missing what MCP says they are: a rule on `!annotations.readOnlyHint` must not
/// pass over a tool whose author said nothing.
pub(crate) fn of_annotations(annotations: &Map<String, Value>) -> Boxed<'_> {
    let defaults = [
        ("readOnlyHint", false),
        ("destructiveHint", true),
        ("idempotentHint", false),
        ("openWorldHint", true),
    ];
    let defaults =
        defaults.map(|(name, truth)| (name, Box::new(CelBool::from(truth)) as Boxed<'_>));
    // What comes later in a map wins.
    map(defaults
        .into_iter()
        .chain(annotations.iter().map(|(name, value)| (name.as_str(), of(value)))))
}

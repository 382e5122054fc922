//! Reads YAML as JSON values, for the few files of a project that are written in it.

use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{alias_limits, budget, options};

/// Files that are nested deeper or hold more values are not read.
const MAX_DEPTH: usize = 32;
const MAX_VALUES: usize = 20_000;

/// Returns the first document of a text, or None if it is not YAML or exceeds a limit.
///
/// Values behind aliases count against the same limit, so that a hostile file cannot grow by them.
pub(crate) fn parse_document(text: &str) -> Option<Value> {
    let options = options! {
        budget: budget! { max_depth: MAX_DEPTH, max_events: MAX_VALUES },
        alias_limits: alias_limits! { max_total_replayed_events: MAX_VALUES },
        duplicate_keys: DuplicateKeyPolicy::FirstWins,
        // `on` and `no` are names of folders here.
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    let mut reader = text.as_bytes();
    serde_saphyr::read_with_options(&mut reader, options).next()?.ok()
}

/// Returns the text of a scalar; None for an empty one, a list or a map.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the texts of a list, or of a scalar that stands for a list of one.
pub(crate) fn scalar_texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(scalar_text).collect(),
        other => scalar_text(other).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_scalars_as_texts() {
        let value = parse_document("[api, 2, true, on, '3', ~, \"\", [x], 1.5]\n---\n[").unwrap();
        assert_eq!(scalar_texts(&value), ["api", "2", "true", "on", "3", "1.5"]);
    }

    #[test]
    fn follows_aliases_within_limits() {
        let value = parse_document("a: &a [x, y]\nb: *a\n").unwrap();
        assert_eq!(scalar_texts(&value["b"]), ["x", "y"]);

        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let before = format!("*a{}", level - 1);
            let list = vec![before; 8].join(", ");
            bomb += &format!("a{level}: &a{level} [{list}]\n");
        }
        assert_eq!(parse_document(&bomb), None);
    }

    #[test]
    fn refuses_deep_and_long_documents() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_document(&nested(MAX_DEPTH)).is_some());
        assert_eq!(parse_document(&nested(MAX_DEPTH + 1)), None);
        assert_eq!(parse_document(&"- x\n".repeat(MAX_VALUES)), None);
    }

    #[test]
    fn first_of_repeated_keys_counts() {
        assert_eq!(parse_document("a: 1\na: 2\n").unwrap()["a"], 1);
    }
}

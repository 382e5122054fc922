//! Finds strings and numbers that satisfy constraints, by trying candidates.

use contract::Schema;
use serde_json::{Map, Value, json};

/// Keywords that constrain a string; the first one identifies the type in the cache.
pub(super) const STRING: &[&str] = &["minLength", "maxLength", "pattern", "format"];
pub(super) const NUMBER: &[&str] =
    &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "type"];

/// Maximum distinct sets of constraints that are compiled; further ones get the simplest candidate.
const MAX_COMPILED: usize = 300;
/// Maximum length of a generated string.
const MAX_LENGTH: usize = 10_000;

/// Candidates for the patterns and formats of real schemas.
const TEXTS: &[&str] = &[
    "text",
    "a",
    "A",
    "1",
    "0",
    "a1",
    "ab",
    "AB",
    "abc",
    "ABC",
    "abc-123",
    "ABC-123",
    "A1",
    "1.0.0",
    "1.0",
    "v1.0.0",
    "/a",
    "/a/b",
    "a/b.txt",
    "a.txt",
    "a.md",
    "a_b",
    "a-b",
    "a.b",
    "a b",
    "A text.",
    "#ffffff",
    "#abc",
    "en",
    "en-US",
    "USD",
    "+15555550100",
    "12:30",
    "12:30:00",
    "2026-01-15",
    "2026-01-15T10:30:00Z",
    "P1D",
    "PT1H",
    "100%",
    "user@example.com",
    "example.com",
    "https://example.com/",
    "https://example.com/a?b=c",
    "a:b",
    "file:///a/b",
    "127.0.0.1",
    "::1",
    "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
    "0x00000000000000000000000000000000000000aa",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "12345",
    "123456",
    "1234567890",
    "-1",
    "1.5",
    "true",
    "{}",
    "[]",
    "aGVsbG8=",
    "image/png",
    "text/plain",
    "@a",
    "@a/b",
    "a@b",
    "/",
    ".",
    "*",
    "_",
    "",
];

const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Returns a candidate that satisfies all constraints. `effort` is the number of sets searched before.
pub(super) fn find_candidate(
    keywords: &[&str],
    constraints: &[(&str, &Value)],
    effort: usize,
) -> Option<Value> {
    let is_string = keywords == STRING;
    if constraints.is_empty() || effort > MAX_COMPILED {
        return Some(if is_string { json!("text") } else { json!(1) });
    }
    let candidates =
        if is_string { text_candidates(constraints) } else { number_candidates(constraints) };
    let all: Vec<Value> = constraints
        .iter()
        .map(|(keyword, value)| {
            Value::Object(Map::from_iter([((*keyword).to_owned(), (*value).clone())]))
        })
        .collect();
    let schema = Schema::compile(json!({ "allOf": all })).ok()?;
    candidates.into_iter().find(|candidate| schema.is_valid(candidate))
}

fn text_candidates(constraints: &[(&str, &Value)]) -> Vec<Value> {
    let bound = |keyword: &'static str| {
        constraints
            .iter()
            .filter(move |(name, _)| *name == keyword)
            .filter_map(|(_, value)| value.as_u64())
    };
    let least = usize::try_from(bound("minLength").max().unwrap_or(0)).unwrap_or(usize::MAX);
    let most = usize::try_from(bound("maxLength").min().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    if least > MAX_LENGTH {
        return Vec::new();
    }
    let sized = |text: &str| -> String {
        let filler = text.chars().last().unwrap_or('a');
        let padded = text.chars().chain(std::iter::repeat_n(filler, least));
        padded.take(text.chars().count().max(least).min(most)).collect()
    };
    let prefixed = ["sha256:", "sha-256:", "0x", ""].iter().map(|prefix| format!("{prefix}{HEX}"));
    TEXTS
        .iter()
        .map(|text| (*text).to_owned())
        .chain(prefixed)
        .map(|text| json!(sized(&text)))
        .collect()
}

fn number_candidates(constraints: &[(&str, &Value)]) -> Vec<Value> {
    let mut candidates = vec![json!(1), json!(0), json!(-1), json!(10), json!(0.5)];
    let step = constraints
        .iter()
        .find(|(keyword, _)| *keyword == "multipleOf")
        .and_then(|(_, value)| value.as_f64())
        .filter(|step| *step > 0.0);
    for (keyword, value) in constraints {
        let Some(bound) = value.as_f64() else { continue };
        candidates.push((*value).clone());
        if *keyword != "multipleOf" {
            let near = [
                bound + 1.0,
                bound - 1.0,
                bound.floor() + 1.0,
                bound.ceil() - 1.0,
                bound + 1e-3,
                bound - 1e-3,
            ];
            candidates.extend(near.map(to_number));
            if let Some(step) = step {
                let multiple = (bound / step).ceil() * step;
                candidates.extend([multiple, multiple + step, multiple - step].map(to_number));
            }
        }
    }
    // The midpoint of a narrow range.
    let bounds: Vec<f64> = constraints
        .iter()
        .filter(|(keyword, _)| *keyword != "multipleOf")
        .filter_map(|(_, value)| value.as_f64())
        .collect();
    if let [a, b, ..] = bounds[..] {
        candidates.push(to_number(f64::midpoint(a, b)));
    }
    candidates
}

/// Returns a number as JSON: as an integer if it is integral.
fn to_number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "integral and within the exact range, tested above"
        )]
        return json!(number as i64);
    }
    json!(number)
}

/// Returns an item that differs from those before it in a unique list, if its type allows that.
pub(super) fn make_unique(item: Value, before: &[Value]) -> Value {
    if !before.contains(&item) {
        return item;
    }
    match item {
        Value::String(text) => json!(format!("{text}{}", before.len())),
        Value::Number(number) => number.as_i64().map_or(Value::Number(number), |number| {
            json!(number.saturating_add(i64::try_from(before.len()).unwrap_or(i64::MAX)))
        }),
        Value::Bool(value) => json!(!value),
        other => other,
    }
}

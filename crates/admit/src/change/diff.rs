//! Renders two definitions as a unified diff.

use contract::text::escape_hidden;
use serde_json::{Map, Value};
use similar::TextDiff;

use super::outline::render_outline;

const CONTEXT: usize = 3;
/// Maximum lines of a definition in a diff. A change would be lost in a longer one.
const MAX_LINES: usize = 5_000;
/// Maximum pairs of lines to compare. The diff takes more than linear time, and a server could offer thousands of tools
/// that differ in every line.
const MAX_PAIRS: usize = 1_000_000;

/// Returns a unified diff, or an outline of the changed locations if the definitions are too long.
pub(super) fn render_diff(old: &Value, new: &Value) -> String {
    let texts = (to_pretty_json(old), to_pretty_json(new));
    let lines: (Vec<&str>, Vec<&str>) = (texts.0.lines().collect(), texts.1.lines().collect());
    if lines.0.len().max(lines.1.len()) > MAX_LINES
        || count_line_pairs(&lines.0, &lines.1) > MAX_PAIRS
    {
        return format!(
            "(too long for a line diff: {} lines became {}; see vouch.lock)\n{}",
            lines.0.len(),
            lines.1.len(),
            render_outline(old, new)
        );
    }
    TextDiff::from_lines(&texts.0, &texts.1)
        .unified_diff()
        .context_radius(CONTEXT)
        .header("admitted", "offered")
        .to_string()
}

/// Returns the number of line pairs left after removing the common prefix and suffix.
fn count_line_pairs(old: &[&str], new: &[&str]) -> usize {
    let same = |(old, new): &(&&str, &&str)| old == new;
    let start = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    (old.len() - end).saturating_mul(new.len() - end)
}

/// Returns pretty JSON with sorted keys, so that only real changes differ. JSON itself escapes control characters and
/// line breaks; the other hidden characters (zero-width, bidirectional, tags) are made visible.
fn to_pretty_json(value: &Value) -> String {
    let mut text =
        serde_json::to_string_pretty(&sort_keys(value)).expect("a JSON value serializes");
    text.push('\n');
    escape_hidden(&text)
}

/// Returns the value with all object keys sorted.
pub(crate) fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            let entries = entries.into_iter().map(|(key, value)| (key.clone(), sort_keys(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(list) => list.iter().map(sort_keys).collect(),
        other => other.clone(),
    }
}

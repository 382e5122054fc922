//! Two definitions as unified lines.

use contract::text::visible;
use serde_json::{Map, Value};
use similar::TextDiff;

const CONTEXT: usize = 3;
/// Longer definitions are not laid side by side: comparing lines costs more than linear time.
const MAX_LINES: usize = 5_000;

pub(super) fn unified(old: &Value, new: &Value) -> String {
    let (old, new) = (pretty(old), pretty(new));
    let (old_lines, new_lines) = (old.lines().count(), new.lines().count());
    if old_lines.max(new_lines) > MAX_LINES {
        return format!("(too long to compare: {old_lines} lines became {new_lines})\n");
    }
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(CONTEXT)
        .header("admitted", "offered")
        .to_string()
}

/// Keys sorted, so that only what was changed differs. JSON escapes control characters and line breaks itself; what it
/// leaves (zero-width, bidirectional, tags) is made visible.
fn pretty(value: &Value) -> String {
    let mut text =
        serde_json::to_string_pretty(&sorted(value)).expect("JSON from JSON always serialises");
    text.push('\n');
    visible(&text)
}

pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            let entries = entries.into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

//! Two definitions as unified lines.

use contract::text::visible;
use serde_json::{Map, Value};
use similar::TextDiff;

use super::outline::outline;

const CONTEXT: usize = 3;
/// Nobody reads more, and a change would be lost in them.
const MAX_LINES: usize = 5_000;
/// Pairs of lines that are compared. Finding the shortest difference costs more than linear time, and a server could make
/// thousands of tools that differ in every line.
const MAX_PAIRS: usize = 1_000_000;

pub(super) fn unified(old: &Value, new: &Value) -> String {
    let texts = (pretty(old), pretty(new));
    let lines: (Vec<&str>, Vec<&str>) = (texts.0.lines().collect(), texts.1.lines().collect());
    if lines.0.len().max(lines.1.len()) > MAX_LINES || pairs(&lines.0, &lines.1) > MAX_PAIRS {
        return format!(
            "(too long to lay side by side: {} lines became {}; vouch.lock has them)\n{}",
            lines.0.len(),
            lines.1.len(),
            outline(old, new)
        );
    }
    TextDiff::from_lines(&texts.0, &texts.1)
        .unified_diff()
        .context_radius(CONTEXT)
        .header("admitted", "offered")
        .to_string()
}

/// Of the lines that are left when those which are the same at both ends are taken away.
fn pairs(old: &[&str], new: &[&str]) -> usize {
    let same = |(old, new): &(&&str, &&str)| old == new;
    let start = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    (old.len() - end).saturating_mul(new.len() - end)
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

//! Lists the locations where two definitions differ, for definitions that are too long for a line diff.
//!
//! A server must not be able to push a change out of sight by adding content. Each field therefore has its own share of
//! the lines, and changed and removed locations come before added ones.

use std::collections::BTreeSet;

use contract::text::shorten_line;
use serde_json::{Map, Value};

/// Maximum lines of each kind per field of the definition.
const MAX_LOCATIONS: usize = 50;
/// Maximum listed fields that no MCP revision defines.
const MAX_UNKNOWN_FIELDS: usize = 20;
const MAX_POINTER: usize = 256;
const KNOWN_FIELDS: &[&str] =
    &["name", "title", "description", "annotations", "inputSchema", "outputSchema"];

/// Returns one line per location: `~` changed, `-` removed, `+` added.
pub(super) fn render_outline(old: &Value, new: &Value) -> String {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return "~ /\n".into() };
    let mut lines = String::new();
    let fields = union_keys(old, new);
    let (known, others): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|field| KNOWN_FIELDS.contains(field));
    let differs = |field: &&str| old.get(*field) != new.get(*field);
    for field in known.into_iter().filter(differs) {
        outline_field(field, old, new, &mut lines);
    }
    let mut others = others.into_iter().filter(differs);
    for field in others.by_ref().take(MAX_UNKNOWN_FIELDS) {
        outline_field(field, old, new, &mut lines);
    }
    match others.count() {
        0 => {}
        more => lines.push_str(&format!("… and {more} more fields\n")),
    }
    lines
}

fn outline_field(
    field: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    lines: &mut String,
) {
    let mut locations = ChangedLocations::default();
    locations.collect_changes(old.get(field), new.get(field), &mut vec![field.to_owned()]);
    for (mark, list) in [('~', locations.changed), ('-', locations.removed), ('+', locations.added)]
    {
        for location in &list.shown {
            lines.push_str(&format!("{mark} {location}\n"));
        }
        if list.more > 0 {
            let field = shorten_line(field, MAX_POINTER);
            lines.push_str(&format!("{mark} … and {} more below /{field}\n", list.more));
        }
    }
}

#[derive(Default)]
struct ChangedLocations {
    changed: LocationList,
    removed: LocationList,
    added: LocationList,
}

#[derive(Default)]
struct LocationList {
    /// JSON pointers.
    shown: Vec<String>,
    /// Number of locations beyond the limit.
    more: usize,
}

impl LocationList {
    fn push_location(&mut self, steps: &[String]) {
        if self.shown.len() == MAX_LOCATIONS {
            self.more += 1;
        } else {
            let steps = steps.iter().map(|step| step.replace('~', "~0").replace('/', "~1"));
            let pointer: String = steps.flat_map(|step| ["/".to_owned(), step]).collect();
            self.shown.push(shorten_line(&pointer, MAX_POINTER));
        }
    }
}

impl ChangedLocations {
    fn collect_changes(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        steps: &mut Vec<String>,
    ) {
        match (old, new) {
            (None, None) => {}
            (Some(_), None) => self.removed.push_location(steps),
            (None, Some(_)) => self.added.push_location(steps),
            (Some(old), Some(new)) if old == new => {}
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                for key in union_keys(old, new) {
                    steps.push(key.to_owned());
                    self.collect_changes(old.get(key), new.get(key), steps);
                    steps.pop();
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
                for (number, (old, new)) in old.iter().zip(new).enumerate() {
                    steps.push(number.to_string());
                    self.collect_changes(Some(old), Some(new), steps);
                    steps.pop();
                }
            }
            _ => self.changed.push_location(steps),
        }
    }
}

fn union_keys<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> BTreeSet<&'a str> {
    old.keys().chain(new.keys()).map(String::as_str).collect()
}

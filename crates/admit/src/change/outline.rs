//! Where two definitions differ, for those that are too long to be laid side by side.
//!
//! Nothing that a server adds may push a change out of sight: each field has its own share of the lines, and what
//! changed or went comes before what was added.

use std::collections::BTreeSet;

use contract::text::shortened;
use serde_json::{Map, Value};

/// Lines of each kind for each field of the definition.
const MAX_PLACES: usize = 50;
/// Fields that no revision of MCP defines.
const MAX_UNKNOWN: usize = 20;
const MAX_POINTER: usize = 256;
const KNOWN: &[&str] =
    &["name", "title", "description", "annotations", "inputSchema", "outputSchema"];

/// A line for each place: `~` changed, `-` gone, `+` new.
pub(super) fn outline(old: &Value, new: &Value) -> String {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return "~ /\n".into() };
    let mut lines = String::new();
    let fields = keys(old, new);
    let (known, others): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|field| KNOWN.contains(field));
    let differs = |field: &&str| old.get(*field) != new.get(*field);
    for field in known.into_iter().filter(differs) {
        of_field(field, old, new, &mut lines);
    }
    let mut others = others.into_iter().filter(differs);
    for field in others.by_ref().take(MAX_UNKNOWN) {
        of_field(field, old, new, &mut lines);
    }
    match others.count() {
        0 => {}
        more => lines.push_str(&format!("… and {more} more fields\n")),
    }
    lines
}

fn of_field(field: &str, old: &Map<String, Value>, new: &Map<String, Value>, lines: &mut String) {
    let mut places = Places::default();
    places.compare(old.get(field), new.get(field), &mut vec![field.to_owned()]);
    for (mark, kind) in [('~', places.changed), ('-', places.gone), ('+', places.new)] {
        for place in &kind.shown {
            lines.push_str(&format!("{mark} {place}\n"));
        }
        if kind.more > 0 {
            let field = shortened(field, MAX_POINTER);
            lines.push_str(&format!("{mark} … and {} more below /{field}\n", kind.more));
        }
    }
}

#[derive(Default)]
struct Places {
    changed: Kind,
    gone: Kind,
    new: Kind,
}

#[derive(Default)]
struct Kind {
    shown: Vec<String>,
    more: usize,
}

impl Kind {
    fn add(&mut self, steps: &[String]) {
        if self.shown.len() == MAX_PLACES {
            self.more += 1;
        } else {
            let steps = steps.iter().map(|step| step.replace('~', "~0").replace('/', "~1"));
            let pointer: String = steps.flat_map(|step| ["/".to_owned(), step]).collect();
            self.shown.push(shortened(&pointer, MAX_POINTER));
        }
    }
}

impl Places {
    fn compare(&mut self, old: Option<&Value>, new: Option<&Value>, steps: &mut Vec<String>) {
        match (old, new) {
            (None, None) => {}
            (Some(_), None) => self.gone.add(steps),
            (None, Some(_)) => self.new.add(steps),
            (Some(old), Some(new)) if old == new => {}
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                for key in keys(old, new) {
                    steps.push(key.to_owned());
                    self.compare(old.get(key), new.get(key), steps);
                    steps.pop();
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
                for (number, (old, new)) in old.iter().zip(new).enumerate() {
                    steps.push(number.to_string());
                    self.compare(Some(old), Some(new), steps);
                    steps.pop();
                }
            }
            _ => self.changed.add(steps),
        }
    }
}

fn keys<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> BTreeSet<&'a str> {
    old.keys().chain(new.keys()).map(String::as_str).collect()
}

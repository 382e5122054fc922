//! Maps the fields of a hand-written JSON object to those of a discovery.

use serde_json::{Map, Value};
use store::context::DiscoveryKind;

use super::{classify, date};

const KIND: [&str; 5] = ["type", "kind", "category", "event", "event_type"];
const TITLE: [&str; 6] = ["title", "name", "subject", "topic", "task", "headline"];
const DATE: [&str; 8] = ["timestamp", "date", "time", "at", "created", "created_at", "ts", "when"];
const MODULE: [&str; 5] = ["module", "component", "area", "scope", "package"];
const SESSION: [&str; 3] = ["session", "session_id", "sessionId"];
const TAGS: [&str; 3] = ["tags", "labels", "keywords"];
/// Field names that hold the statement itself, in order of preference.
const CONTENT: [&str; 18] = [
    "content",
    "text",
    "decision",
    "rule",
    "pattern",
    "practice",
    "convention",
    "issue",
    "bug",
    "problem",
    "lesson",
    "insight",
    "description",
    "message",
    "note",
    "entry",
    "body",
    "summary",
];
/// Fields about the entry itself, which are dropped.
const IGNORED: [&str; 2] = ["id", "uuid"];

/// Discovery fields read from a JSON object.
#[derive(Debug, Default)]
pub(super) struct DiscoveryFields {
    pub(super) kind: Option<DiscoveryKind>,
    pub(super) title: Option<String>,
    /// The statement, followed by each unrecognized field on its own line as `Name: value`.
    pub(super) content: String,
    pub(super) module: Option<String>,
    pub(super) session: Option<String>,
    pub(super) date: Option<String>,
    pub(super) tags: Vec<String>,
}

impl DiscoveryFields {
    pub(super) fn from_object(object: &Map<String, Value>) -> Self {
        let mut rest = object.clone();
        let mut fields = Self::default();
        for name in KIND {
            let kind = rest.get(name).and_then(Value::as_str).and_then(classify::kind_from_name);
            if kind.is_some() {
                rest.shift_remove(name);
                fields.kind = kind;
                break;
            }
        }
        fields.title = take_text(&mut rest, &TITLE);
        fields.module = take_text(&mut rest, &MODULE);
        fields.session = take_text(&mut rest, &SESSION);
        let dated = DATE.iter().find_map(|name| {
            let date = rest.get(*name).and_then(parse_date_value)?;
            Some((name, date))
        });
        if let Some((name, date)) = dated {
            rest.shift_remove(*name);
            fields.date = Some(date);
        }
        for name in IGNORED {
            rest.shift_remove(name);
        }
        let tags = TAGS.iter().find_map(|name| rest.shift_remove(*name));
        fields.tags = match tags {
            Some(Value::Array(tags)) => tags.iter().filter_map(render_value).collect(),
            Some(tag) => render_value(&tag).into_iter().collect(),
            None => Vec::new(),
        };

        // The field that holds the statement also determines the kind: `{"decision": "…"}`.
        let statement =
            CONTENT.iter().find_map(|name| Some((*name, render_value(rest.get(*name)?)?)));
        if let Some((name, text)) = statement {
            rest.shift_remove(name);
            fields.kind = fields.kind.or_else(|| classify::kind_from_name(name));
            fields.content = text;
        } else if let Some(title) = fields.title.take() {
            fields.content = title;
        }
        for (name, value) in &rest {
            let Some(value) = render_value(value) else { continue };
            if !fields.content.is_empty() {
                fields.content.push('\n');
            }
            fields.content.push_str(&format!("{}: {value}", format_label(name)));
        }
        fields
    }
}

fn take_text(object: &mut Map<String, Value>, names: &[&str]) -> Option<String> {
    let name = names.iter().find(|name| object.get(**name).and_then(render_value).is_some())?;
    object.shift_remove(*name).as_ref().and_then(render_value)
}

/// Parses a date given as text, or as seconds or milliseconds since the epoch.
fn parse_date_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => date::parse_date(text),
        Value::Number(number) => {
            let number = number.as_i64()?;
            let time = match number.unsigned_abs() {
                // 1990 in milliseconds is the year 21,970 in seconds.
                ..631_152_000_000 => jiff::Timestamp::from_second(number),
                _ => jiff::Timestamp::from_millisecond(number),
            };
            date::parse_date(&time.ok()?.to_string())
        }
        _ => None,
    }
}

/// Renders a value as plain text; returns `None` if it is null or empty.
fn render_value(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.trim().to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(values)
            if values.iter().all(|value| !value.is_array() && !value.is_object()) =>
        {
            values.iter().filter_map(render_value).collect::<Vec<_>>().join(", ")
        }
        Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// Turns a key into a label: `next_steps` becomes "Next steps".
fn format_label(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut characters = words.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

//! Entries of the memory files: JSON lines, or Markdown.
//!
//! Nobody prescribes the fields of an entry, so those that people use are known by name (`fields.rs`). What a field does not say the
//! name of the file does, then the wording. An entry that says nothing of its kind is a decision: the log keeps what was
//! done, and doing it was decided.

use serde_json::Value;
use store::context::Kind;

use super::fields::Fields;
use super::{Draft, classify, guide, markdown};

pub(super) fn entries(path: &str, text: &str) -> Vec<Draft> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let named = classify::by_name(stem);
    if matches!(extension, "jsonl" | "ndjson") {
        text.lines().zip(1..).filter_map(|(line, number)| of_line(line, number, named)).collect()
    } else {
        of_markdown(text, named)
    }
}

/// A line that is no JSON, as a crash may leave one, still says something.
fn of_line(line: &str, number: u32, named: Option<Kind>) -> Option<Draft> {
    let line = line.trim().trim_start_matches('\u{feff}');
    if line.is_empty() {
        return None;
    }
    let by_text =
        |text: &str| named.or_else(|| classify::by_wording(text)).unwrap_or(Kind::Decision);
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => {
            let fields = Fields::of(&object);
            let kind = fields.kind.or(named);
            let kind =
                kind.or_else(|| classify::by_wording(&fields.content)).unwrap_or(Kind::Decision);
            let mut draft = Draft::new(number, kind, fields.content);
            draft.title = fields.title;
            draft.module = fields.module;
            draft.session = fields.session;
            draft.tags = fields.tags;
            draft.date = fields.date;
            Some(draft)
        }
        Ok(Value::String(text)) => Some(Draft::new(number, by_text(&text), text)),
        Ok(Value::Null) => None,
        Ok(_) | Err(_) => Some(Draft::new(number, by_text(line), line)),
    }
}

/// The headings say what an entry is, then the file's name, then the wording.
fn of_markdown(text: &str, named: Option<Kind>) -> Vec<Draft> {
    let entries = markdown::entries(text).into_iter().map(|entry| {
        let content = guide::content(&entry);
        let headed = entry.headings.iter().rev().find_map(|heading| classify::by_name(heading));
        let kind = headed.or(named).or_else(|| classify::by_wording(&content));
        let mut draft = Draft::new(entry.line, kind.unwrap_or(Kind::Pattern), content);
        draft.title = entry.headings.last().map(|heading| (*heading).to_owned());
        draft
    });
    entries.collect()
}

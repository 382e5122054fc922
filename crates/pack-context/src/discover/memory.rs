//! Extracts entries from memory files: JSON Lines or Markdown.
//!
//! Entries have no fixed schema, so commonly used field names are recognized (`fields.rs`). The kind comes from a field,
//! else from the file name, else from the wording. A JSON Lines entry without any hint is a decision, because the log
//! records what was done.

use serde_json::Value;
use store::context::DiscoveryKind;

use super::fields::DiscoveryFields;
use super::{DiscoveryDraft, classify, guide, markdown};

/// Returns a draft for each entry; the file extension selects the format.
pub(super) fn extract_memory_entries(path: &str, text: &str) -> Vec<DiscoveryDraft> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let named = classify::kind_from_name(stem);
    if matches!(extension, "jsonl" | "ndjson") {
        text.lines()
            .zip(1..)
            .filter_map(|(line, number)| parse_json_line(line, number, named))
            .collect()
    } else {
        parse_markdown(text, named)
    }
}

/// Parses one line; a line that is not JSON, as a crash may leave one, is kept as plain text.
fn parse_json_line(
    line: &str,
    number: u32,
    named: Option<DiscoveryKind>,
) -> Option<DiscoveryDraft> {
    let line = line.trim().trim_start_matches('\u{feff}');
    if line.is_empty() {
        return None;
    }
    let by_text = |text: &str| {
        named.or_else(|| classify::kind_from_wording(text)).unwrap_or(DiscoveryKind::Decision)
    };
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => {
            let fields = DiscoveryFields::from_object(&object);
            let kind = fields.kind.or(named);
            let kind = kind
                .or_else(|| classify::kind_from_wording(&fields.content))
                .unwrap_or(DiscoveryKind::Decision);
            let mut draft = DiscoveryDraft::new(number, kind, fields.content);
            draft.title = fields.title;
            draft.module = fields.module;
            draft.session = fields.session;
            draft.tags = fields.tags;
            draft.date = fields.date;
            Some(draft)
        }
        Ok(Value::String(text)) => Some(DiscoveryDraft::new(number, by_text(&text), text)),
        Ok(Value::Null) => None,
        Ok(_) | Err(_) => Some(DiscoveryDraft::new(number, by_text(line), line)),
    }
}

/// Takes the kind of each entry from its headings, else from the file name, else from the wording.
fn parse_markdown(text: &str, named: Option<DiscoveryKind>) -> Vec<DiscoveryDraft> {
    let entries = markdown::split_entries(text).into_iter().map(|entry| {
        let content = guide::join_lead_and_text(&entry);
        let headed =
            entry.headings.iter().rev().find_map(|heading| classify::kind_from_name(heading));
        let kind = headed.or(named).or_else(|| classify::kind_from_wording(&content));
        let mut draft =
            DiscoveryDraft::new(entry.line, kind.unwrap_or(DiscoveryKind::Pattern), content);
        draft.title = entry.headings.last().map(|heading| (*heading).to_owned());
        draft
    });
    entries.collect()
}

//! Extracts statements from guides: documents with instructions for contributors and agents.

use store::context::DiscoveryKind;

use super::markdown::{self, MarkdownEntry};
use super::{DiscoveryDraft, classify};

/// Minimum words of a statement; shorter entries are links or labels.
const MIN_WORDS: usize = 3;

/// Returns the statements of a guide.
///
/// A list item without a cue is a rule. A paragraph without a cue is a pattern if `instructions` says that the whole
/// text consists of instructions; otherwise it is prose and skipped.
pub(super) fn extract_statements(text: &str, instructions: bool) -> Vec<DiscoveryDraft> {
    let (front, _) = markdown::parse_front_matter(text);
    let field = |key: &str| front.iter().find(|(k, v)| *k == key && !v.is_empty()).map(|(_, v)| *v);
    // Front matter of a Cursor rule file: its subject and the files it applies to.
    let description = field("description");
    let globs = field("globs").map(|globs| format!("For {globs}: ")).unwrap_or_default();
    markdown::split_entries(text)
        .into_iter()
        .filter_map(|entry| {
            let content = join_lead_and_text(&entry);
            let words = if entry.lead.is_some() { 2 } else { MIN_WORDS };
            if content.split_whitespace().count() < words || is_only_links(&entry.text) {
                return None;
            }
            let otherwise = match (entry.is_item, instructions) {
                (true, _) => Some(DiscoveryKind::Rule),
                (false, true) => Some(DiscoveryKind::Pattern),
                (false, false) => None,
            };
            let kind = classify::kind_from_wording(&content).or(otherwise)?;
            let mut draft = DiscoveryDraft::new(entry.line, kind, format!("{globs}{content}"));
            draft.title = match entry.headings.as_slice() {
                [] => description.map(str::to_owned),
                // The outermost heading is the document title.
                [name] => Some(description.unwrap_or(name).to_owned()),
                [_, within @ ..] => Some(within.join(": ")),
            };
            Some(draft)
        })
        .collect()
}

/// Returns the entry's text, prefixed with the lead of its list.
pub(super) fn join_lead_and_text(entry: &MarkdownEntry<'_>) -> String {
    match &entry.lead {
        Some(lead) => format!("{lead}: {}", entry.text),
        None => entry.text.clone(),
    }
}

/// Returns true for a table of contents or badges.
fn is_only_links(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '+', '!', ' ']);
        line.starts_with('[') && line.ends_with(')')
    })
}

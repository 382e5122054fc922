//! Guides: texts that tell whoever works on a project what to do. Each statement in them is a discovery.

use store::context::Kind;

use super::markdown::{self, Entry};
use super::{Draft, classify};

/// Shorter is a link or a label, not a statement.
const MIN_WORDS: usize = 3;

/// The statements of a guide. A list item without a cue is a rule. A paragraph without one tells how things are here, in a
/// text that is instructions throughout; elsewhere it is prose and left out.
pub(super) fn statements(text: &str, instructions: bool) -> Vec<Draft> {
    let (front, _) = markdown::front_matter(text);
    let of = |key: &str| front.iter().find(|(k, v)| *k == key && !v.is_empty()).map(|(_, v)| *v);
    // What a rule file of Cursor says of itself: what it is about, and for which files it holds.
    let description = of("description");
    let globs = of("globs").map(|globs| format!("For {globs}: ")).unwrap_or_default();
    markdown::entries(text)
        .into_iter()
        .filter_map(|entry| {
            let content = content(&entry);
            let words = if entry.lead.is_some() { 2 } else { MIN_WORDS };
            if content.split_whitespace().count() < words || is_only_links(&entry.text) {
                return None;
            }
            let otherwise = match (entry.is_item, instructions) {
                (true, _) => Some(Kind::Rule),
                (false, true) => Some(Kind::Pattern),
                (false, false) => None,
            };
            let kind = classify::by_wording(&content).or(otherwise)?;
            let mut draft = Draft::new(entry.line, kind, format!("{globs}{content}"));
            draft.title = match entry.headings.as_slice() {
                [] => description.map(str::to_owned),
                // The outermost heading names the document.
                [name] => Some(description.unwrap_or(name).to_owned()),
                [_, within @ ..] => Some(within.join(": ")),
            };
            Some(draft)
        })
        .collect()
}

/// An entry's text, after the words that lead into its list.
pub(super) fn content(entry: &Entry<'_>) -> String {
    match &entry.lead {
        Some(lead) => format!("{lead}: {}", entry.text),
        None => entry.text.clone(),
    }
}

/// A table of contents, badges.
fn is_only_links(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '+', '!', ' ']);
        line.starts_with('[') && line.ends_with(')')
    })
}

//! Renders a session as searchable text.

use std::collections::HashMap;

use store::context::SessionRecord;

use crate::discover::{sanitize_line, sanitize_text};

/// Maximum searches in the text, newest first.
const MAX_SEARCHES: usize = 20;
/// Maximum files in the text, newest first.
const MAX_FILES: usize = 30;
const MAX_TEXT: usize = 3_000;
const MAX_TOPICS: usize = 8;

/// Words that are never topics; sorted for binary search.
const STOP_WORDS: &[&str] = &[
    "about", "add", "all", "and", "any", "are", "bar", "can", "code", "does", "file", "find",
    "for", "from", "function", "get", "has", "have", "how", "index", "into", "lib", "main", "mod",
    "new", "not", "our", "out", "set", "show", "src", "test", "tests", "that", "the", "their",
    "there", "this", "use", "used", "uses", "using", "was", "what", "when", "where", "which",
    "who", "why", "with", "work", "works", "you",
];

/// A session as a searchable document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionText {
    pub(crate) id: String,
    /// The only principal that may find it.
    pub(crate) principal: String,
    pub(crate) text: String,
    /// Time of the last activity, RFC 3339.
    pub(crate) date: String,
    /// Module that contains most of its files.
    pub(crate) module: Option<String>,
}

impl SessionText {
    pub(super) fn from_session(
        session: &SessionRecord,
        module_of: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let mut lines = Vec::new();
        let topics = extract_topics(session);
        if !topics.is_empty() {
            lines.push(format!("Session about {}", topics.join(", ")));
        }
        if !session.searches.is_empty() {
            let queries = session.searches.iter().take(MAX_SEARCHES);
            let queries: Vec<_> = queries.map(|search| sanitize_line(&search.query, 200)).collect();
            lines.push(format!("Searched for: {}", queries.join("; ")));
        }
        if !session.files.is_empty() {
            let files: Vec<_> =
                session.files.iter().take(MAX_FILES).map(|file| file.path.as_str()).collect();
            lines.push(format!("Read: {}", files.join(", ")));
        }
        Self {
            id: session.key.id.clone(),
            principal: session.key.principal.clone(),
            text: sanitize_text(&lines.join("\n"), MAX_TEXT),
            date: session.seen_at.to_string(),
            module: main_module(session, module_of),
        }
    }
}

/// Returns the module of more than half of the session's files, if there is one.
fn main_module(
    session: &SessionRecord,
    module_of: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for module in session.files.iter().filter_map(|file| module_of(&file.path)) {
        *counts.entry(module).or_default() += 1;
    }
    let (module, count) =
        counts.into_iter().max_by(|(a, n), (b, m)| n.cmp(m).then_with(|| b.cmp(a)))?;
    (2 * count > session.files.len()).then_some(module)
}

/// Returns the most frequent words in the queries and file names of a session.
pub(crate) fn extract_topics(session: &SessionRecord) -> Vec<String> {
    // Query words were chosen deliberately, so they count more than words of file names.
    let searched = session.searches.iter().map(|search| (search.query.as_str(), 3));
    let read = session.files.iter().map(|file| (file.path.as_str(), 1));
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    for (order, (text, weight)) in searched.chain(read).enumerate() {
        for word in extract_words(text) {
            counts.entry(word).or_insert((0, order)).0 += weight;
        }
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_by(|(a, (n, first)), (b, (m, second))| {
        m.cmp(n).then(first.cmp(second)).then_with(|| a.cmp(b))
    });
    words.into_iter().take(MAX_TOPICS).map(|(word, _)| word).collect()
}

/// Returns the significant words of a text, each once, ignoring a file extension.
fn extract_words(text: &str) -> Vec<String> {
    let text = match text.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty() && extension.len() <= 4 && !extension.contains(' ') =>
        {
            stem
        }
        _ => text,
    };
    let mut found = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let word = word.to_lowercase();
        let is_significant = word.chars().count() >= 3
            && !word.chars().all(char::is_numeric)
            && STOP_WORDS.binary_search(&word.as_str()).is_err();
        if is_significant && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}

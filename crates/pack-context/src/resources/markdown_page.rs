//! Builds Markdown pages of bounded size.

use contract::text::one_line;

use crate::discover::{Discovery, sanitize_line};

/// Maximum size of a page: about 8,000 tokens, which a client can read at once.
pub(crate) const MAX_BYTES: usize = 32 * 1024;
/// Bytes reserved for the truncation notice.
const RESERVED: usize = 100;
/// Maximum characters shown of a discovery.
const MAX_SHOWN: usize = 400;

/// A Markdown page under construction.
pub(super) struct MarkdownPage {
    text: String,
    /// Number of blocks that did not fit.
    omitted: usize,
}

impl MarkdownPage {
    pub(super) fn new(title: &str) -> Self {
        Self { text: format!("# {}\n", one_line(title)), omitted: 0 }
    }

    /// Appends a paragraph.
    pub(super) fn push_paragraph(&mut self, text: &str) {
        self.push_block(&format!("\n{text}\n"));
    }

    /// Appends a section with a list; no-op if the list is empty. `total` counts the items including those not given.
    pub(super) fn push_list(
        &mut self,
        title: &str,
        total: usize,
        items: impl IntoIterator<Item = String>,
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.push_block(&format!("\n## {title}\n\n"));
        let mut shown = 0;
        for item in items {
            shown += usize::from(self.push_block(&format!("- {item}\n")));
        }
        if total > shown {
            self.push_block(&format!("- … and {} more\n", total - shown));
        }
    }

    /// Appends a block; returns false if it does not fit.
    fn push_block(&mut self, block: &str) -> bool {
        let fits = self.text.len() + block.len() <= MAX_BYTES - RESERVED;
        if fits {
            self.text.push_str(block);
        } else {
            self.omitted += 1;
        }
        fits
    }

    /// Returns the Markdown, with a notice if blocks were omitted.
    pub(super) fn finish(mut self) -> String {
        if self.omitted > 0 {
            self.text.push_str("\n_Truncated: pages are limited to 32 KB._\n");
        }
        self.text
    }
}

/// Formats a path or name as inline code.
pub(super) fn format_code(text: &str) -> String {
    let text = one_line(text);
    // A name that contains a backtick needs double backticks around it.
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Formats a discovery on one line: day, kind, text and source.
pub(super) fn format_discovery(discovery: &Discovery) -> String {
    let Discovery { kind, title, content, date, source, .. } = discovery;
    let title = title
        .as_ref()
        .map(|title| format!("**{}** – ", sanitize_line(title, MAX_SHOWN)))
        .unwrap_or_default();
    let content = sanitize_line(content, MAX_SHOWN);
    let source = format_code(&source.to_string());
    format!("{} {kind}: {title}{content} ({source})", day_of_timestamp(date))
}

/// Returns the day of an RFC 3339 timestamp.
pub(super) fn day_of_timestamp(date: &str) -> &str {
    date.get(..10).unwrap_or(date)
}

/// Formats a number with a noun in the singular or plural.
pub(super) fn format_count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

//! A page of Markdown that is never longer than a reader can use.

use contract::text::one_line;

use crate::discover::{Discovery, tidy_line};

/// About eight thousand tokens: what a client can read whole.
pub(crate) const MAX_BYTES: usize = 32 * 1024;
/// Kept free for the last line.
const RESERVED: usize = 100;
/// How much of a discovery a list shows.
const MAX_SHOWN: usize = 400;

pub(super) struct Page {
    text: String,
    left_out: usize,
}

impl Page {
    pub(super) fn new(title: &str) -> Self {
        Self { text: format!("# {}\n", one_line(title)), left_out: 0 }
    }

    /// A paragraph.
    pub(super) fn say(&mut self, text: &str) {
        self.push(&format!("\n{text}\n"));
    }

    /// A section with a list; nothing where the list is empty. `of` is how many there are in all.
    pub(super) fn list(&mut self, title: &str, of: usize, items: impl IntoIterator<Item = String>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.push(&format!("\n## {title}\n\n"));
        let mut shown = 0;
        for item in items {
            shown += usize::from(self.push(&format!("- {item}\n")));
        }
        if of > shown {
            self.push(&format!("- … and {} more\n", of - shown));
        }
    }

    /// False where it did not fit.
    fn push(&mut self, piece: &str) -> bool {
        let fits = self.text.len() + piece.len() <= MAX_BYTES - RESERVED;
        if fits {
            self.text.push_str(piece);
        } else {
            self.left_out += 1;
        }
        fits
    }

    pub(super) fn finish(mut self) -> String {
        if self.left_out > 0 {
            self.text
                .push_str("\n_The page ends here: it may hold 32 KB, and the rest did not fit._\n");
        }
        self.text
    }
}

/// A path or a name, as code.
pub(super) fn code(text: &str) -> String {
    let text = one_line(text);
    // Only a name with a back tick in it needs more of them around.
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A discovery on one line: its day, what it says, where it is from.
pub(super) fn discovery(discovery: &Discovery) -> String {
    let Discovery { kind, title, content, date, source, .. } = discovery;
    let title = title
        .as_ref()
        .map(|title| format!("**{}** – ", tidy_line(title, MAX_SHOWN)))
        .unwrap_or_default();
    let content = tidy_line(content, MAX_SHOWN);
    let source = code(&source.to_string());
    format!("{} {kind}: {title}{content} ({source})", day(date))
}

/// The day of an RFC 3339 time.
pub(super) fn day(date: &str) -> &str {
    date.get(..10).unwrap_or(date)
}

pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

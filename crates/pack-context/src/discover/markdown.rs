//! Splits Markdown into entries: one for each list item and paragraph, with the headings above it.
//!
//! This is a line-based splitter for the Markdown used in guides and memory files, not a full parser. Unknown syntax is
//! treated as text, so no content is lost and parsing never fails.

/// A list item or paragraph.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MarkdownEntry<'a> {
    /// 1-based line number.
    pub(super) line: u32,
    /// Enclosing headings, outermost first.
    pub(super) headings: Vec<&'a str>,
    /// Paragraph that introduces the list, without its colon: "Never do this".
    pub(super) lead: Option<String>,
    pub(super) text: String,
    pub(super) is_item: bool,
}

/// Returns the `key: value` pairs of the front matter and the number of lines it occupies.
pub(super) fn parse_front_matter(text: &str) -> (Vec<(&str, &str)>, usize) {
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    if lines.next().is_none_or(|(_, first)| first.trim_end() != "---") {
        return (Vec::new(), 0);
    }
    let mut pairs = Vec::new();
    for (number, line) in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return (pairs, number + 1);
        }
        if let Some((key, value)) = line.split_once(':') {
            pairs.push((key.trim(), value.trim().trim_matches(['"', '\''])));
        }
    }
    // An unclosed `---` is a horizontal rule.
    (Vec::new(), 0)
}

/// Returns the level and text of an ATX heading.
pub(super) fn parse_heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let text = rest.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && !text.is_empty()).then_some((level, text))
}

/// Returns the list items and paragraphs of the text, in order.
pub(super) fn split_entries(text: &str) -> Vec<MarkdownEntry<'_>> {
    let (_, skipped) = parse_front_matter(text);
    let mut splitter = EntrySplitter::default();
    let mut lines = text.lines().zip(1..).skip(skipped).peekable();
    while let Some((line, number)) = lines.next() {
        let under = lines.peek().map_or("", |(next, _)| next.trim());
        splitter.feed_line(line, number, under);
    }
    splitter.close_entry();
    splitter.entries
}

#[derive(Default)]
struct EntrySplitter<'a> {
    entries: Vec<MarkdownEntry<'a>>,
    headings: Vec<(usize, &'a str)>,
    open: Option<MarkdownEntry<'a>>,
    lead: Option<String>,
    /// Fence that closes the current code block.
    fence: Option<&'static str>,
    in_comment: bool,
    /// True if a blank line was seen since the last line of text.
    blank: bool,
}

impl<'a> EntrySplitter<'a> {
    fn feed_line(&mut self, line: &'a str, number: u32, under: &str) {
        let indent = line.len() - line.trim_start().len();
        let trimmed = line.trim();
        if let Some(fence) = self.fence {
            if trimmed.starts_with(fence) {
                self.fence = None;
            } else if !trimmed.is_empty() {
                self.append_line(line.trim_end(), number);
            }
            return;
        }
        if self.in_comment || trimmed.starts_with("<!--") {
            self.in_comment = !trimmed.contains("-->");
            return;
        }
        if let Some(fence) = ["```", "~~~"].into_iter().find(|fence| trimmed.starts_with(fence)) {
            self.fence = Some(fence);
            return;
        }
        if trimmed.is_empty() {
            self.blank = true;
            // A list item may continue after a blank line; a paragraph may not.
            if self.open.as_ref().is_some_and(|open| !open.is_item) {
                self.close_entry();
            }
            return;
        }
        let blank = std::mem::take(&mut self.blank);
        if let Some((level, text)) = (indent == 0).then(|| parse_heading(line)).flatten() {
            return self.enter_heading(level, text);
        }
        if self.open.is_none()
            && indent == 0
            && is_underline(under)
            && parse_list_item(trimmed).is_none()
        {
            return self.enter_heading(if under.starts_with('=') { 1 } else { 2 }, trimmed);
        }
        if is_underline(trimmed) || is_horizontal_rule(trimmed) {
            return self.close_entry();
        }
        match parse_list_item(trimmed) {
            Some(text) if indent < 2 => {
                let lead = self.take_lead();
                self.open_entry(number, text, true, lead);
            }
            _ if blank && indent < 2 => {
                self.close_entry();
                self.lead = None;
                self.open_entry(number, trimmed, false, None);
            }
            _ => self.append_line(trimmed.trim_start_matches("> "), number),
        }
    }

    fn enter_heading(&mut self, level: usize, text: &'a str) {
        self.close_entry();
        self.lead = None;
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, text));
    }

    /// Appends a line to the open entry, or starts a paragraph.
    fn append_line(&mut self, text: &str, number: u32) {
        match &mut self.open {
            Some(open) => {
                open.text.push('\n');
                open.text.push_str(text);
            }
            None => {
                self.lead = None;
                self.open_entry(number, text, false, None);
            }
        }
    }

    fn open_entry(&mut self, line: u32, text: &str, is_item: bool, lead: Option<String>) {
        self.close_entry();
        let headings = self.headings.iter().map(|(_, text)| *text).collect();
        self.lead.clone_from(&lead);
        self.open = Some(MarkdownEntry { line, headings, lead, text: text.to_owned(), is_item });
    }

    /// Returns the lead of the list item that starts now: the paragraph above that ends in a colon, or the lead of the
    /// previous item.
    fn take_lead(&mut self) -> Option<String> {
        self.close_entry();
        let leads = self.entries.pop_if(|last| {
            let headings = self.headings.iter().map(|(_, text)| *text);
            !last.is_item && last.text.ends_with(':') && last.headings.iter().copied().eq(headings)
        });
        match leads {
            Some(paragraph) => Some(paragraph.text.trim_end_matches(':').to_owned()),
            None => self.lead.take(),
        }
    }

    fn close_entry(&mut self) {
        self.entries.extend(self.open.take());
    }
}

/// Returns the text of a list item, without a task checkbox.
pub(super) fn parse_list_item(line: &str) -> Option<&str> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=3 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let task = ["[ ] ", "[x] ", "[X] "].into_iter().find_map(|mark| rest.strip_prefix(mark));
    Some(task.unwrap_or(rest)).filter(|text| !text.is_empty())
}

fn is_underline(line: &str) -> bool {
    line.len() >= 3 && (line.bytes().all(|b| b == b'=') || line.bytes().all(|b| b == b'-'))
}

fn is_horizontal_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|b| matches!(b, b'*' | b'_' | b' '))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use proptest::prelude::*;

    fn render_entries(text: &str) -> String {
        let mut out = String::new();
        for MarkdownEntry { line, headings, lead, text, is_item } in split_entries(text) {
            let mark = if is_item { "item" } else { "text" };
            let lead = lead.map(|lead| format!(" ({lead})")).unwrap_or_default();
            writeln!(out, "{line} {mark} [{}]{lead} {text:?}", headings.join(" > "))
                .expect("writing to a string succeeds");
        }
        out
    }

    #[test]
    fn splits_guide_into_entries() {
        let text = "---\ntitle: x\n---\n# Guide\n\nSome words\non two lines.\n\n## Tests ##\n\nNever:\n\n- commit secrets\n  (nor keys)\n- [ ] skip tests\n\n  more of it\n  - nested\n\n```sh\ncargo test\n```\n\n1. One\n2) Two\n\nAfter.\n> Quoted\n\nUnder\n-----\ntext\n\n---\n<!-- hidden\n- item -->\n* star";
        insta::assert_snapshot!(render_entries(text), @r#"
        6 text [Guide] "Some words\non two lines."
        13 item [Guide > Tests] (Never) "commit secrets\n(nor keys)"
        15 item [Guide > Tests] (Never) "skip tests\nmore of it\n- nested\ncargo test"
        24 item [Guide > Tests] (Never) "One"
        25 item [Guide > Tests] (Never) "Two"
        27 text [Guide > Tests] "After.\nQuoted"
        32 text [Guide > Under] "text"
        37 item [Guide > Under] "star"
        "#);
    }

    #[test]
    fn requires_closed_front_matter() {
        assert_eq!(
            parse_front_matter("---\nstatus: \"accepted\"\ndate: 2026-01-02\n---\nx"),
            (vec![("status", "accepted"), ("date", "2026-01-02")], 4)
        );
        assert_eq!(parse_front_matter("---\nstatus: accepted"), (vec![], 0));
        assert_eq!(parse_front_matter("status: x"), (vec![], 0));
    }

    proptest! {
        #[test]
        fn returns_entries_in_order_for_any_text(text in r"(?s)([-#>*`~=\n :|a-z0-9.]|\PC){0,200}") {
            let lines = text.lines().count();
            let mut last = 0;
            for entry in split_entries(&text) {
                prop_assert!(entry.line > last && entry.line as usize <= lines);
                prop_assert!(!entry.text.trim().is_empty());
                last = entry.line;
            }
        }
    }
}

//! A Markdown text as entries: one for each list item and each paragraph, with the headings above it.
//!
//! Line by line, with what guides and memory files use of Markdown; not a Markdown parser. What it does not know it
//! takes for text, so nothing is lost and nothing fails.

/// One statement of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// 1-based.
    pub(super) line: u32,
    /// From the outermost to the innermost.
    pub(super) headings: Vec<&'a str>,
    /// The paragraph that leads into a list, without its colon: "Never do this".
    pub(super) lead: Option<String>,
    pub(super) text: String,
    pub(super) is_item: bool,
}

/// The `key: value` lines between `---` at the start of a file, and the number of lines that they take.
pub(super) fn front_matter(text: &str) -> (Vec<(&str, &str)>, usize) {
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
    // Never closed: it was a line across the page.
    (Vec::new(), 0)
}

/// A heading's level and text.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let text = rest.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && !text.is_empty()).then_some((level, text))
}

pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let (_, skipped) = front_matter(text);
    let mut splitter = Splitter::default();
    let mut lines = text.lines().zip(1..).skip(skipped).peekable();
    while let Some((line, number)) = lines.next() {
        let under = lines.peek().map_or("", |(next, _)| next.trim());
        splitter.line(line, number, under);
    }
    splitter.close();
    splitter.entries
}

#[derive(Default)]
struct Splitter<'a> {
    entries: Vec<Entry<'a>>,
    headings: Vec<(usize, &'a str)>,
    open: Option<Entry<'a>>,
    lead: Option<String>,
    /// The marks that end the code block we are in.
    fence: Option<&'static str>,
    in_comment: bool,
    /// A blank line was seen since the last line of text.
    blank: bool,
}

impl<'a> Splitter<'a> {
    fn line(&mut self, line: &'a str, number: u32, under: &str) {
        let indent = line.len() - line.trim_start().len();
        let trimmed = line.trim();
        if let Some(fence) = self.fence {
            if trimmed.starts_with(fence) {
                self.fence = None;
            } else if !trimmed.is_empty() {
                self.more(line.trim_end(), number);
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
            // A list item may go on after a blank line, a paragraph does not.
            if self.open.as_ref().is_some_and(|open| !open.is_item) {
                self.close();
            }
            return;
        }
        let blank = std::mem::take(&mut self.blank);
        if let Some((level, text)) = (indent == 0).then(|| heading(line)).flatten() {
            return self.head(level, text);
        }
        if self.open.is_none() && indent == 0 && is_underline(under) && item(trimmed).is_none() {
            return self.head(if under.starts_with('=') { 1 } else { 2 }, trimmed);
        }
        if is_underline(trimmed) || is_rule(trimmed) {
            return self.close();
        }
        match item(trimmed) {
            Some(text) if indent < 2 => {
                let lead = self.take_lead();
                self.open(number, text, true, lead);
            }
            _ if blank && indent < 2 => {
                self.close();
                self.lead = None;
                self.open(number, trimmed, false, None);
            }
            _ => self.more(trimmed.trim_start_matches("> "), number),
        }
    }

    fn head(&mut self, level: usize, text: &'a str) {
        self.close();
        self.lead = None;
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, text));
    }

    /// A line of what is open, or the first of a paragraph.
    fn more(&mut self, text: &str, number: u32) {
        match &mut self.open {
            Some(open) => {
                open.text.push('\n');
                open.text.push_str(text);
            }
            None => {
                self.lead = None;
                self.open(number, text, false, None);
            }
        }
    }

    fn open(&mut self, line: u32, text: &str, is_item: bool, lead: Option<String>) {
        self.close();
        let headings = self.headings.iter().map(|(_, text)| *text).collect();
        self.lead.clone_from(&lead);
        self.open = Some(Entry { line, headings, lead, text: text.to_owned(), is_item });
    }

    /// What leads into the item that begins now: the paragraph just above that ends in a colon, or what led into the
    /// item before.
    fn take_lead(&mut self) -> Option<String> {
        self.close();
        let leads = self.entries.pop_if(|last| {
            let headings = self.headings.iter().map(|(_, text)| *text);
            !last.is_item && last.text.ends_with(':') && last.headings.iter().copied().eq(headings)
        });
        match leads {
            Some(paragraph) => Some(paragraph.text.trim_end_matches(':').to_owned()),
            None => self.lead.take(),
        }
    }

    fn close(&mut self) {
        self.entries.extend(self.open.take());
    }
}

/// The text of a list item; a task's box goes.
pub(super) fn item(line: &str) -> Option<&str> {
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

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|b| matches!(b, b'*' | b'_' | b' '))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) -> String {
        let mut out = String::new();
        for Entry { line, headings, lead, text, is_item } in entries(text) {
            let mark = if is_item { "item" } else { "text" };
            let lead = lead.map(|lead| format!(" ({lead})")).unwrap_or_default();
            writeln!(out, "{line} {mark} [{}]{lead} {text:?}", headings.join(" > "))
                .expect("a string");
        }
        out
    }

    #[test]
    fn entries_of_a_guide() {
        let text = "---\ntitle: x\n---\n# Guide\n\nSome words\non two lines.\n\n## Tests ##\n\nNever:\n\n- commit secrets\n  (nor keys)\n- [ ] skip tests\n\n  more of it\n  - nested\n\n```sh\ncargo test\n```\n\n1. One\n2) Two\n\nAfter.\n> Quoted\n\nUnder\n-----\ntext\n\n---\n<!-- hidden\n- item -->\n* star";
        insta::assert_snapshot!(check(text), @r#"
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
    fn a_front_matter_must_be_closed() {
        assert_eq!(
            front_matter("---\nstatus: \"accepted\"\ndate: 2026-01-02\n---\nx"),
            (vec![("status", "accepted"), ("date", "2026-01-02")], 4)
        );
        assert_eq!(front_matter("---\nstatus: accepted"), (vec![], 0));
        assert_eq!(front_matter("status: x"), (vec![], 0));
    }

    proptest! {
        #[test]
        fn any_text_gives_entries_in_order(text in r"(?s)([-#>*`~=\n :|a-z0-9.]|\PC){0,200}") {
            let lines = text.lines().count();
            let mut last = 0;
            for entry in entries(&text) {
                prop_assert!(entry.line > last && entry.line as usize <= lines);
                prop_assert!(!entry.text.trim().is_empty());
                last = entry.line;
            }
        }
    }
}

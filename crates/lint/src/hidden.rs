//! Characters that a person does not see but a model reads.

use std::fmt::Write;

use super::finding::Report;
use super::rules::Id;
use super::subject::Subject;
use super::texts::{self, Text};
use contract::text::{is_bidirectional, is_hidden, is_invisible};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    texts::each(subject.definition, &mut |text| judge(text, report));
}

pub(super) fn judge(text: &Text<'_>, report: &mut Report) {
    let hidden = hidden_in(text.text);
    let Some(first) = hidden.first() else { return };
    let mut message = format!("the text has {}", character(*first));
    if hidden.len() > 1 {
        write!(message, " and {} more", hidden.len() - 1).expect("a string takes any text");
    }
    report.add(
        Id::HiddenText,
        text.path(),
        message,
        "remove it: what a person cannot see must not reach a model",
    );
}

fn hidden_in(text: &str) -> Vec<char> {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: Option<usize>| index.and_then(|index| characters.get(index)).copied();
    (0..characters.len())
        .filter(|&index| {
            is_hidden(characters[index])
                && !is_ordinary(
                    at(index.checked_sub(1)),
                    characters[index],
                    at(index.checked_add(1)),
                )
        })
        .map(|index| characters[index])
        .collect()
}

/// Hidden characters in the one place where ordinary writing has them: `\r\n`, the colour and joint of an emoji, the
/// joiners inside words of scripts that need them.
fn is_ordinary(before: Option<char>, c: char, after: Option<char>) -> bool {
    let (Some(before), after) = (before, after.unwrap_or('\0')) else {
        return c == '\r' && after == Some('\n');
    };
    match c {
        '\r' => after == '\n',
        '\u{FE0E}' | '\u{FE0F}' => is_symbol(before) || after == '\u{20E3}',
        '\u{200D}' if is_symbol(after) => is_symbol(before) || before == '\u{FE0F}',
        '\u{200C}' | '\u{200D}' => joins(before) && joins(after),
        _ => false,
    }
}

fn is_symbol(c: char) -> bool {
    matches!(c, '\u{00A9}' | '\u{00AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Arabic and the Indic scripts, where a joiner changes the shape of a word.
fn joins(c: char) -> bool {
    matches!(c, '\u{0600}'..='\u{06FF}' | '\u{0900}'..='\u{0DFF}')
}

/// A character for a message: shown if it can be, and always by number.
pub(super) fn character(c: char) -> String {
    let kind = if ('\u{E0000}'..='\u{E007F}').contains(&c) {
        "the hidden tag character"
    } else if is_bidirectional(c) {
        "the bidirectional mark"
    } else if is_invisible(c) {
        "the invisible character"
    } else if c.is_control() {
        "the control character"
    } else {
        return format!("`{c}` (U+{:04X})", u32::from(c));
    };
    format!("{kind} U+{:04X}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_writing_is_left_alone() {
        for text in
            ["line\r\nline\tend", "⚠️ careful", "👩‍💻 and ❤️‍🔥 1️⃣", "می‌خواهم", "क्‍ष", "naïve – “quoted”"]
        {
            assert_eq!(hidden_in(text), [], "{text}");
        }
        for text in [
            "a\u{200b}b",
            "a\u{200d}b",
            "a\u{fe0f}",
            "\u{202e}",
            "a\rb",
            "\u{1b}[0m",
            "\r",
            "x\u{e0041}",
        ] {
            assert_eq!(hidden_in(text).len(), 1, "{text:?}");
        }
    }
}

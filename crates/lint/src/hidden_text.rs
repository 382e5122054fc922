//! Hidden characters: a person does not see them, but a model reads them.

use std::fmt::Write;

use super::finding::FindingCollector;
use super::rules::RuleId;
use super::subject::LintSubject;
use super::text_walk::{self, LocatedText};
use contract::text::{is_bidirectional, is_hidden, is_invisible};

pub(super) fn check_hidden_text(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    text_walk::visit_texts(subject.definition, &mut |text| check_text(text, report));
}

pub(super) fn check_text(text: &LocatedText<'_>, report: &mut FindingCollector) {
    let hidden = find_hidden(text.text);
    let Some(first) = hidden.first() else { return };
    let mut message = format!("the text has {}", describe_character(*first));
    if hidden.len() > 1 {
        write!(message, " and {} more", hidden.len() - 1).expect("writing to a string never fails");
    }
    report.add_finding(
        RuleId::HiddenText,
        text.to_pointer(),
        message,
        "remove hidden characters: text that a person cannot see must not reach a model",
    );
}

fn find_hidden(text: &str) -> Vec<char> {
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

/// Returns true for hidden characters of ordinary writing: `\r\n`, emoji variation selectors and joiners, and joiners
/// inside words of scripts that need them.
fn is_ordinary(before: Option<char>, c: char, after: Option<char>) -> bool {
    let (Some(before), after) = (before, after.unwrap_or('\0')) else {
        return c == '\r' && after == Some('\n');
    };
    match c {
        '\r' => after == '\n',
        '\u{FE0E}' | '\u{FE0F}' => is_symbol(before) || after == '\u{20E3}',
        '\u{200D}' if is_symbol(after) => is_symbol(before) || before == '\u{FE0F}',
        '\u{200C}' | '\u{200D}' => is_joining_script(before) && is_joining_script(after),
        _ => false,
    }
}

fn is_symbol(c: char) -> bool {
    matches!(c, '\u{00A9}' | '\u{00AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Returns true for Arabic and the Indic scripts, in which a joiner changes the shape of a word.
fn is_joining_script(c: char) -> bool {
    matches!(c, '\u{0600}'..='\u{06FF}' | '\u{0900}'..='\u{0DFF}')
}

/// Returns a description of a character for a message: the character itself if it is visible, and its code point.
pub(super) fn describe_character(c: char) -> String {
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
    fn accepts_hidden_characters_of_ordinary_writing_only() {
        for text in
            ["line\r\nline\tend", "⚠️ careful", "👩‍💻 and ❤️‍🔥 1️⃣", "می‌خواهم", "क्‍ष", "naïve – “quoted”"]
        {
            assert_eq!(find_hidden(text), [], "{text}");
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
            assert_eq!(find_hidden(text).len(), 1, "{text:?}");
        }
    }
}

//! Folds text to a plain form, so that disguised text is recognized: a letter that looks like `a` becomes `a`.
//!
//! Not a full confusables table: it covers letters of other scripts that look like Latin ones, styled alphabets, and
//! accents. Text in other languages may be garbled, which is harmless: only the matchers read the result.

use contract::text::{is_bidirectional, is_invisible};

/// Returns the text in lower case, without invisible characters, accents and apostrophes, and with look-alikes as Latin
/// letters.
pub(super) fn fold_text(text: &str) -> String {
    text.chars()
        .filter(|c| !is_invisible(*c) && !is_bidirectional(*c) && !is_combining_mark(*c))
        .filter(|c| !matches!(c, '\'' | '’' | 'ʼ' | '`' | '´'))
        .map(to_latin)
        .flat_map(char::to_lowercase)
        .map(to_latin)
        .collect()
}

/// Returns the hidden text that tag characters spell: U+E0041 is a hidden `A`.
pub(super) fn decode_tag_text(text: &str) -> Option<String> {
    let tags: String = text
        .chars()
        .filter_map(|c| u32::from(c).checked_sub(0xE0000))
        .filter(|offset| (0x20..0x7F).contains(offset))
        .filter_map(char::from_u32)
        .collect();
    (!tags.is_empty()).then_some(tags)
}

/// Returns the skeleton of a name. Two names with the same skeleton are easily confused.
pub(super) fn name_skeleton(name: &str) -> String {
    fold_text(name)
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .map(|c| match c {
            '0' => 'o',
            '1' | 'i' | '|' => 'l',
            '5' => 's',
            c => c,
        })
        .collect()
}

fn is_combining_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{20D0}'..='\u{20FF}')
}

fn to_latin(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    match c {
        'а' | 'α' | 'ɑ' | 'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'в' | 'β' => 'b',
        'с' | 'ϲ' | 'ç' | 'ć' | 'č' => 'c',
        'ԁ' | 'ď' => 'd',
        'е' | 'ё' | 'ε' | 'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
        'ɡ' | 'ğ' => 'g',
        'һ' | 'н' => 'h',
        'і' | 'ї' | 'ι' | 'ı' | 'ì'..='ï' | 'ī' | 'į' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' | 'ł' => 'l',
        'м' => 'm',
        'ո' | 'η' | 'ñ' | 'ń' | 'ň' => 'n',
        'о' | 'ο' | 'օ' | 'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' | 'ř' => 'r',
        'ѕ' | 'ś' | 'š' | 'ş' => 's',
        'т' | 'τ' | 'ť' => 't',
        'υ' | 'ս' | 'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ν' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' | 'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        // Fullwidth forms of ASCII.
        '\u{FF01}'..='\u{FF5E}' => map_range(c, 0xFF01, '!', 94),
        // Circled letters.
        '\u{24B6}'..='\u{24E9}' => map_range(c, 0x24B6, 'a', 26),
        // Mathematical alphabets: thirteen styles of A-Z a-z, then digits.
        '\u{1D400}'..='\u{1D6A3}' => map_range(c, 0x1D400, 'a', 26),
        '\u{1D7CE}'..='\u{1D7FF}' => map_range(c, 0x1D7CE, '0', 10),
        c => c,
    }
}

/// Maps a character to the corresponding one of an ASCII range that repeats every `period` characters.
fn map_range(c: char, start: u32, first: char, period: u32) -> char {
    char::from_u32(u32::from(first) + (u32::from(c) - start) % period).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_removes_disguises() {
        assert_eq!(
            fold_text("Ig\u{200b}nоre PRЕVIOUS Ínstructions"),
            "ignore previous instructions"
        );
        assert_eq!(fold_text("ｉｇｎｏｒｅ 𝐢𝐠𝐧𝐨𝐫𝐞 𝙸𝙶𝙽𝙾𝚁𝙴 ⓘⓖⓝⓞⓡⓔ"), "ignore ignore ignore ignore");
        assert_eq!(fold_text("don’t n\u{0301}o"), "dont no");
        let tags: String =
            "hi".chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c))).collect();
        assert_eq!(decode_tag_text(&format!("visible{tags}")), Some("hi".into()));
        assert_eq!(name_skeleton("Read_FiIe1"), name_skeleton("read-fileI"));
    }
}

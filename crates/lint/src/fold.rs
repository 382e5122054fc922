//! Text brought to a plain form, so that a disguise does not help: what looks like an `a` becomes an `a`.
//!
//! Not a full confusables table: the letters of other scripts that are drawn like Latin ones, the styled alphabets, and
//! accents. A text in another language survives unharmed enough, because nobody reads the result but the matchers.

use contract::text::{is_bidirectional, is_invisible};

/// Lower case, without invisible characters, accents and apostrophes, look-alikes as Latin letters.
pub(super) fn fold(text: &str) -> String {
    text.chars()
        .filter(|c| !is_invisible(*c) && !is_bidirectional(*c) && !is_mark(*c))
        .filter(|c| !matches!(c, '\'' | '’' | 'ʼ' | '`' | '´'))
        .map(look_alike)
        .flat_map(char::to_lowercase)
        .map(look_alike)
        .collect()
}

/// The text that tag characters spell, unseen by every reader: U+E0041 is a hidden `A`.
pub(super) fn tag_text(text: &str) -> Option<String> {
    let tags: String = text
        .chars()
        .filter_map(|c| u32::from(c).checked_sub(0xE0000))
        .filter(|offset| (0x20..0x7F).contains(offset))
        .filter_map(char::from_u32)
        .collect();
    (!tags.is_empty()).then_some(tags)
}

/// What a name looks like at a glance: two names with the same skeleton are easily mixed up.
pub(super) fn skeleton(name: &str) -> String {
    fold(name)
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

fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{20D0}'..='\u{20FF}')
}

fn look_alike(c: char) -> char {
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
        '\u{FF01}'..='\u{FF5E}' => offset(c, 0xFF01, '!', 94),
        // Circled letters.
        '\u{24B6}'..='\u{24E9}' => offset(c, 0x24B6, 'a', 26),
        // Mathematical alphabets: thirteen styles of A-Z a-z, then digits.
        '\u{1D400}'..='\u{1D6A3}' => offset(c, 0x1D400, 'a', 26),
        '\u{1D7CE}'..='\u{1D7FF}' => offset(c, 0x1D7CE, '0', 10),
        c => c,
    }
}

/// The character at the same place of an ASCII run that repeats every `period`.
fn offset(c: char, start: u32, first: char, period: u32) -> char {
    char::from_u32(u32::from(first) + (u32::from(c) - start) % period).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_come_off() {
        assert_eq!(fold("Ig\u{200b}nоre PRЕVIOUS Ínstructions"), "ignore previous instructions");
        assert_eq!(fold("ｉｇｎｏｒｅ 𝐢𝐠𝐧𝐨𝐫𝐞 𝙸𝙶𝙽𝙾𝚁𝙴 ⓘⓖⓝⓞⓡⓔ"), "ignore ignore ignore ignore");
        assert_eq!(fold("don’t n\u{0301}o"), "dont no");
        let tags: String =
            "hi".chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c))).collect();
        assert_eq!(tag_text(&format!("visible{tags}")), Some("hi".into()));
        assert_eq!(skeleton("Read_FiIe1"), skeleton("read-fileI"));
    }
}

//! Splits text into words, and identifiers into parts. It depends on character classes only, not on a language.

/// Returns runs of letters, digits and underscores with at least one letter or digit.
///
/// In scripts without spaces between words, every pair of adjacent characters is a word. A query then matches at any
/// position.
pub(super) fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !is_word(character))
        .flat_map(|rest| WordIter { rest, paired: false })
        .filter(|word| word.bytes().any(|byte| byte != b'_'))
}

/// Splits a run into spaced words and character pairs.
struct WordIter<'a> {
    rest: &'a str,
    /// True if the first character of the rest was the second of a pair.
    paired: bool,
}

impl<'a> Iterator for WordIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_ascii() {
            let all = std::mem::take(&mut self.rest);
            return (!all.is_empty()).then_some(all);
        }
        let mut characters = self.rest.chars();
        let first = characters.next()?;
        if !is_unspaced(first) {
            let (word, rest) =
                self.rest.split_at(self.rest.find(is_unspaced).unwrap_or(self.rest.len()));
            self.rest = rest;
            return Some(word);
        }
        let second = characters.next().filter(|second| is_unspaced(*second));
        let (whole, paired) = (self.rest, self.paired);
        self.rest = &whole[first.len_utf8()..];
        self.paired = second.is_some();
        match second {
            Some(second) => Some(&whole[..first.len_utf8() + second.len_utf8()]),
            None if paired => self.next(),
            None => Some(&whole[..first.len_utf8()]),
        }
    }
}

/// Returns true for Han and kana characters.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Splits an identifier into parts: `parseHTTPRequest2` yields `parse`, `HTTP`, `Request`, `2`.
pub(super) fn split_identifier(word: &str) -> IdentifierParts<'_> {
    IdentifierParts { rest: word }
}

pub(super) struct IdentifierParts<'a> {
    rest: &'a str,
}

impl<'a> Iterator for IdentifierParts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start_matches('_');
        if rest.is_empty() {
            return None;
        }
        let (part, rest) = rest.split_at(end_of_part(rest));
        self.rest = rest;
        Some(part)
    }
}

fn end_of_part(rest: &str) -> usize {
    let mut characters = rest.char_indices().peekable();
    let mut before: Option<CharClass> = None;
    while let Some((at, character)) = characters.next() {
        let class = CharClass::from_char(character);
        let after = characters.peek().map(|&(_, next)| CharClass::from_char(next));
        let ends = match (before, class) {
            (_, CharClass::Underscore) => true,
            (None, _) => false,
            (Some(CharClass::Lower), CharClass::Upper) => true,
            // The `R` of `HTTPRequest` begins the next word; the `P` does not.
            (Some(CharClass::Upper), CharClass::Upper) => after == Some(CharClass::Lower),
            (Some(before), class) => (before == CharClass::Digit) != (class == CharClass::Digit),
        };
        if ends {
            return at;
        }
        before = Some(class);
    }
    rest.len()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Upper,
    Lower,
    Digit,
    Underscore,
}

impl CharClass {
    fn from_char(character: char) -> Self {
        if character == '_' {
            Self::Underscore
        } else if character.is_numeric() {
            Self::Digit
        } else if character.is_uppercase() {
            Self::Upper
        } else {
            Self::Lower
        }
    }
}

//! Where words and the parts of identifiers begin and end. Knows letters, not languages.

/// Runs of letters, digits and underscores that hold at least one letter or digit. Where a script puts no space between
/// words, every pair of neighbours is a word: what is asked for is then found wherever it begins.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !is_word(character))
        .flat_map(|rest| Words { rest, paired: false })
        .filter(|word| word.bytes().any(|byte| byte != b'_'))
}

struct Words<'a> {
    rest: &'a str,
    /// Whether the first character of the rest was the second of a pair.
    paired: bool,
}

impl<'a> Iterator for Words<'a> {
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

/// Han and kana.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The parts of an identifier: `parseHTTPRequest2` is `parse`, `HTTP`, `Request`, `2`.
pub(super) fn parts(word: &str) -> Parts<'_> {
    Parts { rest: word }
}

pub(super) struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Parts<'a> {
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
    let mut before: Option<Class> = None;
    while let Some((at, character)) = characters.next() {
        let class = Class::of(character);
        let after = characters.peek().map(|&(_, next)| Class::of(next));
        let ends = match (before, class) {
            (_, Class::Underscore) => true,
            (None, _) => false,
            (Some(Class::Lower), Class::Upper) => true,
            // The `R` of `HTTPRequest` begins the next word; the `P` does not.
            (Some(Class::Upper), Class::Upper) => after == Some(Class::Lower),
            (Some(before), class) => (before == Class::Digit) != (class == Class::Digit),
        };
        if ends {
            return at;
        }
        before = Some(class);
    }
    rest.len()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Underscore,
}

impl Class {
    fn of(character: char) -> Self {
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

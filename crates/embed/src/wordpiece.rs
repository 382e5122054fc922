//! WordPiece tokenizer of BERT models.
//!
//! Matches the reference implementation with one exception: the names of control tokens, such as `[SEP]`, are plain
//! text here. Otherwise a file that mentions them could terminate its own token sequence.

use std::collections::HashMap;

use unicode_categories::UnicodeCategories;
use unicode_normalization::UnicodeNormalization;

const UNKNOWN: &str = "[UNK]";
const START: &str = "[CLS]";
const END: &str = "[SEP]";

/// Maximum word length in characters. Longer words are unknown, as in the reference. This also bounds the work per word.
const MAX_WORD_CHARS: usize = 100;

/// A WordPiece vocabulary.
pub(crate) struct WordPiece {
    /// Ids of word pieces that begin a word.
    heads: HashMap<&'static str, u32>,
    /// Ids of word pieces that continue a word, without their `##` prefix.
    tails: HashMap<&'static str, u32>,
    unknown: u32,
    start: u32,
    end: u32,
}

impl WordPiece {
    /// Parses a vocabulary with one word piece per line. The id of a word piece is its line number.
    pub(crate) fn new(vocabulary: &'static str) -> Self {
        let mut heads = HashMap::new();
        let mut tails = HashMap::new();
        for (id, piece) in (0..).zip(vocabulary.lines()) {
            match piece.strip_prefix("##") {
                Some(tail) if !tail.is_empty() => tails.insert(tail, id),
                _ => heads.insert(piece, id),
            };
        }
        let control = |name| *heads.get(name).expect("the vocabulary has the control tokens");
        let (unknown, start, end) = (control(UNKNOWN), control(START), control(END));
        Self { heads, tails, unknown, start, end }
    }

    /// Returns the tokens of a text with start and end tokens, truncated to `limit` tokens.
    pub(crate) fn encode(&self, text: &str, limit: usize) -> Vec<u32> {
        let mut tokens = vec![self.start];
        let room = limit - 1;
        let mut word = String::new();
        for char in normalize_text(text) {
            if tokens.len() >= room {
                break;
            }
            if char.is_whitespace() {
                self.push_word(&mut word, &mut tokens);
            } else if is_punctuation(char) {
                self.push_word(&mut word, &mut tokens);
                word.push(char);
                self.push_word(&mut word, &mut tokens);
            } else {
                word.push(char);
            }
        }
        self.push_word(&mut word, &mut tokens);
        tokens.truncate(room);
        tokens.push(self.end);
        tokens
    }

    /// Splits a word into its longest matching word pieces, appends their tokens and clears the word.
    fn push_word(&self, word: &mut String, tokens: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let before = tokens.len();
        let mut rest = word.as_str();
        let mut pieces = &self.heads;
        if rest.chars().nth(MAX_WORD_CHARS).is_some() {
            rest = "";
            tokens.push(self.unknown);
        }
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, char)| at + char.len_utf8());
            let longest = ends.rev().find_map(|end| Some((end, *pieces.get(&rest[..end])?)));
            match longest {
                Some((end, id)) => {
                    tokens.push(id);
                    rest = &rest[end..];
                    pieces = &self.tails;
                }
                None => {
                    // A word with one unknown part is unknown as a whole.
                    tokens.truncate(before);
                    tokens.push(self.unknown);
                    break;
                }
            }
        }
        word.clear();
    }
}

/// Lowercases a text, removes accents and control characters, and maps whitespace to spaces.
///
/// Ideographs are surrounded by spaces, because each one is a word.
fn normalize_text(text: &str) -> impl Iterator<Item = char> + '_ {
    let clean = text.chars().filter_map(|char| match char {
        '\t' | '\n' | '\r' => Some(' '),
        '\0' | '\u{fffd}' => None,
        char if char.is_ascii() => (!char.is_ascii_control()).then_some(char),
        char if char.is_other() => None,
        char if char.is_whitespace() => Some(' '),
        char => Some(char),
    });
    let spaced = clean.flat_map(|char| {
        let space = is_ideograph(char).then_some(' ');
        space.into_iter().chain([char]).chain(space)
    });
    spaced.nfd().filter(|char| !char.is_mark_nonspacing()).flat_map(char::to_lowercase)
}

fn is_punctuation(char: char) -> bool {
    char.is_ascii_punctuation() || (!char.is_ascii() && char.is_punctuation())
}

fn is_ideograph(char: char) -> bool {
    matches!(u32::from(char),
        0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0x20000..=0x2A6DF
        | 0x2A700..=0x2B73F
        | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF
        | 0x2F800..=0x2FA1F)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    fn tokenizer() -> &'static WordPiece {
        static TOKENIZER: LazyLock<WordPiece> =
            LazyLock::new(|| WordPiece::new(crate::minilm::VOCABULARY));
        &TOKENIZER
    }

    /// Expected tokens come from Hugging Face's `tokenizers` 0.23.
    #[test]
    fn tokens_match_reference() {
        let mut long = vec![101, 13360];
        long.extend([11057].repeat(48));
        long.extend([2050, 100, 102]);
        let cases: [(&str, &[u32]); 12] = [
            ("", &[101, 102]),
            (
                "Café DÉJÀ-vu: naïve façade",
                &[101, 7668, 2139, 3900, 1011, 24728, 1024, 15743, 8508, 102],
            ),
            (
                "unaffable HTTPServerError snake_case",
                &[101, 14477, 20961, 3468, 16770, 2121, 28943, 18933, 2099, 7488, 1035, 2553, 102],
            ),
            (
                "İstanbul ΣΑΣ Straße ﬁn ½",
                &[101, 9960, 1173, 14608, 29733, 2358, 27807, 1984, 2078, 1092, 102],
            ),
            ("你好 world世界", &[101, 100, 100, 2088, 1745, 100, 102]),
            (
                "a\u{ad}b c\u{200d}d\ttab\u{3000}wide\u{2028}line",
                &[101, 11113, 3729, 21628, 2898, 2240, 102],
            ),
            (
                "x=y+1; // don't!",
                &[101, 1060, 1027, 1061, 1009, 1015, 1025, 1013, 1013, 2123, 1005, 1056, 999, 102],
            ),
            ("नमस्ते", &[101, 1327, 29867, 29874, 29859, 102]),
            ("e\u{301} \0\u{7f}\u{fffd}ok", &[101, 1041, 7929, 102]),
            ("😀 smile", &[101, 100, 2868, 102]),
            ("한국어", &[101, 1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 102]),
            (&format!("{} {}", "a".repeat(100), "a".repeat(101)), &long),
        ];
        let tokenizer = tokenizer();
        for (text, expected) in cases {
            assert_eq!(tokenizer.encode(text, 256), expected, "{text:?}");
        }
    }

    #[test]
    fn control_token_names_are_plain_text() {
        assert_eq!(tokenizer().encode("[SEP]", 256), [101, 1031, 19802, 1033, 102]);
    }

    #[test]
    fn truncates_long_text_and_keeps_end_token() {
        let tokens = tokenizer().encode(&"word ".repeat(1000), 256);
        assert_eq!(tokens.len(), 256);
        assert_eq!(tokens.last(), Some(&102));
    }

    proptest! {
        #[test]
        fn encodes_any_text_within_limit_and_vocabulary(text in "\\PC{0,80}|(.|\\n){0,80}", limit in 2usize..40) {
            let tokenizer = tokenizer();
            let tokens = tokenizer.encode(&text, limit);
            prop_assert!(tokens.len() <= limit);
            prop_assert_eq!((tokens[0], tokens[tokens.len() - 1]), (101, 102));
            let known = tokens.iter().all(|token| *token < 30_522);
            prop_assert!(known);
            let inner = &tokens[1..tokens.len() - 1];
            prop_assert!(!inner.contains(&101) && !inner.contains(&102));
        }
    }
}

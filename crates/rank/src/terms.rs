//! The words of a text, as they are compared: identifiers in their parts and whole, lower case, stemmed.
//!
//! `parseHTTPRequest`, `parse_http_request` and `ParseHttpRequest` all give `pars`, `http`, `request` and, for the whole,
//! `parsehttprequest`. Words of prose take the same way, so a question meets the code that it is about. What a document
//! defines has terms of its own, so that a definition is found among any number of mentions.

mod abbreviation;
mod split;
mod stop;

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

pub(crate) use stop::is_stop_word;

/// Longer runs of letters are data (keys, digests, encoded pictures), not words; only their beginning counts.
const MAX_WORD_BYTES: usize = 64;

/// Words whose stems a thread remembers; source code says the same few thousand words over and over.
const REMEMBERED: usize = 1 << 15;

/// One term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term<'a> {
    /// Lower case, not yet stemmed.
    pub text: &'a str,
    /// The number that stands for its stem; equal stems have equal numbers.
    pub hash: u32,
    /// An identifier with several parts, as a whole.
    pub whole: bool,
}

/// Calls `found` for each term of a text, in order; the parts of an identifier come before the whole.
pub fn each(text: &str, mut found: impl FnMut(Term<'_>)) {
    STEMS.with_borrow_mut(|stems| {
        let mut lower = String::new();
        for word in split::words(text) {
            let word = clipped(word);
            let mut parts = 0;
            for part in split::parts(word) {
                lower_into(&mut lower, part);
                found(Term { text: &lower, hash: stems.hash(&lower), whole: false });
                parts += 1;
            }
            if parts > 1 {
                lower_into(&mut lower, word);
                lower.retain(|character| character != '_');
                found(Term { text: &lower, hash: stems.hash(&lower), whole: true });
            }
        }
    });
}

/// The number that stands for the definition of a name, whatever it is part of and however it is written.
pub(crate) fn definition(name: &str) -> Option<u32> {
    // No word begins with a space, so no word has the number of a definition.
    let mut text = String::from(" ");
    let last = split::words(name).last()?;
    text.extend(
        clipped(last).chars().filter(|&character| character != '_').flat_map(char::to_lowercase),
    );
    Some(hash(&text))
}

/// The stem of a whole name, without its parts.
pub(crate) fn whole(name: &str) -> Option<u32> {
    let mut last = None;
    each(name, |term| last = Some(term.hash));
    last
}

/// The longest beginning of a word that is short enough.
fn clipped(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD_BYTES)]
}

fn lower_into(lower: &mut String, text: &str) {
    lower.clear();
    if text.is_ascii() {
        lower.push_str(text);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(text.chars().flat_map(char::to_lowercase));
    }
}

thread_local! {
    static STEMS: RefCell<Stems> = RefCell::new(Stems::new());
}

/// Stems by Porter's second algorithm, which is slow enough to be worth a memory.
struct Stems {
    stemmer: Stemmer,
    known: HashMap<Box<str>, u32>,
}

impl Stems {
    fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }

    fn hash(&mut self, word: &str) -> u32 {
        // A letter, or not English: its own stem.
        if word.len() < 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return hash(word);
        }
        if let Some(&known) = self.known.get(word) {
            return known;
        }
        let hash = hash(&self.stemmer.stem(abbreviation::long_form(word)));
        if self.known.len() == REMEMBERED {
            self.known.clear();
        }
        self.known.insert(word.into(), hash);
        hash
    }
}

/// FNV-1a, then mixed. It is stored in bags, so it must never change without a new analyser version.
fn hash(stem: &str) -> u32 {
    let fnv = stem.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str) -> Vec<(String, u32)> {
        let mut all = Vec::new();
        each(text, |term| all.push((term.text.to_owned(), term.hash)));
        all
    }

    fn check(text: &str) -> String {
        terms(text).into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_identifier_gives_its_parts_and_itself() {
        let samples = [
            "parseHTTPRequest parse_http_request ParseHttpRequest PARSE_HTTP_REQUEST",
            "__init__ _private x i18n sha256 utf8Decode OAuth2Client v4",
            "Router::route(path) a.b->c(D[0]) kebab-case-name $scope @types/node",
            "don't naïve Größe ΣΊΣΥΦΟΣ 設定ファイル été2",
            "",
            "___ --- 42 0xff 3.14",
        ];
        assert_snapshot!(samples.map(check).join("\n"));
    }

    #[test]
    fn styles_of_naming_and_endings_meet() {
        let hashes = |text: &str| terms(text).into_iter().map(|(_, hash)| hash).collect::<Vec<_>>();
        assert_eq!(hashes("parseHTTPRequest"), hashes("parse_http_request"));
        assert_eq!(hashes("connections"), hashes("connection"));
        assert_eq!(hashes("websocket"), hashes("WebSockets")[2..]);
        assert_eq!(hashes("directories"), hashes("dirs"));
        assert_ne!(hashes("router"), hashes("route_r"));
    }

    #[test]
    fn a_definition_is_found_by_its_last_part_in_any_style() {
        assert_eq!(definition("Router::add_route"), definition("addRoute"));
        assert_ne!(definition("Router::add_route"), definition("Router"));
        assert_eq!(definition("::"), None);
        let mut words = Vec::new();
        each("addRoute", |term| words.push(term.hash));
        assert!(!words.contains(&definition("addRoute").unwrap()));
    }

    #[test]
    fn a_word_without_end_is_clipped() {
        let long = "a".repeat(100_000);
        assert_eq!(check(&long).len(), MAX_WORD_BYTES);
        assert_eq!(check(&"é".repeat(100_000)).len(), MAX_WORD_BYTES);
    }

    proptest! {
        #[test]
        fn any_text_gives_lower_case_words(text in "\\PC{0,80}") {
            for (term, _) in terms(&text) {
                prop_assert!(!term.is_empty());
                prop_assert!(term.chars().all(char::is_alphanumeric), "{term:?}");
            }
        }

        #[test]
        fn what_lies_between_words_says_nothing(words in proptest::collection::vec("[a-zA-Z0-9_]{1,12}", 0..8)) {
            prop_assert_eq!(terms(&words.join(" ")), terms(&words.join("\n::-(\"")));
        }
    }
}

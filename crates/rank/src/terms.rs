//! Tokenizes text into terms: the parts of identifiers and whole identifiers, lowercased and stemmed.
//!
//! `parseHTTPRequest`, `parse_http_request` and `ParseHttpRequest` all yield `pars`, `http`, `request` and, for the
//! whole identifier, `parsehttprequest`. Prose is tokenized the same way, so that questions match code. Definitions
//! have separate terms, so that a definition is found among any number of mentions.

mod abbreviation;
mod split;
mod stop;

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

pub(crate) use stop::is_stop_word;

/// Maximum length of a word. Longer runs of letters are data, such as keys, digests or encoded images, and are
/// truncated.
const MAX_WORD_BYTES: usize = 64;

/// Maximum number of cached stems per thread. Source code repeats the same few thousand words.
const MAX_CACHED_STEMS: usize = 1 << 15;

/// A term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextTerm<'a> {
    /// Lower case, not yet stemmed.
    pub text: &'a str,
    /// Hash of the stem.
    pub hash: u32,
    /// True for a whole identifier that has several parts.
    pub whole: bool,
}

/// Calls `found` for each term of a text, in order. The parts of an identifier precede the whole.
pub fn for_each_term(text: &str, mut found: impl FnMut(TextTerm<'_>)) {
    STEMS.with_borrow_mut(|stems| {
        let mut lower = String::new();
        for word in split::split_words(text) {
            let word = clip_word(word);
            let mut parts = 0;
            for part in split::split_identifier(word) {
                lowercase_into(&mut lower, part);
                found(TextTerm { text: &lower, hash: stems.stem_hash(&lower), whole: false });
                parts += 1;
            }
            if parts > 1 {
                lowercase_into(&mut lower, word);
                lower.retain(|character| character != '_');
                found(TextTerm { text: &lower, hash: stems.stem_hash(&lower), whole: true });
            }
        }
    });
}

/// Returns the hash for the definition of a name, independent of its qualifier and its naming style.
pub(crate) fn definition_hash(name: &str) -> Option<u32> {
    // No word begins with a space, so the hashes of definitions and words are distinct.
    let mut text = String::from(" ");
    let last = split::split_words(name).last()?;
    text.extend(
        clip_word(last).chars().filter(|&character| character != '_').flat_map(char::to_lowercase),
    );
    Some(hash_stem(&text))
}

/// Returns the hash of a whole name, without its parts.
pub(crate) fn whole_name_hash(name: &str) -> Option<u32> {
    let mut last = None;
    for_each_term(name, |term| last = Some(term.hash));
    last
}

/// Truncates a word to [`MAX_WORD_BYTES`].
fn clip_word(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD_BYTES)]
}

fn lowercase_into(lower: &mut String, text: &str) {
    lower.clear();
    if text.is_ascii() {
        lower.push_str(text);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(text.chars().flat_map(char::to_lowercase));
    }
}

thread_local! {
    static STEMS: RefCell<StemCache> = RefCell::new(StemCache::new());
}

/// A cache of stems. The Porter2 algorithm is slow enough to justify it.
struct StemCache {
    stemmer: Stemmer,
    known: HashMap<Box<str>, u32>,
}

impl StemCache {
    fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }

    fn stem_hash(&mut self, word: &str) -> u32 {
        // Single letters and non-English words are not stemmed.
        if word.len() < 2 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return hash_stem(word);
        }
        if let Some(&known) = self.known.get(word) {
            return known;
        }
        let hash = hash_stem(&self.stemmer.stem(abbreviation::long_form(word)));
        if self.known.len() == MAX_CACHED_STEMS {
            self.known.clear();
        }
        self.known.insert(word.into(), hash);
        hash
    }
}

/// Hashes a stem with FNV-1a and a final mix. Hashes are stored in bags, so a change requires a new `bag::VERSION`.
fn hash_stem(stem: &str) -> u32 {
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
        for_each_term(text, |term| all.push((term.text.to_owned(), term.hash)));
        all
    }

    fn check(text: &str) -> String {
        terms(text).into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn splits_identifiers_into_parts_and_whole() {
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
    fn naming_styles_and_inflections_are_equal() {
        let hashes = |text: &str| terms(text).into_iter().map(|(_, hash)| hash).collect::<Vec<_>>();
        assert_eq!(hashes("parseHTTPRequest"), hashes("parse_http_request"));
        assert_eq!(hashes("connections"), hashes("connection"));
        assert_eq!(hashes("websocket"), hashes("WebSockets")[2..]);
        assert_eq!(hashes("directories"), hashes("dirs"));
        assert_ne!(hashes("router"), hashes("route_r"));
    }

    #[test]
    fn definition_hash_uses_the_last_part_in_any_style() {
        assert_eq!(definition_hash("Router::add_route"), definition_hash("addRoute"));
        assert_ne!(definition_hash("Router::add_route"), definition_hash("Router"));
        assert_eq!(definition_hash("::"), None);
        let mut words = Vec::new();
        for_each_term("addRoute", |term| words.push(term.hash));
        assert!(!words.contains(&definition_hash("addRoute").unwrap()));
    }

    #[test]
    fn truncates_long_words() {
        let long = "a".repeat(100_000);
        assert_eq!(check(&long).len(), MAX_WORD_BYTES);
        assert_eq!(check(&"é".repeat(100_000)).len(), MAX_WORD_BYTES);
    }

    proptest! {
        #[test]
        fn terms_of_any_text_are_alphanumeric(text in "\\PC{0,80}") {
            for (term, _) in terms(&text) {
                prop_assert!(!term.is_empty());
                prop_assert!(term.chars().all(char::is_alphanumeric), "{term:?}");
            }
        }

        #[test]
        fn separators_do_not_affect_terms(words in proptest::collection::vec("[a-zA-Z0-9_]{1,12}", 0..8)) {
            prop_assert_eq!(terms(&words.join(" ")), terms(&words.join("\n::-(\"")));
        }
    }
}

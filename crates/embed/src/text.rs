//! Preparation of documents for embedding.
//!
//! Small text models are trained on prose and on code quoted in prose. They understand code as written better than a
//! list of its words. But they do not recognize the words in `parseHTTPHeader`, and each bracket costs a token.
//! Therefore the words of the path and name come first, followed by only the beginning of the code: the signature, its
//! comment and the first statements. The preparation does not depend on the programming language.

/// Version of the preparation. Increase it whenever a document would yield a different text, because stored vectors are
/// keyed by text.
pub const VERSION: u32 = 3;

/// Maximum number of bytes of code per chunk. Together with the names this takes as many tokens as the plain words of
/// whole chunks did, and gave better search results.
const MAX_CODE_BYTES: usize = 350;

/// Maximum length of the words of a path or name; anything longer is data.
const MAX_NAME_BYTES: usize = 400;

/// Maximum length of prose. Models of this size ignore the rest.
const MAX_PROSE_BYTES: usize = 6000;

/// Maximum length of a word. Longer runs of letters and digits are keys, hashes or encoded images.
const MAX_WORD_BYTES: usize = 40;

/// Returns the text to embed for a code chunk: the words of its path, the words of its name, and its beginning.
///
/// The name is repeated, because it is the best short summary and would otherwise have little weight.
pub fn prepare_code(path: &str, name: Option<&str>, text: &str) -> String {
    let mut prepared = String::new();
    for label in [Some(path), name, name].into_iter().flatten() {
        let words = split_words(label);
        if !words.is_empty() {
            prepared.push_str(&words);
            prepared.push_str(". ");
        }
    }
    prepared.push_str(&take_beginning(text));
    prepared
}

/// Returns the text to embed for prose: the text with each run of whitespace replaced by one space.
pub fn prepare_prose(text: &str) -> String {
    let mut prose = String::new();
    for word in text.split_whitespace() {
        if prose.len() + word.len() > MAX_PROSE_BYTES {
            break;
        }
        if !prose.is_empty() {
            prose.push(' ');
        }
        prose.push_str(word);
    }
    prose
}

/// Returns the words of a path or name, separated by spaces.
fn split_words(name: &str) -> String {
    let mut words = String::new();
    for run in name.split(|char: char| !char.is_alphanumeric()) {
        if words.len() > MAX_NAME_BYTES {
            break;
        }
        if !is_data(run) {
            split_camel_case(run, |part| {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push_str(part);
            });
        }
    }
    words
}

/// Returns the beginning of a text without data, with each run of whitespace replaced by one space.
fn take_beginning(text: &str) -> String {
    let has_data = |word: &str| word.split(|char: char| !char.is_alphanumeric()).any(is_data);
    let mut beginning = String::new();
    for word in text.split_whitespace().filter(|word| !has_data(word)) {
        if beginning.len() >= MAX_CODE_BYTES {
            break;
        }
        if !beginning.is_empty() {
            beginning.push(' ');
        }
        beginning.push_str(word);
    }
    beginning.truncate(beginning.floor_char_boundary(MAX_CODE_BYTES));
    beginning
}

/// Returns `true` for a long ASCII run, such as a key or hash. A long run of other letters is a sentence in a script
/// without spaces.
fn is_data(run: &str) -> bool {
    run.len() > MAX_WORD_BYTES && run.is_ascii()
}

/// Splits a camel-case name into words: `parseHTTPHeader` into `parse`, `HTTP`, `Header`.
fn split_camel_case<'a>(name: &'a str, mut each: impl FnMut(&'a str)) {
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut chars = name.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = before
            .is_some_and(|before| char.is_uppercase() && (!before.is_uppercase() || next_is_lower));
        if begins {
            each(&name[start..at]);
            start = at;
        }
        before = Some(char);
    }
    if start < name.len() {
        each(&name[start..]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_text_starts_with_names_then_code() {
        let text =
            "async fn parseHTTPHeader(raw_bytes: &[u8; 16]) -> Result<(), E2> {\n  // Größe\n}";
        assert_eq!(
            (VERSION, prepare_code("src/net/http-header.rs", Some("Net::parseHTTPHeader"), text)),
            (
                3,
                "src net http header rs. Net parse HTTP Header. Net parse HTTP Header. \
                 async fn parseHTTPHeader(raw_bytes: &[u8; 16]) -> Result<(), E2> { // Größe }"
                    .into()
            ),
            "a changed text requires a new VERSION"
        );
    }

    #[test]
    fn omits_encoded_data() {
        let text = format!("const ICON = '{}'; draw()", "iVBORw0KGgo".repeat(9));
        assert_eq!(prepare_code("a.js", None, &text), "a js. const ICON = draw()");
    }

    #[test]
    fn keeps_sentences_without_spaces() {
        let text = "// 网络中断时数据会丢失所以要先写日志";
        assert_eq!(prepare_code("a.js", None, text), format!("a js. {text}"));
    }

    #[test]
    fn truncates_code_to_its_beginning() {
        let text = prepare_code("", None, &"größer(); ".repeat(90));
        assert!(text.starts_with("größer(); ") && text.len() == MAX_CODE_BYTES, "{}", text.len());
    }

    #[test]
    fn collapses_whitespace_in_prose() {
        assert_eq!(prepare_prose("  Use UTF-8,\n\n always.\t"), "Use UTF-8, always.");
    }

    proptest! {
        #[test]
        fn prepared_text_is_bounded(text in "\\PC{0,400}|(.|\\n){0,400}", times in 1usize..30) {
            let text = text.repeat(times);
            for words in [prepare_code("a/b", Some(&text), &text), prepare_prose(&text)] {
                prop_assert!(words.len() <= MAX_PROSE_BYTES + MAX_WORD_BYTES * 2);
                prop_assert!(!words.contains("  "));
            }
        }
    }
}

//! What of a document is worth embedding.
//!
//! Models of this kind have read prose, and code as it stands in prose. They understand code better as it is written than
//! as bare words, but do not see the words in `parseHTTPHeader`, and every bracket costs time. So the names of a piece
//! are taken apart and said first, and of the code itself only the beginning follows: that is where a signature, what a
//! comment says of it, and the first steps are. Nothing here depends on the programming language.

/// Raised whenever the same document would give another text: what was noted of a text then no longer names it.
pub const VERSION: u32 = 3;

/// How much of a piece of code is embedded, in bytes. With its names that is as many tokens as the bare words of whole
/// pieces had, and finds more.
const BEGINNING: usize = 350;

/// Paths and names are not longer; what is, is data.
const LONGEST_NAME: usize = 400;

/// No model of this size looks further, and a text that is kept by its hash need not be longer.
const LONGEST: usize = 6000;

/// Longer runs of letters and digits are keys, hashes and pictures, not words.
const LONGEST_WORD: usize = 40;

/// What is embedded for a piece of code: the words of its place, those of its name, then how it begins. The name comes
/// twice: it is the shortest summary that there is, and would be lost among the rest.
pub fn of_code(path: &str, name: Option<&str>, text: &str) -> String {
    let mut embedded = String::new();
    for said in [Some(path), name, name].into_iter().flatten() {
        let words = words(said);
        if !words.is_empty() {
            embedded.push_str(&words);
            embedded.push_str(". ");
        }
    }
    embedded.push_str(&beginning(text));
    embedded
}

/// What is embedded for text that people wrote: the text, with each run of white space as one space.
pub fn of_prose(text: &str) -> String {
    let mut prose = String::new();
    for word in text.split_whitespace() {
        if prose.len() + word.len() > LONGEST {
            break;
        }
        if !prose.is_empty() {
            prose.push(' ');
        }
        prose.push_str(word);
    }
    prose
}

/// The words of a path or a name, one space between them.
fn words(name: &str) -> String {
    let mut words = String::new();
    for run in name.split(|char: char| !char.is_alphanumeric()) {
        if words.len() > LONGEST_NAME {
            break;
        }
        if !is_data(run) {
            parts(run, |part| {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push_str(part);
            });
        }
    }
    words
}

/// The beginning of a text, each run of white space as one space, without what is data.
fn beginning(text: &str) -> String {
    let has_data = |word: &str| word.split(|char: char| !char.is_alphanumeric()).any(is_data);
    let mut beginning = String::new();
    for word in text.split_whitespace().filter(|word| !has_data(word)) {
        if beginning.len() >= BEGINNING {
            break;
        }
        if !beginning.is_empty() {
            beginning.push(' ');
        }
        beginning.push_str(word);
    }
    beginning.truncate(beginning.floor_char_boundary(BEGINNING));
    beginning
}

/// Data is written in ASCII; a long run of other letters is a sentence of a language without spaces.
fn is_data(run: &str) -> bool {
    run.len() > LONGEST_WORD && run.is_ascii()
}

/// The words of a name in camel case: `parseHTTPHeader` is `parse`, `HTTP`, `Header`.
fn parts<'a>(name: &'a str, mut each: impl FnMut(&'a str)) {
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
    fn names_come_first_then_the_code_as_it_is() {
        let text =
            "async fn parseHTTPHeader(raw_bytes: &[u8; 16]) -> Result<(), E2> {\n  // Größe\n}";
        assert_eq!(
            (VERSION, of_code("src/net/http-header.rs", Some("Net::parseHTTPHeader"), text)),
            (
                3,
                "src net http header rs. Net parse HTTP Header. Net parse HTTP Header. \
                 async fn parseHTTPHeader(raw_bytes: &[u8; 16]) -> Result<(), E2> { // Größe }"
                    .into()
            ),
            "another text for the same piece needs another VERSION"
        );
    }

    #[test]
    fn keys_and_pictures_are_left_out() {
        let text = format!("const ICON = '{}'; draw()", "iVBORw0KGgo".repeat(9));
        assert_eq!(of_code("a.js", None, &text), "a js. const ICON = draw()");
    }

    #[test]
    fn sentences_without_spaces_are_no_data() {
        let text = "// 网络中断时数据会丢失所以要先写日志";
        assert_eq!(of_code("a.js", None, text), format!("a js. {text}"));
    }

    #[test]
    fn only_the_beginning_of_code_counts() {
        let text = of_code("", None, &"größer(); ".repeat(90));
        assert!(text.starts_with("größer(); ") && text.len() == BEGINNING, "{}", text.len());
    }

    #[test]
    fn prose_stays_prose() {
        assert_eq!(of_prose("  Use UTF-8,\n\n always.\t"), "Use UTF-8, always.");
    }

    proptest! {
        #[test]
        fn any_text_gives_bounded_words(text in "\\PC{0,400}|(.|\\n){0,400}", times in 1usize..30) {
            let text = text.repeat(times);
            for words in [of_code("a/b", Some(&text), &text), of_prose(&text)] {
                prop_assert!(words.len() <= LONGEST + LONGEST_WORD * 2);
                prop_assert!(!words.contains("  "));
            }
        }
    }
}

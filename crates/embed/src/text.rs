//! Which words of a document are worth embedding.
//!
//! Models of this kind have read prose. Code becomes more like it, and two fifths shorter, when names are taken apart and
//! punctuation is left out; a model that looks at 256 tokens then sees more of a function. Nothing here depends on the
//! programming language.

/// No model of this size looks further, and a text that is kept by its hash need not be longer.
const LONGEST: usize = 6000;

/// Longer runs of letters and digits are keys, hashes and pictures, not words.
const LONGEST_WORD: usize = 40;

/// What is embedded for a piece of code: the words of its place and name, then its own.
pub fn of_code(path: &str, name: Option<&str>, text: &str) -> String {
    let mut words = Words::default();
    words.add(path);
    if let Some(name) = name {
        words.add(name);
    }
    words.add(text);
    words.text
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

/// Words, one space between them.
#[derive(Default)]
struct Words {
    text: String,
}

impl Words {
    fn add(&mut self, text: &str) {
        for run in text.split(|char: char| !char.is_alphanumeric()) {
            if self.text.len() > LONGEST {
                return;
            }
            if run.len() <= LONGEST_WORD {
                parts(run, |part| self.push(part));
            }
        }
    }

    fn push(&mut self, word: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }
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
    fn code_becomes_words() {
        let text =
            "async fn parseHTTPHeader(raw_bytes: &[u8; 16]) -> Result<(), E2> {\n  // Größe\n}";
        assert_eq!(
            of_code("src/net/http-header.rs", Some("parseHTTPHeader"), text),
            "src net http header rs parse HTTP Header \
             async fn parse HTTP Header raw bytes u8 16 Result E2 Größe"
        );
    }

    #[test]
    fn keys_and_pictures_are_left_out() {
        let text = format!("const ICON = '{}'; draw()", "iVBORw0KGgo".repeat(9));
        assert_eq!(of_code("a.js", None, &text), "a js const ICON draw");
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

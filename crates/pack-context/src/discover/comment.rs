//! TODO, FIXME, HACK and XXX in the comments of a source file.
//!
//! What is a comment is decided by `comment/lexer.rs`, which knows strings and comments of a language and nothing else. A
//! file without any of the words, which is most files, is not lexed.

mod lexer;

use std::sync::LazyLock;

use regex::Regex;
use store::context::Kind;

use self::lexer::CommentLine;
pub(super) use self::lexer::style_of;
use super::Draft;

/// More in one file are a habit, not issues.
const MAX_REQUESTS: usize = 50;
/// How many lines below the word still belong to it.
const MAX_LINES: usize = 5;

static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:TODO|FIXME|HACK|XXX)\b|@todo\b").expect("a test uses it"));

/// At the start of a comment, or anywhere if a colon follows: "see the TODO list" asks for nothing.
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\W{0,4}(?P<at_start>(?:TODO|FIXME|HACK|XXX|@todo))(?:[\s:(-]|$)|\b(?:TODO|FIXME|HACK|XXX)(?:\([^()]{0,40}\))?:",
    )
    .expect("a test uses it")
});

pub(super) fn requests(path: &str, text: &str) -> Vec<Draft> {
    if !WORD.is_match(text) {
        return Vec::new();
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let Some(style) = style_of(&name) else { return Vec::new() };
    let comments = lexer::comments(style, text);
    let found = comments.iter().enumerate().filter_map(|(at, comment)| {
        let start = request(comment.text)?;
        let mut content = comment.text[start..].trim_end().to_owned();
        let below = comments[at + 1..].iter().zip(comment.line + 1..).take(MAX_LINES);
        for (more, line) in below.take_while(|(more, line)| continues(comment, more, *line)) {
            debug_assert_eq!(more.line, line);
            content.push(' ');
            content.push_str(more.text.trim());
        }
        says_something(&content).then(|| Draft::new(comment.line, Kind::Issue, content))
    });
    found.take(MAX_REQUESTS).collect()
}

/// Where in a comment a request begins.
fn request(text: &str) -> Option<usize> {
    let found = REQUEST.captures(text)?;
    found.name("at_start").or_else(|| found.get(0)).map(|found| found.start())
}

fn continues(comment: &CommentLine<'_>, more: &CommentLine<'_>, line: u32) -> bool {
    more.line == line
        && more.is_alone
        && more.mark == comment.mark
        && !more.text.trim().is_empty()
        && request(more.text).is_none()
}

/// More than the bare word and an owner.
fn says_something(content: &str) -> bool {
    let rest = WORD.replace(content, "");
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest,
        None => rest,
    };
    rest.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(path: &str, text: &str) -> Vec<String> {
        let drafts = requests(path, text);
        drafts.into_iter().map(|draft| format!("{} {}", draft.line, draft.content)).collect()
    }

    #[test]
    fn only_in_comments() {
        let rust = "let url = \"https://x // TODO: no\"; // TODO: yes\nlet a = 'a'; fn f<'a>() {} // FIXME(ada): and this\n\
                    let raw = r#\"\n// TODO: no\n\"#;\n/* one\n * HACK: block\n *   goes on\n *\n * other */\nlet q = '\"'; // XXX quote\n";
        assert_eq!(
            check("src/a.rs", rust),
            ["1 TODO: yes", "2 FIXME(ada): and this", "7 HACK: block goes on", "11 XXX quote",]
        );
        let python = "s = '# TODO: no'\nd = \"\"\"\n# TODO: no\n\"\"\"\n# TODO: yes\n# on two lines\nx = 1  # not this\n";
        assert_eq!(check("a.py", python), ["5 TODO: yes on two lines"]);
        let script = "const s = `\n// TODO: no\n`; // TODO(#12): yes\nconst t = '// TODO: no';\n";
        assert_eq!(check("a.ts", script), ["3 TODO(#12): yes"]);
        assert_eq!(check("Makefile", "all: # TODO: split\n"), ["1 TODO: split"]);
        assert_eq!(check("q.sql", "select '--TODO: no' -- TODO: yes\n"), ["1 TODO: yes"]);
        assert_eq!(check("x.html", "<p>TODO: no</p><!-- TODO: yes -->\n"), ["1 TODO: yes"]);
    }

    #[test]
    fn what_asks_for_nothing() {
        for text in [
            "// TODO",
            "// TODO(ada):",
            "// see the TODO list",
            "// mastodon TODOS: x",
            "// todo: lower case",
            "//! TODO, FIXME and XXX in comments",
        ] {
            assert_eq!(check("a.rs", text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(check("a.php", "/** @todo remove it */"), ["1 @todo remove it"]);
        assert_eq!(check("a.bin", "// TODO: unknown language"), Vec::<String>::new());
        assert_eq!(check("a.go", &"// TODO: again\n\n".repeat(200)).len(), MAX_REQUESTS);
    }

    proptest! {
        #[test]
        fn any_text_is_lexed(text in r#"(?s)([/*#\-'"`\\\n<!>r{}]|TODO: |\PC){0,120}"#) {
            let lines = text.lines().count();
            for name in ["a.rs", "a.py", "a.ts", "a.lua", "a.html", "a.vue", "a.tex", "a.el", "a.php"] {
                for draft in requests(name, &text) {
                    prop_assert!(draft.line >= 1 && draft.line as usize <= lines);
                    prop_assert!(draft.content.contains("TODO"));
                }
            }
        }
    }
}

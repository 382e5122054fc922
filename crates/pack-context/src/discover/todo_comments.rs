//! TODO, FIXME, HACK and XXX in the comments of a source file.
//!
//! `todo_comments/lexer.rs` finds the comments; it knows only the strings and comments of a language. Files without any
//! of these words, which is most files, are not lexed.

mod lexer;

use std::sync::LazyLock;

use regex::Regex;
use store::context::DiscoveryKind;

use self::lexer::CommentLine;
pub(super) use self::lexer::comment_style_for;
use super::DiscoveryDraft;

/// Maximum TODO comments taken from one file.
const MAX_TODOS: usize = 50;
/// Maximum continuation lines below a TODO.
const MAX_LINES: usize = 5;

static TODO_WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:TODO|FIXME|HACK|XXX)\b|@todo\b").expect("valid regex, covered by tests")
});

/// Matches a TODO at the start of a comment, or anywhere if a colon follows. "see the TODO list" does not match.
static TODO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\W{0,4}(?P<at_start>(?:TODO|FIXME|HACK|XXX|@todo))(?:[\s:(-]|$)|\b(?:TODO|FIXME|HACK|XXX)(?:\([^()]{0,40}\))?:",
    )
    .expect("valid regex, covered by tests")
});

/// Returns a draft issue for each TODO comment of the file; empty if its language is unknown.
pub(super) fn extract_todo_comments(path: &str, text: &str) -> Vec<DiscoveryDraft> {
    if !TODO_WORD.is_match(text) {
        return Vec::new();
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let Some(style) = comment_style_for(&name) else { return Vec::new() };
    let comments = lexer::lex_comments(style, text);
    let found = comments.iter().enumerate().filter_map(|(at, comment)| {
        let start = find_todo(comment.text)?;
        let mut content = comment.text[start..].trim_end().to_owned();
        let below = comments[at + 1..].iter().zip(comment.line + 1..).take(MAX_LINES);
        for (more, line) in below.take_while(|(more, line)| is_continuation(comment, more, *line)) {
            debug_assert_eq!(more.line, line);
            content.push(' ');
            content.push_str(more.text.trim());
        }
        has_description(&content)
            .then(|| DiscoveryDraft::new(comment.line, DiscoveryKind::Issue, content))
    });
    found.take(MAX_TODOS).collect()
}

/// Returns the byte offset of a TODO in a comment, if there is one.
fn find_todo(text: &str) -> Option<usize> {
    let found = TODO.captures(text)?;
    found.name("at_start").or_else(|| found.get(0)).map(|found| found.start())
}

fn is_continuation(comment: &CommentLine<'_>, more: &CommentLine<'_>, line: u32) -> bool {
    more.line == line
        && more.is_alone
        && more.mark == comment.mark
        && !more.text.trim().is_empty()
        && find_todo(more.text).is_none()
}

/// Returns true if the comment has text besides the TODO word and an owner.
fn has_description(content: &str) -> bool {
    let rest = TODO_WORD.replace(content, "");
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

    fn todo_lines(path: &str, text: &str) -> Vec<String> {
        let drafts = extract_todo_comments(path, text);
        drafts.into_iter().map(|draft| format!("{} {}", draft.line, draft.content)).collect()
    }

    #[test]
    fn finds_todos_only_in_comments() {
        let rust = "let url = \"https://x // TODO: no\"; // TODO: yes\nlet a = 'a'; fn f<'a>() {} // FIXME(ada): and this\n\
                    let raw = r#\"\n// TODO: no\n\"#;\n/* one\n * HACK: block\n *   goes on\n *\n * other */\nlet q = '\"'; // XXX quote\n";
        assert_eq!(
            todo_lines("src/a.rs", rust),
            ["1 TODO: yes", "2 FIXME(ada): and this", "7 HACK: block goes on", "11 XXX quote",]
        );
        let python = "s = '# TODO: no'\nd = \"\"\"\n# TODO: no\n\"\"\"\n# TODO: yes\n# on two lines\nx = 1  # not this\n";
        assert_eq!(todo_lines("a.py", python), ["5 TODO: yes on two lines"]);
        let script = "const s = `\n// TODO: no\n`; // TODO(#12): yes\nconst t = '// TODO: no';\n";
        assert_eq!(todo_lines("a.ts", script), ["3 TODO(#12): yes"]);
        assert_eq!(todo_lines("Makefile", "all: # TODO: split\n"), ["1 TODO: split"]);
        assert_eq!(todo_lines("q.sql", "select '--TODO: no' -- TODO: yes\n"), ["1 TODO: yes"]);
        assert_eq!(todo_lines("x.html", "<p>TODO: no</p><!-- TODO: yes -->\n"), ["1 TODO: yes"]);
    }

    #[test]
    fn ignores_comments_without_a_todo_description() {
        for text in [
            "// TODO",
            "// TODO(ada):",
            "// see the TODO list",
            "// mastodon TODOS: x",
            "// todo: lower case",
            "//! TODO, FIXME and XXX in comments",
        ] {
            assert_eq!(todo_lines("a.rs", text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(todo_lines("a.php", "/** @todo remove it */"), ["1 @todo remove it"]);
        assert_eq!(todo_lines("a.bin", "// TODO: unknown language"), Vec::<String>::new());
        assert_eq!(todo_lines("a.go", &"// TODO: again\n\n".repeat(200)).len(), MAX_TODOS);
    }

    proptest! {
        #[test]
        fn lexes_any_text(text in r#"(?s)([/*#\-'"`\\\n<!>r{}]|TODO: |\PC){0,120}"#) {
            let lines = text.lines().count();
            for name in ["a.rs", "a.py", "a.ts", "a.lua", "a.html", "a.vue", "a.tex", "a.el", "a.php"] {
                for draft in extract_todo_comments(name, &text) {
                    prop_assert!(draft.line >= 1 && draft.line as usize <= lines);
                    prop_assert!(draft.content.contains("TODO"));
                }
            }
        }
    }
}

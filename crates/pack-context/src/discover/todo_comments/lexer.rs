//! Finds the comments of a source text, line by line, with a lexer that knows only strings and comments.
//!
//! If a language does not fit its [`CommentStyle`], the error is confined to one line. Only strings that may span lines
//! (Rust strings, Python triple-quoted strings, backticks) are followed past the end of a line.

/// Comment and string syntax of a language.
#[derive(Debug)]
pub(in super::super) struct CommentStyle {
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
    /// Quotes of strings that end at the line end at the latest.
    short: &'static str,
    /// Quotes of strings that may span lines.
    long: &'static [(&'static str, &'static str)],
    /// True if `'` starts a character literal, a lifetime or a digit separator.
    has_characters: bool,
}

const C: CommentStyle = CommentStyle {
    line: &["//"],
    block: Some(("/*", "*/")),
    short: "\"",
    long: &[],
    has_characters: true,
};
const RUST: CommentStyle = CommentStyle {
    short: "",
    long: &[("r##\"", "\"##"), ("r#\"", "\"#"), ("r\"", "\""), ("\"", "\"")],
    ..C
};
const GO: CommentStyle = CommentStyle { long: &[("`", "`")], ..C };
const SCRIPT: CommentStyle =
    CommentStyle { short: "\"'", long: &[("`", "`")], has_characters: false, ..C };
const PHP: CommentStyle = CommentStyle { line: &["//", "#"], ..SCRIPT };
const STYLESHEET: CommentStyle = CommentStyle { long: &[], ..SCRIPT };
const HASH: CommentStyle =
    CommentStyle { line: &["#"], block: None, short: "\"'", long: &[], has_characters: false };
const PYTHON: CommentStyle = CommentStyle { long: &[("\"\"\"", "\"\"\""), ("'''", "'''")], ..HASH };
const DASH: CommentStyle = CommentStyle { line: &["--"], block: Some(("/*", "*/")), ..HASH };
const LUA: CommentStyle = CommentStyle { block: Some(("--[[", "]]")), ..DASH };
const HASKELL: CommentStyle =
    CommentStyle { block: Some(("{-", "-}")), short: "\"", has_characters: true, ..DASH };
const LISP: CommentStyle = CommentStyle { line: &[";"], short: "", long: &[("\"", "\"")], ..HASH };
const PERCENT: CommentStyle = CommentStyle { line: &["%"], short: "", ..HASH };
const MARKUP: CommentStyle = CommentStyle {
    line: &[],
    block: Some(("<!--", "-->")),
    short: "",
    long: &[],
    has_characters: false,
};

/// Returns the comment style for a file name in lower case, or `None` if the language is unknown.
pub(in super::super) fn comment_style_for(name: &str) -> Option<&'static CommentStyle> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    Some(match extension {
        "rs" => &RUST,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "m" | "mm" | "java" | "kt"
        | "kts" | "swift" | "cs" | "scala" | "sol" | "proto" | "zig" | "d" | "v" | "sv" | "cu"
        | "glsl" | "wgsl" => &C,
        "go" => &GO,
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "dart" | "groovy"
        | "gradle" | "vue" | "svelte" => &SCRIPT,
        "php" => &PHP,
        "css" | "scss" | "less" => &STYLESHEET,
        "py" | "pyi" | "ex" | "exs" | "jl" | "toml" | "nix" => &PYTHON,
        "sh" | "bash" | "zsh" | "fish" | "rb" | "pl" | "pm" | "r" | "yaml" | "yml" | "mk"
        | "cmake" | "tf" | "hcl" | "dockerfile" | "gd" | "ps1" | "bzl" | "conf" => &HASH,
        "sql" | "ada" | "vhdl" => &DASH,
        "lua" => &LUA,
        "hs" | "elm" | "purs" => &HASKELL,
        "el" | "lisp" | "clj" | "cljs" | "scm" | "rkt" | "asm" | "ini" => &LISP,
        "tex" | "erl" | "hrl" => &PERCENT,
        "html" | "htm" | "xml" | "svg" => &MARKUP,
        _ if matches!(
            name,
            "makefile" | "gnumakefile" | "dockerfile" | "containerfile" | "rakefile" | "gemfile"
        ) =>
        {
            &HASH
        }
        _ => return None,
    })
}

/// One line of a comment.
#[derive(Debug)]
pub(super) struct CommentLine<'a> {
    /// 1-based line number.
    pub(super) line: u32,
    /// Text without leading comment markers and decoration.
    pub(super) text: &'a str,
    /// Leading comment marker; lines with the same marker may belong together.
    pub(super) mark: &'a str,
    /// True if the comment is alone on its line.
    pub(super) is_alone: bool,
}

/// Returns all comment lines of the text, in order.
pub(super) fn lex_comments<'a>(style: &CommentStyle, text: &'a str) -> Vec<CommentLine<'a>> {
    let mut lexer = CommentLexer { text, at: 0, line: 1, line_start: 0, found: Vec::new() };
    while lexer.at < text.len() {
        lexer.lex_next(style);
    }
    lexer.found
}

struct CommentLexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    found: Vec<CommentLine<'a>>,
}

impl<'a> CommentLexer<'a> {
    fn remaining_text(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn lex_next(&mut self, style: &CommentStyle) {
        let rest = self.remaining_text();
        if let Some((open, close)) = style.block.filter(|(open, _)| rest.starts_with(open)) {
            return self.lex_block_comment(open, close);
        }
        if style.line.iter().any(|mark| rest.starts_with(mark)) {
            return self.lex_line_comment();
        }
        if let Some((open, close)) = style.long.iter().find(|(open, _)| rest.starts_with(open)) {
            let opened = !open.starts_with('r') || !self.follows_identifier();
            if opened {
                return self.skip_long_string(open, close);
            }
        }
        let Some(c) = rest.chars().next() else { return };
        if style.short.contains(c) {
            self.skip_short_string(c);
        } else if c == '\'' && style.has_characters {
            self.skip_char_literal();
        } else {
            self.advance_bytes(c.len_utf8());
        }
    }

    /// Advances by `bytes`, updating the line number.
    fn advance_bytes(&mut self, bytes: usize) {
        let end = self.at + bytes;
        for (at, _) in self.text[self.at..end].match_indices('\n') {
            self.line += 1;
            self.line_start = self.at + at + 1;
        }
        self.at = end;
    }

    fn follows_identifier(&self) -> bool {
        self.text[..self.at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    fn is_first_on_line(&self) -> bool {
        self.text[self.line_start..self.at].trim().is_empty()
    }

    fn lex_line_comment(&mut self) {
        let rest = self.remaining_text();
        let end = rest.find('\n').unwrap_or(rest.len());
        let text = rest[..end].trim_start_matches(['/', '#', '-', ';', '%', '!']);
        let mark = &rest[..end - text.len()];
        self.found.push(CommentLine {
            line: self.line,
            text: text.trim(),
            mark,
            is_alone: self.is_first_on_line(),
        });
        self.advance_bytes(end);
    }

    fn lex_block_comment(&mut self, open: &str, close: &str) {
        let rest = self.remaining_text();
        let inside = &rest[open.len()..];
        let length = inside.find(close).unwrap_or(inside.len());
        let mut is_alone = self.is_first_on_line();
        for (text, line) in inside[..length].lines().zip(self.line..) {
            let text = text.trim_start().trim_start_matches(['*', '!', '-']).trim();
            self.found.push(CommentLine { line, text, mark: &rest[..open.len()], is_alone });
            is_alone = true;
        }
        let end = open.len() + length;
        self.advance_bytes(rest.len().min(end + close.len()));
    }

    fn skip_long_string(&mut self, open: &str, close: &str) {
        let inside = &self.remaining_text()[open.len()..];
        // Plain strings may contain their own quote escaped; raw strings may not.
        let escapes = open == "\"" || open.len() == 3;
        let mut from = 0;
        let end = loop {
            let Some(at) = inside[from..].find(close).map(|at| from + at) else {
                break inside.len();
            };
            let backslashes = inside[..at].bytes().rev().take_while(|b| *b == b'\\').count();
            if !escapes || backslashes % 2 == 0 {
                break at + close.len();
            }
            from = at + 1;
        };
        self.advance_bytes(open.len() + end);
    }

    fn skip_short_string(&mut self, quote: char) {
        let rest = self.remaining_text();
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '\n' => return self.advance_bytes(at),
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => return self.advance_bytes(at + 1),
                _ => {}
            }
        }
        self.advance_bytes(rest.len());
    }

    /// Skips a character literal such as `'x'` or `'\n'`; any other `'` is skipped alone.
    fn skip_char_literal(&mut self) {
        let mut characters = self.remaining_text().char_indices().skip(1);
        let length = match (characters.next(), characters.next()) {
            (Some((_, '\\')), Some(_)) => {
                characters.take(10).find(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
            }
            (Some(_), Some((at, '\''))) => Some(at + 1),
            _ => None,
        };
        self.advance_bytes(length.unwrap_or(1));
    }
}

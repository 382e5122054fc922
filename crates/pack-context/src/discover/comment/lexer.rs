//! Comments of a source text, line by line: a lexer that knows strings and comments and nothing else.
//!
//! Where a language is stranger than its [`Style`] says, the damage ends with the line: only strings that may span lines
//! (Rust's, Python's long ones, back ticks) are followed over its end.

/// How a language writes comments and strings.
#[derive(Debug)]
pub(in super::super) struct Style {
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
    /// Quotes of strings that end with their line at the latest.
    short: &'static str,
    /// Quotes of strings that span lines.
    long: &'static [(&'static str, &'static str)],
    /// `'` makes a character, or is a lifetime, or a digit separator.
    has_characters: bool,
}

const C: Style = Style {
    line: &["//"],
    block: Some(("/*", "*/")),
    short: "\"",
    long: &[],
    has_characters: true,
};
const RUST: Style = Style {
    short: "",
    long: &[("r##\"", "\"##"), ("r#\"", "\"#"), ("r\"", "\""), ("\"", "\"")],
    ..C
};
const GO: Style = Style { long: &[("`", "`")], ..C };
const SCRIPT: Style = Style { short: "\"'", long: &[("`", "`")], has_characters: false, ..C };
const PHP: Style = Style { line: &["//", "#"], ..SCRIPT };
const STYLESHEET: Style = Style { long: &[], ..SCRIPT };
const HASH: Style =
    Style { line: &["#"], block: None, short: "\"'", long: &[], has_characters: false };
const PYTHON: Style = Style { long: &[("\"\"\"", "\"\"\""), ("'''", "'''")], ..HASH };
const DASH: Style = Style { line: &["--"], block: Some(("/*", "*/")), ..HASH };
const LUA: Style = Style { block: Some(("--[[", "]]")), ..DASH };
const HASKELL: Style =
    Style { block: Some(("{-", "-}")), short: "\"", has_characters: true, ..DASH };
const LISP: Style = Style { line: &[";"], short: "", long: &[("\"", "\"")], ..HASH };
const PERCENT: Style = Style { line: &["%"], short: "", ..HASH };
const MARKUP: Style =
    Style { line: &[], block: Some(("<!--", "-->")), short: "", long: &[], has_characters: false };

/// The style of a file by its name, in lower case.
pub(in super::super) fn style_of(name: &str) -> Option<&'static Style> {
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
    /// 1-based.
    pub(super) line: u32,
    /// Without marks and decoration at its start.
    pub(super) text: &'a str,
    /// What it begins with; lines with the same mark may belong together.
    pub(super) mark: &'a str,
    /// Nothing but the comment is on this line.
    pub(super) is_alone: bool,
}

pub(super) fn comments<'a>(style: &Style, text: &'a str) -> Vec<CommentLine<'a>> {
    let mut lexer = Lexer { text, at: 0, line: 1, line_start: 0, found: Vec::new() };
    while lexer.at < text.len() {
        lexer.step(style);
    }
    lexer.found
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    found: Vec<CommentLine<'a>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self, style: &Style) {
        let rest = self.rest();
        if let Some((open, close)) = style.block.filter(|(open, _)| rest.starts_with(open)) {
            return self.block(open, close);
        }
        if style.line.iter().any(|mark| rest.starts_with(mark)) {
            return self.line_comment();
        }
        if let Some((open, close)) = style.long.iter().find(|(open, _)| rest.starts_with(open)) {
            let opened = !open.starts_with('r') || !self.follows_a_word();
            if opened {
                return self.long_string(open, close);
            }
        }
        let Some(c) = rest.chars().next() else { return };
        if style.short.contains(c) {
            self.short_string(c);
        } else if c == '\'' && style.has_characters {
            self.character();
        } else {
            self.advance(c.len_utf8());
        }
    }

    /// Moves on, counting the lines on the way.
    fn advance(&mut self, bytes: usize) {
        let end = self.at + bytes;
        for (at, _) in self.text[self.at..end].match_indices('\n') {
            self.line += 1;
            self.line_start = self.at + at + 1;
        }
        self.at = end;
    }

    fn follows_a_word(&self) -> bool {
        self.text[..self.at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    fn is_alone(&self) -> bool {
        self.text[self.line_start..self.at].trim().is_empty()
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        let end = rest.find('\n').unwrap_or(rest.len());
        let text = rest[..end].trim_start_matches(['/', '#', '-', ';', '%', '!']);
        let mark = &rest[..end - text.len()];
        self.found.push(CommentLine {
            line: self.line,
            text: text.trim(),
            mark,
            is_alone: self.is_alone(),
        });
        self.advance(end);
    }

    fn block(&mut self, open: &str, close: &str) {
        let rest = self.rest();
        let inside = &rest[open.len()..];
        let length = inside.find(close).unwrap_or(inside.len());
        let mut is_alone = self.is_alone();
        for (text, line) in inside[..length].lines().zip(self.line..) {
            let text = text.trim_start().trim_start_matches(['*', '!', '-']).trim();
            self.found.push(CommentLine { line, text, mark: &rest[..open.len()], is_alone });
            is_alone = true;
        }
        let end = open.len() + length;
        self.advance(rest.len().min(end + close.len()));
    }

    fn long_string(&mut self, open: &str, close: &str) {
        let inside = &self.rest()[open.len()..];
        // A plain string may hold its own quote, escaped; a raw one may not.
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
        self.advance(open.len() + end);
    }

    fn short_string(&mut self, quote: char) {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '\n' => return self.advance(at),
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => return self.advance(at + 1),
                _ => {}
            }
        }
        self.advance(rest.len());
    }

    /// `'x'` and `'\n'` are characters; every other `'` stands alone.
    fn character(&mut self) {
        let mut characters = self.rest().char_indices().skip(1);
        let length = match (characters.next(), characters.next()) {
            (Some((_, '\\')), Some(_)) => {
                characters.take(10).find(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
            }
            (Some(_), Some((at, '\''))) => Some(at + 1),
            _ => None,
        };
        self.advance(length.unwrap_or(1));
    }
}

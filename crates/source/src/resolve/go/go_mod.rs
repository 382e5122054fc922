//! Parsers for `go.mod` and `go.work`.

use crate::resolve::project_files::join_path;

/// A parsed `go.mod`.
pub(crate) struct GoMod {
    pub(crate) name: String,
    pub(super) required: Vec<String>,
    pub(super) replaced: Vec<LocalReplacement>,
}

/// A module replaced by a project folder, which may have a different name in its own `go.mod`.
pub(super) struct LocalReplacement {
    pub(super) name: String,
    pub(super) folder: String,
}

/// A parsed `go.work`.
#[derive(Default)]
pub(super) struct GoWork {
    pub(super) used: Vec<String>,
    pub(super) replaced: Vec<LocalReplacement>,
}

impl GoMod {
    /// Returns `None` if the module has no name.
    pub(crate) fn parse(folder: &str, text: &str) -> Option<Self> {
        let name = directive_lines(text, "module").find_map(split_first_word)?.0.to_owned();
        let required = directive_lines(text, "require").filter_map(split_first_word);
        let required = required.map(|(name, _)| name.to_owned()).collect();
        Some(Self { name, required, replaced: parse_replacements(folder, text) })
    }
}

impl GoWork {
    pub(super) fn parse(folder: &str, text: &str) -> Self {
        let used = directive_lines(text, "use").filter_map(split_first_word);
        let used = used.filter_map(|(path, _)| join_path(folder, path)).collect();
        Self { used, replaced: parse_replacements(folder, text) }
    }
}

/// Parses `name [version] => ./folder` lines. Replacements by external modules are ignored.
fn parse_replacements(folder: &str, text: &str) -> Vec<LocalReplacement> {
    let lines = directive_lines(text, "replace").filter_map(|line| {
        let (name, rest) = split_first_word(line)?;
        let (target, _) = split_first_word(rest.split_once("=>")?.1)?;
        let local = target.starts_with("./") || target.starts_with("../");
        let folder = join_path(folder, target).filter(|_| local)?;
        Some(LocalReplacement { name: name.to_owned(), folder })
    });
    lines.collect()
}

/// Returns the arguments of a directive, on a single line or in a block.
fn directive_lines<'text>(text: &'text str, name: &'text str) -> impl Iterator<Item = &'text str> {
    let mut block = false;
    text.lines().filter_map(move |line| {
        let line = line.split("//").next().unwrap_or_default().trim();
        if block {
            block = line != ")";
            return (block && !line.is_empty()).then_some(line);
        }
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix([' ', '\t', '('])?.trim();
        if line.ends_with('(') {
            block = true;
            return None;
        }
        Some(rest)
    })
}

/// Splits off the first word, which may be quoted.
fn split_first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '`'));
    let found = match quote {
        Some(quote) => text[1..].split_once(quote)?,
        None => text.split_at(text.find([' ', '\t']).unwrap_or(text.len())),
    };
    (!found.0.is_empty()).then_some(found)
}

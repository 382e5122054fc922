//! `go.mod` and `go.work`: what they say, and in which folders.

use crate::resolve::files::join;

/// What one `go.mod` says.
pub(crate) struct GoMod {
    pub(crate) name: String,
    pub(super) required: Vec<String>,
    pub(super) replaced: Vec<Replaced>,
}

/// A module that stands in a folder of the project, whatever the folder's own `go.mod` calls it.
pub(super) struct Replaced {
    pub(super) name: String,
    pub(super) folder: String,
}

/// What one `go.work` says.
#[derive(Default)]
pub(super) struct GoWork {
    pub(super) used: Vec<String>,
    pub(super) replaced: Vec<Replaced>,
}

impl GoMod {
    /// None if the module has no name.
    pub(crate) fn parse(folder: &str, text: &str) -> Option<Self> {
        let name = directive(text, "module").find_map(word)?.0.to_owned();
        let required = directive(text, "require").filter_map(word);
        let required = required.map(|(name, _)| name.to_owned()).collect();
        Some(Self { name, required, replaced: replaced(folder, text) })
    }
}

impl GoWork {
    pub(super) fn parse(folder: &str, text: &str) -> Self {
        let used = directive(text, "use").filter_map(word);
        let used = used.filter_map(|(path, _)| join(folder, path)).collect();
        Self { used, replaced: replaced(folder, text) }
    }
}

/// `name [version] => ./folder`; what is replaced by a module of others is none of the project's.
fn replaced(folder: &str, text: &str) -> Vec<Replaced> {
    let lines = directive(text, "replace").filter_map(|line| {
        let (name, rest) = word(line)?;
        let (target, _) = word(rest.split_once("=>")?.1)?;
        let local = target.starts_with("./") || target.starts_with("../");
        let folder = join(folder, target).filter(|_| local)?;
        Some(Replaced { name: name.to_owned(), folder })
    });
    lines.collect()
}

/// What a directive says, alone on a line or in a block.
fn directive<'text>(text: &'text str, name: &'text str) -> impl Iterator<Item = &'text str> {
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

/// The first word, which may be quoted, and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '`'));
    let found = match quote {
        Some(quote) => text[1..].split_once(quote)?,
        None => text.split_at(text.find([' ', '\t']).unwrap_or(text.len())),
    };
    (!found.0.is_empty()).then_some(found)
}

//! The words and values of a query: quoted texts, paths, addresses, numbers, and `name=value`.

use std::sync::LazyLock;

use regex::Regex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Quoted,
    Path,
    Url,
    Number,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The parameter that the query gives it to.
    pub(super) label: Option<String>,
}

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[+-]?\d{1,18}(\.\d{1,18})?$").expect("a fixed pattern"));
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(\w[\w.-]*\w\.[A-Za-z]\w{0,7}|\w\.[A-Za-z]\w{1,7}|\.[A-Za-z][\w.-]+)$")
        .expect("a fixed pattern")
});

/// What a word is to the tool at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    No,
    /// A parameter that takes a value.
    Value,
    /// A parameter that is on or off.
    Flag,
}

/// Reads a query. `named` says which words are parameters.
pub(super) fn tokens(query: &str, named: &dyn Fn(&str) -> Named) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = query.trim_start();
    let mut label: Option<String> = None;
    while !rest.is_empty() {
        if let Some((text, behind)) = quoted(rest) {
            found.push(Token { kind: Kind::Quoted, text: text.to_owned(), label: label.take() });
            rest = behind.trim_start();
            continue;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if let Some(flag) = word.strip_prefix("--").filter(|word| named(word) == Named::Flag) {
            found.push(Token { kind: Kind::Word, text: flag.to_owned(), label: None });
            rest = behind.trim_start();
            continue;
        }
        if let Some((name, length)) = labelled(word, named) {
            label = Some(name);
            // What follows the sign is read next, be it a quoted text with blanks in it.
            rest = rest[length..].trim_start();
            continue;
        }
        rest = behind.trim_start();
        let text = word
            .trim_matches([',', ';', '!', '?', '(', ')', ':', '"', '\'', '`', '“', '”'])
            .trim_end_matches('.');
        if text.is_empty() {
            // `path=.` and the like: the point is the value.
            if label.is_some() && !word.is_empty() {
                found.push(Token { kind: Kind::Path, text: word.to_owned(), label: label.take() });
            }
            continue;
        }
        found.push(Token { kind: kind(text), text: text.to_owned(), label: label.take() });
    }
    found
}

/// A parameter with its sign: `name=`, `name:`, `--name` or `--name=`. The rest of the word is the value.
fn labelled(word: &str, named: &dyn Fn(&str) -> Named) -> Option<(String, usize)> {
    let is_name = |word: &str| named(word) != Named::No;
    let dashes = word.len() - word.trim_start_matches('-').len();
    let bare = &word[dashes..];
    match bare.find(['=', ':']) {
        Some(at) if is_name(&bare[..at]) || (is_word(&bare[..at]) && opens(&bare[at..])) => {
            Some((bare[..at].to_owned(), dashes + at + 1))
        }
        None if dashes == 2 && is_name(bare) => Some((bare.to_owned(), word.len())),
        _ => None,
    }
}

/// Whether an `=` stands right before a quoted text: whatever the name, the text is a value.
fn opens(text: &str) -> bool {
    text.strip_prefix('=').is_some_and(|text| text.starts_with(['"', '\'', '`', '“', '‘', '«']))
}

/// A word that could name a parameter.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A quoted text at the beginning, and what stands behind it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let open = text.chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    let inner = &text[open.len_utf8()..];
    let end = inner.char_indices().find(|(at, c)| {
        let behind = inner[at + c.len_utf8()..].chars().next();
        // The sign inside `don't` ends nothing.
        *c == close && !(close == '\'' && behind.is_some_and(char::is_alphanumeric))
    });
    let (end, _) = end?;
    Some((&inner[..end], &inner[end + close.len_utf8()..]))
}

fn kind(text: &str) -> Kind {
    if text.contains("://") {
        Kind::Url
    } else if NUMBER.is_match(text) {
        Kind::Number
    } else if matches!(text, "and/or" | "w/" | "w/o" | "n/a" | "/") {
        Kind::Word
    } else if text.contains(['/', '\\']) || text.starts_with('~') || FILE.is_match(text) {
        Kind::Path
    } else {
        Kind::Word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_falls_into_words_and_values() {
        let query = r#"Read src/lib.rs, Cargo.toml and "two words" path=./a limit: 5 --raw mode='x y' (e.g. v1.2) don't http://a/b?c=1 and/or -3 2.5 C:\x odd="#;
        let named = |name: &str| match name {
            "path" | "limit" | "mode" => Named::Value,
            "raw" => Named::Flag,
            _ => Named::No,
        };
        let shown: Vec<String> = tokens(query, &named)
            .into_iter()
            .map(|token| {
                let label = token.label.map_or_else(String::new, |label| format!("{label}="));
                format!("{:?} {label}{}", token.kind, token.text)
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}

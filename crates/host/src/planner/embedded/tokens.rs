//! Splits a query into words and values: quoted strings, paths, URLs, numbers, and `name=value`.

use std::sync::LazyLock;

use regex::Regex;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Quoted,
    Path,
    Url,
    Number,
}

/// A word or value of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryToken {
    pub(super) kind: TokenKind,
    pub(super) text: String,
    /// The parameter that the query assigns it to.
    pub(super) label: Option<String>,
}

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[+-]?\d{1,18}(\.\d{1,18})?$").expect("a fixed pattern"));
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(\w[\w.-]*\w\.[A-Za-z]\w{0,7}|\w\.[A-Za-z]\w{1,7}|\.[A-Za-z][\w.-]+)$")
        .expect("a fixed pattern")
});

/// The kind of parameter that a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterKind {
    /// The word names no parameter.
    No,
    /// A parameter that takes a value.
    Value,
    /// A boolean parameter.
    Flag,
}

/// Splits a query into tokens; `named` returns the kind of parameter that a word names.
pub(super) fn tokenize_query(
    query: &str,
    named: &dyn Fn(&str) -> ParameterKind,
) -> Vec<QueryToken> {
    let mut found = Vec::new();
    let mut rest = query.trim_start();
    let mut label: Option<String> = None;
    while !rest.is_empty() {
        if let Some((text, behind)) = parse_quoted(rest) {
            found.push(QueryToken {
                kind: TokenKind::Quoted,
                text: text.to_owned(),
                label: label.take(),
            });
            rest = behind.trim_start();
            continue;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if let Some(flag) =
            word.strip_prefix("--").filter(|word| named(word) == ParameterKind::Flag)
        {
            found.push(QueryToken { kind: TokenKind::Word, text: flag.to_owned(), label: None });
            rest = behind.trim_start();
            continue;
        }
        if let Some((name, length)) = parse_label(word, named) {
            label = Some(name);
            // The value is read next; it may be a quoted string with spaces.
            rest = rest[length..].trim_start();
            continue;
        }
        rest = behind.trim_start();
        let text = word
            .trim_matches([',', ';', '!', '?', '(', ')', ':', '"', '\'', '`', '“', '”'])
            .trim_end_matches('.');
        if text.is_empty() {
            // In `path=.`, the period is the value.
            if label.is_some() && !word.is_empty() {
                found.push(QueryToken {
                    kind: TokenKind::Path,
                    text: word.to_owned(),
                    label: label.take(),
                });
            }
            continue;
        }
        found.push(QueryToken {
            kind: classify_token(text),
            text: text.to_owned(),
            label: label.take(),
        });
    }
    found
}

/// Parses a label: `name=`, `name:`, `--name` or `--name=`. Returns the name and the length of the label in bytes.
fn parse_label(word: &str, named: &dyn Fn(&str) -> ParameterKind) -> Option<(String, usize)> {
    let is_name = |word: &str| named(word) != ParameterKind::No;
    let dashes = word.len() - word.trim_start_matches('-').len();
    let bare = &word[dashes..];
    match bare.find(['=', ':']) {
        Some(at)
            if is_name(&bare[..at]) || (is_word(&bare[..at]) && precedes_quote(&bare[at..])) =>
        {
            Some((bare[..at].to_owned(), dashes + at + 1))
        }
        None if dashes == 2 && is_name(bare) => Some((bare.to_owned(), word.len())),
        _ => None,
    }
}

/// Returns true for an `=` directly before a quote, which marks a value even if the name is unknown.
fn precedes_quote(text: &str) -> bool {
    text.strip_prefix('=').is_some_and(|text| text.starts_with(['"', '\'', '`', '“', '‘', '«']))
}

/// Returns true if the text could be the name of a parameter.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Returns the quoted string at the beginning of a text, and the rest after it.
fn parse_quoted(text: &str) -> Option<(&str, &str)> {
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
        // The apostrophe in `don't` is not a closing quote.
        *c == close && !(close == '\'' && behind.is_some_and(char::is_alphanumeric))
    });
    let (end, _) = end?;
    Some((&inner[..end], &inner[end + close.len_utf8()..]))
}

fn classify_token(text: &str) -> TokenKind {
    if text.contains("://") {
        TokenKind::Url
    } else if NUMBER.is_match(text) {
        TokenKind::Number
    } else if matches!(text, "and/or" | "w/" | "w/o" | "n/a" | "/") {
        TokenKind::Word
    } else if text.contains(['/', '\\']) || text.starts_with('~') || FILE.is_match(text) {
        TokenKind::Path
    } else {
        TokenKind::Word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_query_into_words_and_values() {
        let query = r#"Read src/lib.rs, Cargo.toml and "two words" path=./a limit: 5 --raw mode='x y' (e.g. v1.2) don't http://a/b?c=1 and/or -3 2.5 C:\x odd="#;
        let named = |name: &str| match name {
            "path" | "limit" | "mode" => ParameterKind::Value,
            "raw" => ParameterKind::Flag,
            _ => ParameterKind::No,
        };
        let shown: Vec<String> = tokenize_query(query, &named)
            .into_iter()
            .map(|token| {
                let label = token.label.map_or_else(String::new, |label| format!("{label}="));
                format!("{:?} {label}{}", token.kind, token.text)
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}

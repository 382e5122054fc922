//! Parses a query: its terms, its kind, and the names of code in it.

use crate::DocumentRole;
use crate::terms::{self, is_stop_word};

/// Maximum number of terms. Only pasted text has more.
const MAX_TERMS: usize = 64;

/// Weight of a definition term; other terms have weight 1.
const DEFINITION_WEIGHT: f32 = 2.0;

/// Words that begin a question, in byte order for binary search.
const QUESTION_WORDS: [&str; 17] = [
    "are", "can", "could", "did", "do", "does", "how", "is", "should", "was", "were", "what",
    "when", "where", "which", "who", "why",
];

/// A parsed query.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    terms: Vec<QueryTerm>,
    kind: QueryKind,
    names: Vec<CodeName>,
    path: Option<String>,
    requested_roles: Vec<DocumentRole>,
}

/// A term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The term as written, in lower case.
    pub text: String,
    /// Hash of the stem.
    pub hash: u32,
    /// Relative weight in the score.
    pub weight: f32,
    pub part: QueryTermKind,
}

/// The kind of a query term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryTermKind {
    /// A word, or a part of an identifier.
    Word,
    /// A whole identifier that has several parts.
    Identifier,
    /// The definition of a name. It improves the score, but is not required.
    Definition,
}

/// The kind of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    /// A single name: `Router::route`, `parseRequest`, `max_depth`, `retry()`.
    Symbol,
    /// A single path: `src/http/router.ts`, `Cargo.toml`.
    Path,
    /// A question in natural language.
    Question,
    /// Any other words.
    Words,
}

/// A name of code in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeName {
    /// The name as written, without call parentheses: `Router::route`.
    pub text: String,
    /// Its last part: `route`.
    pub last: String,
}

impl SearchQuery {
    /// Parses a query.
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let path = words.first().filter(|word| words.len() == 1 && is_path(word));
        let path = path.map(|path| path.trim_matches('/').to_owned());
        let names = if path.is_some() { Vec::new() } else { extract_code_names(&words) };
        let kind = classify_query(&words, &names, path.as_deref());
        let mut terms = extract_terms(text);
        // In a sentence, a name is usually only mentioned.
        if kind == QueryKind::Symbol {
            terms.extend(names.iter().filter_map(build_definition_term));
        }
        Self { requested_roles: find_requested_roles(text), terms, kind, names, path }
    }

    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    pub fn kind(&self) -> QueryKind {
        self.kind
    }

    pub fn names(&self) -> &[CodeName] {
        &self.names
    }

    /// Returns the end of a path, if the query is a single path.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Returns true if the query explicitly requests documents of this role.
    pub(crate) fn requests_role(&self, role: DocumentRole) -> bool {
        self.requested_roles.contains(&role)
    }
}

/// Returns the roles that the words of the query refer to.
fn find_requested_roles(text: &str) -> Vec<DocumentRole> {
    let mut roles = Vec::new();
    terms::for_each_term(text, |term| {
        roles.extend(match term.text {
            "test" | "tests" | "testing" | "spec" | "specs" => Some(DocumentRole::Test),
            "example" | "examples" | "demo" | "sample" | "benchmark" | "benchmarks" => {
                Some(DocumentRole::Example)
            }
            "docs" | "documentation" | "readme" | "guide" | "changelog" => Some(DocumentRole::Docs),
            "generated" => Some(DocumentRole::Generated),
            _ => None,
        });
    });
    roles
}

fn build_definition_term(name: &CodeName) -> Option<QueryTerm> {
    let hash = terms::definition_hash(&name.last)?;
    Some(QueryTerm {
        text: name.last.clone(),
        hash,
        weight: DEFINITION_WEIGHT,
        part: QueryTermKind::Definition,
    })
}

/// Returns the terms without stop words, or all terms if every one is a stop word.
fn extract_terms(text: &str) -> Vec<QueryTerm> {
    let mut all: Vec<QueryTerm> = Vec::new();
    terms::for_each_term(text, |term| {
        if all.len() < MAX_TERMS && all.iter().all(|known| known.hash != term.hash) {
            let text = term.text.to_owned();
            let part = if term.whole { QueryTermKind::Identifier } else { QueryTermKind::Word };
            all.push(QueryTerm { text, hash: term.hash, weight: 1.0, part });
        }
    });
    let code = code_term_hashes(text);
    let is_ignored = |term: &QueryTerm| is_stop_word(&term.text) && !code.contains(&term.hash);
    if !all.iter().all(is_ignored) {
        all.retain(|term| !is_ignored(term));
    }
    all
}

/// Returns the terms of names that consist of stop words but are written as code: `raise … from`, `__all__`.
fn code_term_hashes(text: &str) -> Vec<u32> {
    let quoted = text.split('`').skip(1).step_by(2);
    let underscored = text.split_whitespace().filter(|word| word.contains('_'));
    let mut all = Vec::new();
    for name in quoted.chain(underscored).flat_map(|code| code.split(|c| !is_name_character(c))) {
        let mut only_stop_words = true;
        let before = all.len();
        terms::for_each_term(name, |term| {
            only_stop_words &= term.whole || is_stop_word(term.text);
            all.push(term.hash);
        });
        if !only_stop_words {
            all.truncate(before);
        }
    }
    all
}

fn classify_query(words: &[&str], names: &[CodeName], path: Option<&str>) -> QueryKind {
    match words {
        _ if path.is_some() => QueryKind::Path,
        [_] if !names.is_empty() => QueryKind::Symbol,
        [first, .., last] if is_question_word(first) || last.ends_with('?') => QueryKind::Question,
        _ => QueryKind::Words,
    }
}

fn is_question_word(word: &str) -> bool {
    QUESTION_WORDS.binary_search(&word.to_lowercase().as_str()).is_ok()
}

fn is_path(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    let is_file = (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_lowercase());
    word.contains('/') || is_file
}

/// Returns the names of code among the words. A single word counts as a name if it is a possible one.
fn extract_code_names(words: &[&str]) -> Vec<CodeName> {
    let alone = words.len() == 1;
    let mut found: Vec<CodeName> = Vec::new();
    for word in words {
        let word =
            word.trim_matches(|character: char| !is_name_character(character) && character != '(');
        let called = word.split_once('(').filter(|(name, _)| !name.is_empty());
        let name =
            called.map_or(word, |(name, _)| name).trim_matches(|c: char| !is_name_character(c));
        let last = last_part(name);
        let looks_like_code = called.is_some() || last.len() < name.len() || is_mixed_case(name);
        if !last.is_empty()
            && last.chars().any(char::is_alphabetic)
            && (alone || looks_like_code)
            && found.iter().all(|known| known.text != name)
        {
            found.push(CodeName { text: name.to_owned(), last: last.to_owned() });
        }
    }
    found
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// Returns the part after the last `::`, `.`, `->`, `#` or `\`, if the part before it contains a letter.
fn last_part(name: &str) -> &str {
    let separators = [':', '.', '>', '#', '\\'];
    match name.rsplit_once(separators) {
        Some((before, last)) if !last.is_empty() && before.chars().any(char::is_alphabetic) => last,
        _ => name,
    }
}

/// Returns true for `snake_case`, `camelCase`, `PascalCase` and `HTTPServer`; false for `Word` and `HTTP`.
fn is_mixed_case(name: &str) -> bool {
    let inner_capital =
        name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let acronym_word = name.chars().any(char::is_lowercase)
        && name.chars().take(2).all(char::is_uppercase)
        && name.chars().count() > 3;
    name.contains('_') || inner_capital || acronym_word
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_kind_terms_and_names() {
        let queries = [
            "Router::route",
            "parseRequest",
            "retry()",
            "distill",
            "HTTPServer",
            "src/http/router.ts",
            "Cargo.toml",
            "how does dependency injection work",
            "Where is `max_depth` checked?",
            "how ZodType base class parses input",
            "z.transform and z.pipe for chaining",
            "`raise ... from` in `except`, and __all__",
            "only_on_the_branch",
            "rate limit tests",
            "what is this",
            "e.g. U.S. rules, i.e. HTTP only",
            "self.client->send(request)",
            "",
            "?!",
        ];
        let mut shown = String::new();
        for text in queries {
            let query = SearchQuery::new(text);
            let words = query.terms().iter().filter(|term| term.part != QueryTermKind::Definition);
            let terms: Vec<&str> = words.map(|term| term.text.as_str()).collect();
            let names: Vec<&str> = query.names().iter().map(|name| name.text.as_str()).collect();
            writeln!(
                shown,
                "{text:40} {:?} {} | {}",
                query.kind(),
                terms.join(" "),
                names.join(" ")
            )
            .unwrap();
        }
        assert_snapshot!(shown);
    }

    proptest! {
        #[test]
        fn query_with_alphanumerics_has_terms(text in "\\PC{0,80}") {
            let query = SearchQuery::new(&text);
            prop_assert_eq!(query.terms().is_empty(), !text.chars().any(char::is_alphanumeric));
        }
    }
}

//! What somebody asks: its terms, what kind of asking it is, and the names of code that it holds.

use crate::Role;
use crate::terms::{self, is_stop_word};

/// More terms than anybody types; a pasted page is cut here.
const MAX_TERMS: usize = 64;

/// Where a name is defined counts as much as so many words.
const DEFINITION_WEIGHT: f32 = 2.0;

/// Words that only say that what follows is a question.
const QUESTION_WORDS: [&str; 17] = [
    "are", "can", "could", "did", "do", "does", "how", "is", "should", "was", "were", "what",
    "when", "where", "which", "who", "why",
];

/// A query, read once.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    terms: Vec<QueryTerm>,
    kind: Kind,
    names: Vec<Name>,
    path: Option<String>,
    asks_for: Vec<Role>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// As it was asked, lower case.
    pub text: String,
    pub hash: u32,
    /// How much it counts beside the others.
    pub weight: f32,
    pub part: Part,
}

/// What a term is of what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A word, or a part of an identifier.
    Word,
    /// An identifier with several parts, as a whole.
    Whole,
    /// The place where a name is defined. Good to find, not asked for by itself.
    Definition,
}

/// How something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but a name: `Router::route`, `parseRequest`, `max_depth`, `retry()`.
    Symbol,
    /// Nothing but a file: `src/http/router.ts`, `Cargo.toml`.
    Path,
    /// A sentence that asks.
    Question,
    /// Words.
    Words,
}

/// A name of code within a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// As it was asked, without call brackets: `Router::route`.
    pub text: String,
    /// Its last part: `route`.
    pub last: String,
}

impl Query {
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let path = words.first().filter(|word| words.len() == 1 && is_path(word));
        let path = path.map(|path| path.trim_matches('/').to_owned());
        let names = if path.is_some() { Vec::new() } else { names(&words) };
        let kind = kind(&words, &names, path.as_deref());
        let mut terms = query_terms(text);
        // In a sentence a name is more often mentioned than asked for.
        if kind == Kind::Symbol {
            terms.extend(names.iter().filter_map(definition_term));
        }
        Self { asks_for: asked_roles(text), terms, kind, names, path }
    }

    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// The end of a path, if that is all that was asked.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Whether documents of this role are what is wanted.
    pub(crate) fn asks_for(&self, role: Role) -> bool {
        self.asks_for.contains(&role)
    }
}

/// The roles whose words the query holds.
fn asked_roles(text: &str) -> Vec<Role> {
    let mut roles = Vec::new();
    terms::each(text, |term| {
        roles.extend(match term.text {
            "test" | "tests" | "testing" | "spec" | "specs" => Some(Role::Test),
            "example" | "examples" | "demo" | "sample" | "benchmark" | "benchmarks" => {
                Some(Role::Example)
            }
            "docs" | "documentation" | "readme" | "guide" | "changelog" => Some(Role::Docs),
            "generated" => Some(Role::Generated),
            _ => None,
        });
    });
    roles
}

fn definition_term(name: &Name) -> Option<QueryTerm> {
    let hash = terms::definition(&name.last)?;
    Some(QueryTerm {
        text: name.last.clone(),
        hash,
        weight: DEFINITION_WEIGHT,
        part: Part::Definition,
    })
}

/// The terms that say something; all of them where none does.
fn query_terms(text: &str) -> Vec<QueryTerm> {
    let mut all: Vec<QueryTerm> = Vec::new();
    terms::each(text, |term| {
        if all.len() < MAX_TERMS && all.iter().all(|known| known.hash != term.hash) {
            let text = term.text.to_owned();
            let part = if term.whole { Part::Whole } else { Part::Word };
            all.push(QueryTerm { text, hash: term.hash, weight: 1.0, part });
        }
    });
    let code = words_of_code(text);
    let says_nothing = |term: &QueryTerm| is_stop_word(&term.text) && !code.contains(&term.hash);
    if !all.iter().all(says_nothing) {
        all.retain(|term| !says_nothing(term));
    }
    all
}

/// Names of nothing but stop words that are written as code, so they are meant: `raise … from`, `__all__`.
fn words_of_code(text: &str) -> Vec<u32> {
    let quoted = text.split('`').skip(1).step_by(2);
    let underscored = text.split_whitespace().filter(|word| word.contains('_'));
    let mut all = Vec::new();
    for name in quoted.chain(underscored).flat_map(|code| code.split(|c| !is_name_character(c))) {
        let mut says_nothing = true;
        let before = all.len();
        terms::each(name, |term| {
            says_nothing &= term.whole || is_stop_word(term.text);
            all.push(term.hash);
        });
        if !says_nothing {
            all.truncate(before);
        }
    }
    all
}

fn kind(words: &[&str], names: &[Name], path: Option<&str>) -> Kind {
    match words {
        _ if path.is_some() => Kind::Path,
        [_] if !names.is_empty() => Kind::Symbol,
        [first, .., last] if is_question_word(first) || last.ends_with('?') => Kind::Question,
        _ => Kind::Words,
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

/// The names of code among the words. A word that stands alone is one if it could be.
fn names(words: &[&str]) -> Vec<Name> {
    let alone = words.len() == 1;
    let mut found: Vec<Name> = Vec::new();
    for word in words {
        let word =
            word.trim_matches(|character: char| !is_name_character(character) && character != '(');
        let called = word.split_once('(').filter(|(name, _)| !name.is_empty());
        let name =
            called.map_or(word, |(name, _)| name).trim_matches(|c: char| !is_name_character(c));
        let last = last_part(name);
        let looks_like_code = called.is_some() || last.len() < name.len() || is_mixed(name);
        if !last.is_empty()
            && last.chars().any(char::is_alphabetic)
            && (alone || looks_like_code)
            && found.iter().all(|known| known.text != name)
        {
            found.push(Name { text: name.to_owned(), last: last.to_owned() });
        }
    }
    found
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// What stands after the last `::`, `.`, `->`, `#` or `\`, if what stands before could be a name as well.
fn last_part(name: &str) -> &str {
    let separators = [':', '.', '>', '#', '\\'];
    match name.rsplit_once(separators) {
        Some((before, last)) if !last.is_empty() && before.chars().any(char::is_alphabetic) => last,
        _ => name,
    }
}

/// `snake_case`, `camelCase`, `PascalCase`, `HTTPServer`, `sha256`; not `Word`, not `HTTP`.
fn is_mixed(name: &str) -> bool {
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
    fn reads_what_is_asked() {
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
            let query = Query::new(text);
            let words = query.terms().iter().filter(|term| term.part != Part::Definition);
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
        fn a_query_with_a_letter_has_a_term(text in "\\PC{0,80}") {
            let query = Query::new(&text);
            prop_assert_eq!(query.terms().is_empty(), !text.chars().any(char::is_alphanumeric));
        }
    }
}

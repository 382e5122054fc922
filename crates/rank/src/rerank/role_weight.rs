//! Weights documents by their role: tests, examples, docs and vendored code are demoted unless the query requests them.

use crate::{DocumentFacts, DocumentRole, SearchQuery};

/// Folders with third-party code, or with code kept only for compatibility.
const NON_PROJECT_FOLDERS: [&str; 7] =
    ["_compat", "compat", "deprecated", "legacy", "third_party", "vendor", "vendored"];

/// Returns the score factor for the role and the path of a document, from 0 to 1.
pub(super) fn weigh_role(facts: &DocumentFacts<'_>, query: &SearchQuery) -> f32 {
    let role = if is_test(facts) { DocumentRole::Test } else { facts.role };
    if query.requests_role(role) {
        return 1.0;
    }
    let role_factor = match role {
        DocumentRole::Record | DocumentRole::Source | DocumentRole::Config => 1.0,
        // Queries usually ask for the code itself.
        DocumentRole::Docs => 0.6,
        DocumentRole::Test | DocumentRole::Example => 0.4,
        DocumentRole::Generated => 0.5,
    };
    let path = facts.path.unwrap_or_default();
    let aside = path.rsplit('/').skip(1).any(|folder| NON_PROJECT_FOLDERS.contains(&folder));
    let is_declaration = path.ends_with(".d.ts") || path.ends_with(".pyi");
    role_factor * if aside { 0.6 } else { 1.0 } * if is_declaration { 0.7 } else { 1.0 }
}

/// Returns true for a test inside a source file: `tests::finds_a_route`, `test_finds_a_route`.
fn is_test(facts: &DocumentFacts<'_>) -> bool {
    let name = facts.symbols.lines().next().unwrap_or_default();
    let mut parts = name.split([':', '.']);
    facts.role == DocumentRole::Source
        && parts.any(|part| part == "tests" || part == "test" || part.starts_with("test_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, role: DocumentRole, path: &str, symbols: &str) -> f32 {
        weigh_role(
            &DocumentFacts { role, path: Some(path), symbols, ..DocumentFacts::default() },
            &SearchQuery::new(query),
        )
    }

    #[test]
    fn demotes_tests_vendored_code_and_declarations() {
        assert_eq!(check("find a route", DocumentRole::Source, "src/route.rs", "find"), 1.0);
        assert_eq!(
            check("find a route", DocumentRole::Source, "src/route.rs", "tests::finds"),
            0.4
        );
        assert_eq!(check("find a route", DocumentRole::Test, "tests/route.rs", ""), 0.4);
        assert_eq!(check("find a route", DocumentRole::Source, "vendor/route.rs", ""), 0.6);
        assert_eq!(check("find a route", DocumentRole::Source, "src/route.d.ts", ""), 0.7);
    }

    #[test]
    fn does_not_demote_requested_roles() {
        assert_eq!(check("tests of the route", DocumentRole::Test, "tests/route.rs", ""), 1.0);
        assert_eq!(check("route example", DocumentRole::Example, "examples/route.rs", ""), 1.0);
        assert_eq!(check("route example", DocumentRole::Test, "tests/route.rs", ""), 0.4);
    }
}

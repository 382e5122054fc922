//! What a document is worth for its role alone. Whoever asks for tests gets tests.

use crate::{Facts, Query, Role};

/// Folders of code that is not the project's own, or kept only for old callers.
const ASIDE: [&str; 7] =
    ["_compat", "compat", "deprecated", "legacy", "third_party", "vendor", "vendored"];

pub(super) fn of(facts: &Facts<'_>, query: &Query) -> f32 {
    let role = if is_test(facts) { Role::Test } else { facts.role };
    if query.asks_for(role) {
        return 1.0;
    }
    let of_role = match role {
        Role::Record | Role::Source | Role::Config => 1.0,
        // Where code explains itself, people ask for the code.
        Role::Docs => 0.6,
        Role::Test | Role::Example => 0.4,
        Role::Generated => 0.5,
    };
    let path = facts.path.unwrap_or_default();
    let aside = path.rsplit('/').skip(1).any(|folder| ASIDE.contains(&folder));
    let declares_only = path.ends_with(".d.ts") || path.ends_with(".pyi");
    of_role * if aside { 0.6 } else { 1.0 } * if declares_only { 0.7 } else { 1.0 }
}

/// A test among other code: `tests::finds_a_route`, `test_finds_a_route`.
fn is_test(facts: &Facts<'_>) -> bool {
    let name = facts.symbols.lines().next().unwrap_or_default();
    let mut parts = name.split([':', '.']);
    facts.role == Role::Source
        && parts.any(|part| part == "tests" || part == "test" || part.starts_with("test_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, role: Role, path: &str, symbols: &str) -> f32 {
        of(&Facts { role, path: Some(path), symbols, ..Facts::default() }, &Query::new(query))
    }

    #[test]
    fn tests_and_copies_stand_behind() {
        assert_eq!(check("find a route", Role::Source, "src/route.rs", "find"), 1.0);
        assert_eq!(check("find a route", Role::Source, "src/route.rs", "tests::finds"), 0.4);
        assert_eq!(check("find a route", Role::Test, "tests/route.rs", ""), 0.4);
        assert_eq!(check("find a route", Role::Source, "vendor/route.rs", ""), 0.6);
        assert_eq!(check("find a route", Role::Source, "src/route.d.ts", ""), 0.7);
    }

    #[test]
    fn what_is_asked_for_does_not() {
        assert_eq!(check("tests of the route", Role::Test, "tests/route.rs", ""), 1.0);
        assert_eq!(check("route example", Role::Example, "examples/route.rs", ""), 1.0);
        assert_eq!(check("route example", Role::Test, "tests/route.rs", ""), 0.4);
    }
}

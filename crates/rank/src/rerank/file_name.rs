//! How much of what is asked for the name of a file says. People name files for what is in them.

use std::collections::HashSet;

use super::Asked;
use crate::{Kind, terms};

/// Names that say where a file is, not what is in it: what counts then is the folder.
const SAYS_NOTHING: [&str; 6] = ["__init__", "index", "lib", "main", "mod", "src"];

impl Asked<'_> {
    /// From 0 to 1: the share of the query's words that stand in the name of the file or of its folder. For a query that
    /// is nothing but a name, whether the file has this name; that of a path can be twice as sure.
    pub(super) fn file_name(&self, path: &str) -> f32 {
        if self.query.path().is_some_and(|wanted| is_end_of_path(wanted, path)) {
            return 2.0;
        }
        let mut names = telling_names(path);
        if self.query.kind() == Kind::Symbol {
            let stem = names.next().and_then(terms::whole);
            let same = |name: &str| stem.is_some() && terms::whole(name) == stem;
            let named = self.query.names().iter().any(|name| same(&name.last));
            return if named { 1.0 } else { 0.0 };
        }
        let mut held = HashSet::new();
        for name in names.take(2) {
            terms::each(name, |term| {
                held.insert(term.hash);
            });
        }
        self.shares.iter().filter(|(hash, _)| held.contains(hash)).map(|(_, share)| share).sum()
    }
}

fn is_end_of_path(end: &str, path: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The stem of the file's name, then its folders, innermost first.
fn telling_names(path: &str) -> impl Iterator<Item = &str> {
    let mut names = path.rsplit('/');
    let file = names.next().unwrap_or_default();
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or(file);
    std::iter::once(stem).chain(names).filter(|name| !SAYS_NOTHING.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Query;

    /// In hundredths.
    fn check(query: &str, path: &str) -> f32 {
        let query = Query::new(query);
        let rarities = vec![1.0; query.terms().len()];
        (Asked::new(&query, &rarities).file_name(path) * 100.0).round()
    }

    #[test]
    fn words_are_looked_for_in_the_file_and_its_folder() {
        assert_eq!(check("request routing table", "src/http/routing.rs"), 33.0);
        assert_eq!(check("http routing", "src/http/routing.rs"), 100.0);
        assert_eq!(check("http routing", "src/routing/mod.rs"), 50.0);
        assert_eq!(check("http routing", "http/a/b/c.rs"), 0.0);
        assert_eq!(check("main source", "src/main.rs"), 0.0);
    }

    #[test]
    fn a_path_is_that_file() {
        assert_eq!(check("http/routing.rs", "src/http/routing.rs"), 200.0);
        assert_eq!(check("routing.rs", "src/http/routing.rs"), 200.0);
        assert_eq!(check("outing.rs", "src/http/routing.rs"), 0.0);
    }

    #[test]
    fn a_lone_name_must_be_that_of_the_file() {
        assert_eq!(check("JoinSet", "src/task/join_set.rs"), 100.0);
        assert_eq!(check("Fields", "pkg/field.py"), 100.0);
        assert_eq!(check("JoinSet", "src/set/join.rs"), 0.0);
        assert_eq!(check("JoinSet", "src/join_set/mod.rs"), 100.0);
    }
}

//! Compares the query with the name of a file, since files are named after their content.

use std::collections::HashSet;

use super::RerankQuery;
use crate::{QueryKind, terms};

/// Names that do not describe the content of a file. The name of the folder is used instead.
const UNINFORMATIVE_NAMES: [&str; 6] = ["__init__", "index", "lib", "main", "mod", "src"];

impl RerankQuery<'_> {
    /// Returns, from 0 to 1, the share of the query's words in the name of the file or of its folder.
    ///
    /// For a query that consists of one name, returns 1 if the file has this name and 0 otherwise. For a query that is
    /// a path, returns 2 if the path ends with it.
    pub(super) fn score_file_name(&self, path: &str) -> f32 {
        if self.query.path().is_some_and(|wanted| is_end_of_path(wanted, path)) {
            return 2.0;
        }
        let mut names = informative_names(path);
        if self.query.kind() == QueryKind::Symbol {
            let stem = names.next().and_then(terms::whole_name_hash);
            let same = |name: &str| stem.is_some() && terms::whole_name_hash(name) == stem;
            let named = self.query.names().iter().any(|name| same(&name.last));
            return if named { 1.0 } else { 0.0 };
        }
        let mut found = HashSet::new();
        for name in names.take(2) {
            terms::for_each_term(name, |term| {
                found.insert(term.hash);
            });
        }
        self.shares.iter().filter(|(hash, _)| found.contains(hash)).map(|(_, share)| share).sum()
    }
}

fn is_end_of_path(end: &str, path: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Returns the stem of the file name, then its folders, innermost first, without uninformative names.
fn informative_names(path: &str) -> impl Iterator<Item = &str> {
    let mut names = path.rsplit('/');
    let file = names.next().unwrap_or_default();
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or(file);
    std::iter::once(stem).chain(names).filter(|name| !UNINFORMATIVE_NAMES.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchQuery;

    /// Returns the score in hundredths.
    fn check(query: &str, path: &str) -> f32 {
        let query = SearchQuery::new(query);
        let rarities = vec![1.0; query.terms().len()];
        (RerankQuery::new(&query, &rarities).score_file_name(path) * 100.0).round()
    }

    #[test]
    fn scores_words_in_the_names_of_file_and_folder() {
        assert_eq!(check("request routing table", "src/http/routing.rs"), 33.0);
        assert_eq!(check("http routing", "src/http/routing.rs"), 100.0);
        assert_eq!(check("http routing", "src/routing/mod.rs"), 50.0);
        assert_eq!(check("http routing", "http/a/b/c.rs"), 0.0);
        assert_eq!(check("main source", "src/main.rs"), 0.0);
    }

    #[test]
    fn path_query_matches_the_end_of_a_path() {
        assert_eq!(check("http/routing.rs", "src/http/routing.rs"), 200.0);
        assert_eq!(check("routing.rs", "src/http/routing.rs"), 200.0);
        assert_eq!(check("outing.rs", "src/http/routing.rs"), 0.0);
    }

    #[test]
    fn symbol_query_must_equal_the_file_name() {
        assert_eq!(check("JoinSet", "src/task/join_set.rs"), 100.0);
        assert_eq!(check("Fields", "pkg/field.py"), 100.0);
        assert_eq!(check("JoinSet", "src/set/join.rs"), 0.0);
        assert_eq!(check("JoinSet", "src/join_set/mod.rs"), 100.0);
    }
}

//! Contracts by the names that people give them.

use crate::{Build, Contract};

/// Why a name means no contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("there is no contract `{name}`{}", listed("; the nearest names are", .nearest))]
    Missing { name: String, nearest: Vec<String> },
    #[error("several contracts are called `{name}`{}", listed("; say which:", .candidates))]
    Ambiguous { name: String, candidates: Vec<String> },
}

/// More names than this help nobody.
const MOST_NAMES: usize = 8;

fn listed(intro: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{intro} {}{rest}", shown.join(", "))
}

impl Build {
    /// The contract called `Name` or `path:Name`. The path may be the end of the compiler's path, so that
    /// `Bank.sol:Bank` finds `src/Bank.sol:Bank`.
    pub fn find(&self, name: &str) -> Result<&Contract, FindError> {
        let matching: Vec<_> = self.contracts.iter().filter(|one| is_called(one, name)).collect();
        let exact = matching.iter().find(|one| one.qualified_name() == name);
        match (matching.as_slice(), exact) {
            ([only], _) => Ok(only),
            (_, Some(exact)) => Ok(exact),
            ([], _) => {
                Err(FindError::Missing { name: name.to_owned(), nearest: self.nearest(name) })
            }
            (several, _) => Err(FindError::Ambiguous {
                name: name.to_owned(),
                candidates: several.iter().map(|one| one.qualified_name()).collect(),
            }),
        }
    }

    /// Names like the given one, or simply the first names where none is like it.
    fn nearest(&self, name: &str) -> Vec<String> {
        let bare = name.rsplit(':').next().unwrap_or(name).to_lowercase();
        let mut names: Vec<_> = self
            .contracts
            .iter()
            .map(|one| (strsim::jaro_winkler(&bare, &one.name.to_lowercase()), one))
            .collect();
        names.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.name.cmp(&other.name)));
        let likely = names.iter().filter(|(likeness, _)| *likeness > 0.75).count();
        let count = if likely > 0 { likely.min(3) } else { MOST_NAMES };
        let mut names: Vec<_> =
            names.into_iter().take(count).map(|(_, one)| one.name.clone()).collect();
        names.dedup();
        names
    }
}

fn is_called(contract: &Contract, name: &str) -> bool {
    match name.rsplit_once(':') {
        None => contract.name == name,
        Some((path, bare)) => contract.name == bare && ends_with_path(&contract.source, path),
    }
}

fn ends_with_path(whole: &str, end: &str) -> bool {
    let end = end.strip_prefix("./").unwrap_or(end);
    match whole.strip_suffix(end) {
        Some("") => true,
        Some(rest) => rest.ends_with('/') || end.starts_with('/'),
        None => false,
    }
}

//! Finds smart contracts by name.

use crate::{SolidityBuild, SolidityContract};

/// Error of [`SolidityBuild::find_contract`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("unknown contract `{name}`{}", format_names("; similar names:", .nearest))]
    NotFound { name: String, nearest: Vec<String> },
    #[error("ambiguous contract name `{name}`{}", format_names("; candidates:", .candidates))]
    Ambiguous { name: String, candidates: Vec<String> },
}

/// Maximum number of names in a message.
const MAX_NAMES: usize = 8;

fn format_names(intro: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{intro} {}{rest}", shown.join(", "))
}

impl SolidityBuild {
    /// Returns the contract called `Name` or `path:Name`. The path may be a suffix of the compiler's path:
    /// `Bank.sol:Bank` finds `src/Bank.sol:Bank`.
    pub fn find_contract(&self, name: &str) -> Result<&SolidityContract, FindError> {
        let matching: Vec<_> =
            self.contracts.iter().filter(|one| matches_name(one, name)).collect();
        let exact = matching.iter().find(|one| one.qualified_name() == name);
        match (matching.as_slice(), exact) {
            ([only], _) => Ok(only),
            (_, Some(exact)) => Ok(exact),
            ([], _) => Err(FindError::NotFound {
                name: name.to_owned(),
                nearest: self.nearest_names(name),
            }),
            (several, _) => Err(FindError::Ambiguous {
                name: name.to_owned(),
                candidates: several.iter().map(|one| one.qualified_name()).collect(),
            }),
        }
    }

    /// Returns names similar to the given one, or the first names if none is similar.
    fn nearest_names(&self, name: &str) -> Vec<String> {
        let bare = name.rsplit(':').next().unwrap_or(name).to_lowercase();
        let mut names: Vec<_> = self
            .contracts
            .iter()
            .map(|one| (strsim::jaro_winkler(&bare, &one.name.to_lowercase()), one))
            .collect();
        names.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.name.cmp(&other.name)));
        let likely = names.iter().filter(|(likeness, _)| *likeness > 0.75).count();
        let count = if likely > 0 { likely.min(3) } else { MAX_NAMES };
        let mut names: Vec<_> =
            names.into_iter().take(count).map(|(_, one)| one.name.clone()).collect();
        names.dedup();
        names
    }
}

fn matches_name(contract: &SolidityContract, name: &str) -> bool {
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

//! Assigns handles: the names that agents use for the campaigns of one server.

use std::collections::HashSet;
use std::path::Path;

/// Maximum characters of a handle.
const MAX_HANDLE: usize = 64;
/// Handle of a campaign without a better name.
const FALLBACK: &str = "campaign";
/// Handle of the campaign against the bundled demo.
const DEMO: &str = "demo";

/// Target of a campaign, from which its handle is derived.
#[derive(Clone, Copy, Debug)]
pub struct HandleSource<'a> {
    /// File or folder of the target; `None` for the bundled demo.
    pub path: Option<&'a Path>,
    /// Smart contract under test, optionally with its file: `src/Token.sol:Token`.
    pub contract: Option<&'a str>,
}

/// Returns a unique handle for each campaign: the name of the smart contract, or else of the file or folder.
///
/// Returns one handle even without campaigns, so that the tools can be listed.
pub fn assign_handles<'a>(sources: impl IntoIterator<Item = HandleSource<'a>>) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut handles: Vec<_> =
        sources.into_iter().map(|source| make_unique(derive_handle(source), &mut taken)).collect();
    if handles.is_empty() {
        handles.push(FALLBACK.to_owned());
    }
    handles
}

fn derive_handle(source: HandleSource<'_>) -> String {
    let file = source.path.map(|path| {
        let whole = path.canonicalize();
        let stem = whole.as_deref().unwrap_or(path).file_stem();
        stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    });
    let contract = source.contract.and_then(|name| name.rsplit(':').next());
    let name = contract.map(str::to_owned).or(file).unwrap_or_else(|| DEMO.to_owned());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '-' });
    let plain: String = plain.take(MAX_HANDLE).collect();
    if plain.is_empty() { FALLBACK.to_owned() } else { plain }
}

fn make_unique(name: String, taken: &mut HashSet<String>) -> String {
    let mut numbered = name.clone();
    let mut number = 1;
    while !taken.insert(numbered.clone()) {
        number += 1;
        numbered = format!("{name}-{number}");
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source<'a>(path: &'a str, contract: Option<&'a str>) -> HandleSource<'a> {
        HandleSource { path: Some(Path::new(path)), contract }
    }

    #[test]
    fn handles_are_unique_and_plain() {
        let handles = assign_handles([
            source("src/Token.sol", None),
            source("lib/Token.sol", None),
            source("src/Token.sol", Some("src/Token.sol:Vault")),
            source("a b\u{1b}/ü", None),
            HandleSource { path: None, contract: None },
        ]);
        assert_eq!(handles, ["Token", "Token-2", "Vault", "-", "demo"]);
    }

    #[test]
    fn numbered_handle_avoids_one_that_is_taken() {
        let contracts = ["A", "A-2", "A"].map(|name| source("x.sol", Some(name)));
        assert_eq!(assign_handles(contracts), ["A", "A-2", "A-3"]);
    }

    #[test]
    fn server_without_campaigns_has_one_handle() {
        assert_eq!(assign_handles([]), ["campaign"]);
        assert_eq!(assign_handles([source("/", None)]), ["campaign"]);
    }

    #[test]
    fn long_names_are_truncated() {
        let name = "x".repeat(100);
        assert_eq!(assign_handles([source("x.sol", Some(&name))])[0].len(), MAX_HANDLE);
    }
}

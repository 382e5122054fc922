//! The operator's allowlist of an upstream's own tool names.

use globset::{Glob, GlobSet, GlobSetBuilder};

#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is no pattern of tool names")]
pub struct AllowlistError {
    pattern: String,
    source: globset::Error,
}

/// Names that may run at all. Without patterns: every name.
#[derive(Clone, Debug, Default)]
pub struct Allowlist(Option<GlobSet>);

impl Allowlist {
    pub fn all() -> Self {
        Self(None)
    }

    /// Only names that one of the patterns matches (`read_*`, `*`). An empty list allows none.
    pub fn globs<S: AsRef<str>>(patterns: &[S]) -> Result<Self, AllowlistError> {
        let named = |pattern: &str, source| AllowlistError { pattern: pattern.to_owned(), source };
        let mut set = GlobSetBuilder::new();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            set.add(Glob::new(pattern).map_err(|source| named(pattern, source))?);
        }
        let set = set.build().map_err(|source| named("(all of them together)", source))?;
        Ok(Self(Some(set)))
    }

    pub fn allows(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|set| set.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_whole() {
        let list = Allowlist::globs(&["read_*", "echo"]).unwrap();
        let allowed: Vec<_> = ["read_file", "xread_file", "echo", "Echo", "echo2"]
            .into_iter()
            .filter(|name| list.allows(name))
            .collect();
        assert_eq!(allowed, ["read_file", "echo"]);
        assert!(Allowlist::all().allows("anything"));
        assert!(!Allowlist::globs::<&str>(&[]).unwrap().allows("anything"));
        let error = Allowlist::globs(&["a["]).unwrap_err();
        assert_eq!(error.to_string(), "`a[` is no pattern of tool names");
    }
}

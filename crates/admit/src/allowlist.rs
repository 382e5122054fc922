//! The operator's allowlist of tool names, as the upstream spells them.

use globset::{Glob, GlobSet, GlobSetBuilder};

#[derive(Debug, thiserror::Error)]
#[error("invalid tool pattern `{pattern}`")]
pub struct AllowlistError {
    pattern: String,
    source: globset::Error,
}

/// Tool names that may run. Without patterns, every name may.
#[derive(Clone, Debug, Default)]
pub struct ToolAllowlist(Option<GlobSet>);

impl ToolAllowlist {
    pub fn allow_all() -> Self {
        Self(None)
    }

    /// Allows only names that match one of the glob patterns, such as `read_*` or `*`. An empty list allows no name.
    ///
    /// Returns an error that names the first invalid pattern.
    pub fn from_globs<S: AsRef<str>>(patterns: &[S]) -> Result<Self, AllowlistError> {
        let named = |pattern: &str, source| AllowlistError { pattern: pattern.to_owned(), source };
        let mut set = GlobSetBuilder::new();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            set.add(Glob::new(pattern).map_err(|source| named(pattern, source))?);
        }
        let set = set.build().map_err(|source| named("(all patterns combined)", source))?;
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
    fn patterns_match_whole_names() {
        let list = ToolAllowlist::from_globs(&["read_*", "echo"]).unwrap();
        let allowed: Vec<_> = ["read_file", "xread_file", "echo", "Echo", "echo2"]
            .into_iter()
            .filter(|name| list.allows(name))
            .collect();
        assert_eq!(allowed, ["read_file", "echo"]);
        assert!(ToolAllowlist::allow_all().allows("anything"));
        assert!(!ToolAllowlist::from_globs::<&str>(&[]).unwrap().allows("anything"));
        let error = ToolAllowlist::from_globs(&["a["]).unwrap_err();
        assert_eq!(error.to_string(), "invalid tool pattern `a[`");
    }
}

//! Glob patterns over the names of tools and the addresses of resources: `*` matches any text, `?` one character.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// A compiled set of patterns over names or addresses.
#[derive(Clone, Debug)]
pub struct ToolGlobs {
    texts: Vec<String>,
    set: GlobSet,
}

impl ToolGlobs {
    /// Compiles the patterns; returns a message for the operator if one is invalid.
    pub(super) fn new(texts: Vec<String>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for text in &texts {
            let glob = Glob::new(text)
                .map_err(|error| format!("invalid pattern `{text}`: {}", error.kind()))?;
            set.add(glob);
        }
        let set = set.build().map_err(|error| error.kind().to_string())?;
        Ok(Self { texts, set })
    }

    /// Returns true if a pattern matches the name.
    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// Returns the patterns as written.
    pub fn patterns(&self) -> &[String] {
        &self.texts
    }
}

//! Patterns over names of tools: `*` for anything, `?` for one character.

use globset::{Glob, GlobSet, GlobSetBuilder};

#[derive(Clone, Debug)]
pub struct Globs {
    texts: Vec<String>,
    set: GlobSet,
}

impl Globs {
    /// The error is the message for whoever wrote the patterns.
    pub(super) fn new(texts: Vec<String>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for text in &texts {
            let glob = Glob::new(text)
                .map_err(|error| format!("`{text}` is not a pattern: {}", error.kind()))?;
            set.add(glob);
        }
        let set = set.build().map_err(|error| error.kind().to_string())?;
        Ok(Self { texts, set })
    }

    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// As they are written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

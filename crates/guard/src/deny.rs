//! The deny list: file and folder names that no path may contain. Packs add their own patterns.

use contract::text;

/// Case-insensitive patterns for single path components; `*` matches any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyList {
    patterns: Vec<String>,
}

impl Default for DenyList {
    /// Returns the default list: environment files, secrets, credentials, keys, and Git internals.
    fn default() -> Self {
        [".env*", "*secret*", "*credential*", ".git", "secrets", "*.key", "*.pem"]
            .into_iter()
            .fold(Self { patterns: Vec::new() }, Self::with_pattern)
    }
}

impl DenyList {
    /// Adds a pattern.
    #[must_use]
    pub fn with_pattern(mut self, pattern: &str) -> Self {
        self.patterns.push(fold_name(pattern));
        self
    }

    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(String::as_str)
    }

    /// Returns the pattern that denies this name as the error.
    pub fn check_name(&self, name: &str) -> Result<(), String> {
        let name = fold_name(name);
        match self.patterns.iter().find(|pattern| matches_pattern(pattern, &name)) {
            Some(pattern) => Err(pattern.clone()),
            None => Ok(()),
        }
    }
}

/// Folds names that a case-insensitive file system may treat as equal: without case (upper, then lower, so that `ſ`
/// becomes `s`), and without characters that some file systems ignore.
fn fold_name(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars()
        .filter(|c| !text::is_hidden(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denies_names_in_any_case_and_disguise() {
        let list = DenyList::default().with_pattern("node_modules");
        for (name, pattern) in [
            (".env", ".env*"),
            (".ENV.local", ".env*"),
            (".envrc", ".env*"),
            ("Secrets", "*secret*"),
            ("my_Secret.txt", "*secret*"),
            ("ſecret", "*secret*"),
            ("se\u{200b}cret", "*secret*"),
            ("aws-credentials", "*credential*"),
            (".Git", ".git"),
            ("server.KEY", "*.key"),
            (".pem", "*.pem"),
            ("Node_Modules", "node_modules"),
        ] {
            assert_eq!(list.check_name(name), Err(pattern.to_owned()), "{name}");
        }
    }

    #[test]
    fn allows_names_that_only_resemble_denied_ones() {
        let list = DenyList::default();
        for name in ["env", "a.env", ".gitignore", ".github", "key", "pem.txt", "keys.key.md", "x"]
        {
            assert_eq!(list.check_name(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn star_matches_any_characters() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("*ab*ab", "ab", false),
            ("**x**", "axb", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}

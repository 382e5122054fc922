//! Names that no path may hold, as a value: another pack adds its own.

use contract::text;

/// Patterns over single names, `*` for any characters; letter case does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyList {
    patterns: Vec<String>,
}

impl Default for DenyList {
    /// Environment files, secrets and credentials, keys, and the insides of Git.
    fn default() -> Self {
        [".env*", "*secret*", "*credential*", ".git", "secrets", "*.key", "*.pem"]
            .into_iter()
            .fold(Self { patterns: Vec::new() }, Self::with)
    }
}

impl DenyList {
    #[must_use]
    pub fn with(mut self, pattern: &str) -> Self {
        self.patterns.push(fold(pattern));
        self
    }

    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(String::as_str)
    }

    /// The pattern that denies this name, as the error.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let name = fold(name);
        match self.patterns.iter().find(|pattern| matches(pattern, &name)) {
            Some(pattern) => Err(pattern.clone()),
            None => Ok(()),
        }
    }
}

/// What a case-insensitive file system may take for the same name: case gone (up, then down, so that `ſ` becomes
/// `s`), and characters that some of them ignore gone too.
fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars()
        .filter(|c| !text::is_hidden(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

fn matches(pattern: &str, name: &str) -> bool {
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
    fn denied_names() {
        let list = DenyList::default().with("node_modules");
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
            assert_eq!(list.check(name), Err(pattern.to_owned()), "{name}");
        }
    }

    #[test]
    fn allowed_names() {
        let list = DenyList::default();
        for name in ["env", "a.env", ".gitignore", ".github", "key", "pem.txt", "keys.key.md", "x"]
        {
            assert_eq!(list.check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("*ab*ab", "ab", false),
            ("**x**", "axb", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}

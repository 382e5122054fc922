//! The `[secrets]` table: files that no tool may read, and secrets in what tools return.

use std::str::FromStr;

use guard::DenyList;
use runtime::SecretOutputMode;
use serde::Deserialize;

/// Raw values of the `[secrets]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct SecretsLayer {
    pub(super) deny: Option<Vec<FilePattern>>,
    pub(super) allow: Option<Vec<FilePattern>>,
    pub(super) output: Option<SecretOutput>,
}

/// The value of `output` in `[secrets]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretOutput {
    Redact,
    Refuse,
    Off,
}

impl From<SecretOutput> for SecretOutputMode {
    fn from(output: SecretOutput) -> Self {
        match output {
            SecretOutput::Redact => Self::Redact,
            SecretOutput::Refuse => Self::Refuse,
            SecretOutput::Off => Self::Off,
        }
    }
}

/// A pattern of the deny list: names joined by `/`, with `*` for any characters of a name. `folder/**` is everything
/// below a folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct FilePattern(pub String);

impl TryFrom<String> for FilePattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for FilePattern {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let pattern = text.strip_suffix('/').unwrap_or(text);
        let names: Vec<_> = pattern.split('/').collect();
        let is_name = |(at, name): (usize, &&str)| match *name {
            "" | "." | ".." => false,
            "**" => at > 0 && at + 1 == names.len(),
            name => !name.contains(|c: char| c.is_control() || matches!(c, '?' | '[' | '\\')),
        };
        let is_valid = names.iter().enumerate().all(is_name);
        is_valid.then(|| Self(pattern.to_owned())).ok_or_else(|| {
            format!(
                "invalid pattern `{text}`: expected names with `*`, joined by `/`, such as \"*.dump\", \
                 \"deploy/*.yml\" or \"tests/keys/**\""
            )
        })
    }
}

impl SecretsLayer {
    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, lower: Self) -> Self {
        Self {
            deny: self.deny.or(lower.deny),
            allow: self.allow.or(lower.allow),
            output: self.output.or(lower.output),
        }
    }

    /// Validates the table.
    pub(super) fn into_settings(self) -> SecretSettings {
        const COMPLETE: &str = "defaults.toml sets it";
        let texts = |patterns: Option<Vec<FilePattern>>| {
            patterns.expect(COMPLETE).into_iter().map(|FilePattern(text)| text).collect()
        };
        SecretSettings {
            deny: texts(self.deny),
            allow: texts(self.allow),
            output: self.output.expect(COMPLETE),
        }
    }
}

/// The validated `[secrets]` table.
#[derive(Clone, Debug)]
pub struct SecretSettings {
    pub(crate) deny: Vec<String>,
    pub(crate) allow: Vec<String>,
    pub output: SecretOutput,
}

impl SecretSettings {
    /// Returns the deny list of the project's tools. `private` are names that the operator cannot allow.
    pub(crate) fn deny_list(&self, private: &[String]) -> DenyList {
        let fixed = private.iter().chain(&self.deny).map(String::as_str);
        let list = fixed.fold(DenyList::default(), DenyList::with_pattern);
        self.allow.iter().map(String::as_str).fold(list, DenyList::with_allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_joined_by_slashes() {
        for text in ["*.dump", "a/b", "deploy/*.yml", "tests/keys/**", "secrets/", ".x"] {
            assert!(text.parse::<FilePattern>().is_ok(), "{text}");
        }
        for text in [
            "", "/", "/etc/x", "a//b", "../a", "a/../b", "**", "**/a", "a?", "[ab]", "a\\b", "a\nb",
        ] {
            assert!(text.parse::<FilePattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn operator_patterns_change_the_deny_list() {
        let settings = SecretSettings {
            deny: vec!["*.dump".into()],
            allow: vec!["tests/**".into(), ".vouch".into()],
            output: SecretOutput::Redact,
        };
        let list = settings.deny_list(&[".vouch".into()]).with_source_exception();
        for (path, is_denied) in [
            ("a.dump", true),
            ("a.dump.bak", true),
            ("tests/tls.key", false),
            ("src/tls.key", true),
            (".vouch/vouch.db", true),
            ("tests/.vouch/vouch.db", true),
        ] {
            assert_eq!(list.check_file_path(path).is_err(), is_denied, "{path}");
        }
    }
}

//! Text with references to secrets: `Bearer ${TOKEN}`, `${file:/run/secrets/key}`; `$$` is a dollar sign.
//!
//! A reference is parsed with the configuration and resolved when its server starts. A missing variable thus stops
//! only that server, and no value is held longer than needed. The text may itself be a secret, so neither the text nor
//! the value is ever printed.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::values::VariableName;
use crate::env::Environment;

/// Maximum size of a secret file; keys and certificates are far smaller.
const MAX_FILE: u64 = 64 * 1024;

/// A value that may refer to environment variables and files.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct SecretReference {
    parts: Vec<ReferencePart>,
}

#[derive(Clone, PartialEq, Eq)]
enum ReferencePart {
    Text(String),
    Variable(String),
    File(PathBuf),
}

/// A reference that cannot be resolved. The message never contains a value.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    #[error("environment variable {0} is not set")]
    Variable(String),
    #[error("failed to read {}", .path.display())]
    File { path: PathBuf, source: io::Error },
}

impl SecretReference {
    /// Returns the value. Files are relative to the root; one trailing line break is removed.
    pub(crate) fn resolve(
        &self,
        environment: &Environment,
        root: &Path,
    ) -> Result<SecretString, ReferenceError> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                ReferencePart::Text(text) => value.push_str(text),
                ReferencePart::Variable(name) => {
                    let secret = environment.read_secret(name);
                    let secret = secret.ok_or_else(|| ReferenceError::Variable(name.clone()))?;
                    value.push_str(secret.expose_secret());
                }
                ReferencePart::File(path) => {
                    let failed = |source| ReferenceError::File { path: path.clone(), source };
                    value.push_str(&read_secret_file(&root.join(path)).map_err(failed)?);
                }
            }
        }
        Ok(SecretString::from(value))
    }

    /// Returns the names of the referenced variables.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            ReferencePart::Variable(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the paths of the referenced files, as written.
    pub(crate) fn file_paths(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().filter_map(|part| match part {
            ReferencePart::File(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Returns the referenced files that other users of this machine can read.
    pub fn exposed_files(&self, root: &Path) -> Vec<PathBuf> {
        let files = self.parts.iter().filter_map(|part| match part {
            ReferencePart::File(path) => Some(root.join(path)),
            _ => None,
        });
        let open = |path: &PathBuf| {
            path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
        };
        files.filter(open).collect()
    }
}

fn read_secret_file(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.len() > MAX_FILE {
        let message = format!("file larger than {MAX_FILE} bytes");
        return Err(io::Error::other(message));
    }
    let mut text = std::fs::read_to_string(path)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

impl fmt::Debug for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretReference(…)")
    }
}

impl TryFrom<String> for SecretReference {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for SecretReference {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // The text may be a secret, so it is not repeated.
        const WRONG: &str =
            "invalid `$`: write `${NAME}` or `${file:PATH}`, or `$$` for a dollar sign";
        if text.contains('\0') {
            return Err("NUL characters are not allowed".to_owned());
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            literal.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                literal.push('$');
                rest = after;
                continue;
            }
            let inner = after.strip_prefix('{').and_then(|after| after.split_once('}'));
            let (name, after) = inner.ok_or(WRONG)?;
            let part = match name.strip_prefix("file:") {
                Some("") => return Err(WRONG.to_owned()),
                Some(path) => ReferencePart::File(path.into()),
                None => ReferencePart::Variable(name.parse::<VariableName>().map_err(|_| WRONG)?.0),
            };
            if !literal.is_empty() {
                parts.push(ReferencePart::Text(std::mem::take(&mut literal)));
            }
            parts.push(part);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(ReferencePart::Text(literal));
        }
        Ok(Self { parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("key"), "s3cret\n\n").unwrap();
        let environment = Environment::default();
        let check = |text: &str| {
            let reference: SecretReference = text.parse()?;
            match reference.resolve(&environment, folder.path()) {
                Ok(secret) => Ok(secret.expose_secret().to_owned()),
                Err(error) => Err(error.to_string()),
            }
        };
        for (text, value) in [
            ("", ""),
            ("plain", "plain"),
            ("a$$b", "a$b"),
            ("$${X}", "${X}"),
            ("x${file:key}y", "xs3cret\ny"),
        ] {
            assert_eq!(check(text).as_deref(), Ok(value), "{text}");
        }
        let path = std::env::var("PATH").unwrap();
        assert_eq!(check("<${PATH}>"), Ok(format!("<{path}>")));
        for (text, message) in [
            ("${NO_SUCH_VARIABLE_7}", "NO_SUCH_VARIABLE_7 is not set"),
            ("hunter2${file:none}", "failed to read none"),
            ("$", "`$$`"),
            ("hunter2$x", "`$$`"),
            ("${", "`$$`"),
            ("${}", "`$$`"),
            ("${file:}", "`$$`"),
            ("${A:-hunter2}", "`$$`"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(message) && !error.contains("hunter2"), "{text}: {error}");
        }
    }

    #[test]
    fn debug_output_hides_the_text() {
        let reference: SecretReference = "hunter2${NAME}".parse().unwrap();
        assert_eq!(format!("{reference:?}"), "SecretReference(…)");
        assert_eq!(reference.variable_names().collect::<Vec<_>>(), ["NAME"]);
    }

    #[test]
    fn exposed_files_are_those_readable_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "x").unwrap();
        let reference: SecretReference = "${file:key}".parse().unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(reference.exposed_files(folder.path()), std::slice::from_ref(&path));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert!(reference.exposed_files(folder.path()).is_empty());
    }
}

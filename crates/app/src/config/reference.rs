//! Text with references to secrets in it: `Bearer ${TOKEN}`, `${file:/run/secrets/key}`; `$$` is a dollar sign.
//!
//! A reference is read with the configuration and resolved when what needs it is started, so that a variable that one
//! server lacks stops that server only, and no value is held longer than needed. What is written may be a secret
//! itself, so neither the text nor the value is ever printed.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::values::Variable;
use crate::env::Environment;

/// Keys and certificates are far smaller.
const MAX_FILE: u64 = 64 * 1024;

/// A value that may refer to variables and files.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Reference {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
    File(PathBuf),
}

/// Why a reference has no value. Never says a value.
#[derive(Debug, thiserror::Error)]
pub enum Unresolved {
    #[error("the environment variable {0} is not set")]
    Variable(String),
    #[error("cannot read the file {}", .path.display())]
    File { path: PathBuf, source: io::Error },
}

impl Reference {
    /// The value. Files are relative to the root; one line break at their end does not count.
    pub(crate) fn resolve(
        &self,
        environment: &Environment,
        root: &Path,
    ) -> Result<SecretString, Unresolved> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => value.push_str(text),
                Part::Variable(name) => {
                    let secret = environment.secret(name);
                    let secret = secret.ok_or_else(|| Unresolved::Variable(name.clone()))?;
                    value.push_str(secret.expose_secret());
                }
                Part::File(path) => {
                    let failed = |source| Unresolved::File { path: path.clone(), source };
                    value.push_str(&read(&root.join(path)).map_err(failed)?);
                }
            }
        }
        Ok(SecretString::from(value))
    }

    /// The variables that it names.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The files that it names and that other users of this machine can read.
    pub fn exposed(&self, root: &Path) -> Vec<PathBuf> {
        let files = self.parts.iter().filter_map(|part| match part {
            Part::File(path) => Some(root.join(path)),
            _ => None,
        });
        let open = |path: &PathBuf| {
            path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
        };
        files.filter(open).collect()
    }
}

fn read(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.len() > MAX_FILE {
        let message = format!("it has more than {MAX_FILE} bytes");
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

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reference(…)")
    }
}

impl TryFrom<String> for Reference {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Reference {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // What was written may be a secret, so it is not repeated.
        const WRONG: &str =
            "`$` begins `${NAME}` or `${file:PATH}` here; a dollar sign is written `$$`";
        if text.contains('\0') {
            return Err("a NUL character cannot be in there".to_owned());
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
                Some(path) => Part::File(path.into()),
                None => Part::Variable(name.parse::<Variable>().map_err(|_| WRONG)?.0),
            };
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(part);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_they_come_to() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("key"), "s3cret\n\n").unwrap();
        let environment = Environment::default();
        let check = |text: &str| {
            let reference: Reference = text.parse()?;
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
        for (text, said) in [
            ("${NO_SUCH_VARIABLE_7}", "NO_SUCH_VARIABLE_7 is not set"),
            ("hunter2${file:none}", "cannot read the file none"),
            ("$", "`$$`"),
            ("hunter2$x", "`$$`"),
            ("${", "`$$`"),
            ("${}", "`$$`"),
            ("${file:}", "`$$`"),
            ("${A:-hunter2}", "`$$`"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(said) && !error.contains("hunter2"), "{text}: {error}");
        }
    }

    #[test]
    fn nothing_is_printed() {
        let reference: Reference = "hunter2${NAME}".parse().unwrap();
        assert_eq!(format!("{reference:?}"), "Reference(…)");
        assert_eq!(reference.variables().collect::<Vec<_>>(), ["NAME"]);
    }

    #[test]
    fn files_that_others_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "x").unwrap();
        let reference: Reference = "${file:key}".parse().unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(reference.exposed(folder.path()), std::slice::from_ref(&path));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert!(reference.exposed(folder.path()).is_empty());
    }
}

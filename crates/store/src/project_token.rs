//! The project token: the secret that callers of this project's HTTP server send.
//!
//! It is created when it is first needed. It lies in the state directory, so only users who can read that may call.
//! Several processes may start at once: the file appears complete, and the first one wins.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::files::FileWriter;
use crate::private_file::{PrivateFileError, read_private_file};
use crate::{StateDir, StoreError, hex, random};

/// Name of the token file in the state directory.
const FILE_NAME: &str = "token";
/// Prefix by which people and secret scanners recognize a token.
const PREFIX: &str = "vouch_";

/// The secret of a project. It does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct ProjectToken(String);

impl fmt::Debug for ProjectToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProjectToken")
    }
}

/// An error of the project token.
#[derive(Debug, thiserror::Error)]
pub enum ProjectTokenError {
    #[error("failed to use the token of this project")]
    File(#[from] PrivateFileError),
    #[error("invalid token in {}", path.display())]
    Invalid { path: PathBuf },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ProjectTokenError {
    /// Returns a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Invalid { .. } => Some("run `vouch token rotate` to create a new one".to_owned()),
            Self::Store(error) => error.hint().map(str::to_owned),
        }
    }
}

impl ProjectToken {
    /// Returns the path of the token file of a state directory.
    pub fn path_in(state: &Path) -> PathBuf {
        state.join(FILE_NAME)
    }

    /// Returns the token of a state directory, or `None` if it has none yet. Nothing is created.
    pub fn find(state: &Path) -> Result<Option<Self>, ProjectTokenError> {
        match read_private_file(&Self::path_in(state)) {
            Ok(text) => Self::parse(&text, state).map(Some),
            Err(PrivateFileError::Read { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the token, and true if it was created now. Another process may create it at the same time; both return
    /// the same token, and only one of them returns true.
    pub fn open_or_create(dir: &StateDir) -> Result<(Self, bool), ProjectTokenError> {
        if let Some(token) = Self::find(dir.path())? {
            return Ok((token, false));
        }
        let (token, path) = (Self::generate()?, Self::path_in(dir.path()));
        let created = FileWriter::new(&**dir.disk())
            .create_private_file(&path, token.to_line().as_bytes())
            .map_err(|source| StoreError::from_io("create", &path, source))?;
        if created {
            return Ok((token, true));
        }
        match Self::find(dir.path())? {
            Some(token) => Ok((token, false)),
            None => Err(ProjectTokenError::Invalid { path }),
        }
    }

    /// Replaces the token. Running servers accept the old one until they are restarted.
    pub fn rotate(dir: &StateDir) -> Result<Self, ProjectTokenError> {
        let (token, path) = (Self::generate()?, Self::path_in(dir.path()));
        FileWriter::new(&**dir.disk())
            .replace_private_file(&path, token.to_line().as_bytes())
            .map_err(|source| StoreError::from_io("replace", &path, source))?;
        Ok(token)
    }

    /// Returns the secret itself.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    fn generate() -> Result<Self, StoreError> {
        Ok(Self(format!("{PREFIX}{}", hex::encode(&random::generate_key()?))))
    }

    fn to_line(&self) -> String {
        format!("{}\n", self.0)
    }

    /// Parses the content of a token file. Only complete tokens of [`Self::generate`] are valid, so that a damaged file
    /// never becomes a guessable token.
    fn parse(text: &str, state: &Path) -> Result<Self, ProjectTokenError> {
        let secret = text.trim();
        let is_valid = secret.strip_prefix(PREFIX).is_some_and(|key| hex::decode(key).is_some());
        match is_valid {
            true => Ok(Self(secret.to_owned())),
            false => Err(ProjectTokenError::Invalid { path: Self::path_in(state) }),
        }
    }
}

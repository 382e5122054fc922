//! Locates the root folder and the configuration file.

use std::io;
use std::path::{Path, PathBuf};

use super::{ConfigError, ConfigSource, FILE_NAME};

/// The root folder and its configuration file.
#[derive(Clone, Debug)]
pub(crate) struct LocatedProject {
    /// Canonical path.
    pub root: PathBuf,
    pub source: Option<ConfigSource>,
}

/// Locates the root and reads the configuration file.
///
/// A given file is read, and the root is the given one or the current folder. Otherwise the file is searched upwards
/// from the given root or the current folder, and its folder becomes the root unless one was given.
pub(super) fn locate_project(
    here: &Path,
    root: Option<PathBuf>,
    config: Option<PathBuf>,
) -> Result<LocatedProject, ConfigError> {
    let start = root.as_deref().unwrap_or(here);
    let start = open_folder(start)?;
    let source = match config {
        Some(path) => match std::fs::read_to_string(&path) {
            Ok(text) => Some(ConfigSource { path, text }),
            Err(source) => return Err(ConfigError::Read { path, source }),
        },
        None => {
            let mut found = None;
            for folder in start.ancestors() {
                found = read_if_exists(&folder.join(FILE_NAME))?;
                if found.is_some() {
                    break;
                }
            }
            let folder = found.as_ref().and_then(|source: &ConfigSource| source.path.parent());
            match (root, folder) {
                (None, Some(folder)) => {
                    return Ok(LocatedProject { root: folder.to_owned(), source: found });
                }
                _ => found,
            }
        }
    };
    Ok(LocatedProject { root: start, source })
}

fn open_folder(path: &Path) -> Result<PathBuf, ConfigError> {
    let failed = |source| ConfigError::Root { path: path.to_owned(), source };
    let path = path.canonicalize().map_err(failed)?;
    std::fs::read_dir(&path).map_err(failed)?;
    Ok(path)
}

/// Returns `None` if the file does not exist.
fn read_if_exists(path: &Path) -> Result<Option<ConfigSource>, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(ConfigSource { path: path.to_owned(), text })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
    }
}

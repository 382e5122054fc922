//! Which folder is served and which file configures it.

use std::io;
use std::path::{Path, PathBuf};

use super::{ConfigError, FILE_NAME, Source};

#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// Absolute, without links.
    pub root: PathBuf,
    pub source: Option<Source>,
}

/// With a file given, it is read, and the root is the given one or the current folder. Otherwise the file is looked for
/// from the given root, or the current folder, upwards; its folder is the root unless one was given.
pub(super) fn locate(
    here: &Path,
    root: Option<PathBuf>,
    config: Option<PathBuf>,
) -> Result<Located, ConfigError> {
    let start = root.as_deref().unwrap_or(here);
    let start = open_folder(start)?;
    let source = match config {
        Some(path) => match std::fs::read_to_string(&path) {
            Ok(text) => Some(Source { path, text }),
            Err(source) => return Err(ConfigError::Read { path, source }),
        },
        None => {
            let mut found = None;
            for folder in start.ancestors() {
                found = read(&folder.join(FILE_NAME))?;
                if found.is_some() {
                    break;
                }
            }
            let folder = found.as_ref().and_then(|source: &Source| source.path.parent());
            match (root, folder) {
                (None, Some(folder)) => {
                    return Ok(Located { root: folder.to_owned(), source: found });
                }
                _ => found,
            }
        }
    };
    Ok(Located { root: start, source })
}

fn open_folder(path: &Path) -> Result<PathBuf, ConfigError> {
    let failed = |source| ConfigError::Root { path: path.to_owned(), source };
    let path = path.canonicalize().map_err(failed)?;
    std::fs::read_dir(&path).map_err(failed)?;
    Ok(path)
}

/// None where there is no such file.
fn read(path: &Path) -> Result<Option<Source>, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(Source { path: path.to_owned(), text })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
    }
}

//! Locates the root folder and the configuration file.
//!
//! The file is found in folders of the user only: a file that another user put into a parent folder must not count.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{ConfigError, ConfigSource, FILE_NAME};
use crate::trust::{FileOwner, read_config_file, read_contained_file};

/// Permission bit of a folder that every user can write.
const OTHERS_WRITE: u32 = 0o002;

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
/// from the given root or the current folder, and its folder becomes the root unless one was given. The search ends at
/// a folder that is not the owner's or that everybody can write, such as `/tmp`.
pub(super) fn locate_project(
    here: &Path,
    root: Option<PathBuf>,
    config: Option<PathBuf>,
    owner: FileOwner,
) -> Result<LocatedProject, ConfigError> {
    let start = root.as_deref().unwrap_or(here);
    let start = open_folder(start)?;
    if let Some(path) = config {
        let source = read_given_file(path, owner)?;
        return Ok(LocatedProject { root: start, source: Some(source) });
    }
    let source = search_upwards(&start, owner)?;
    let folder = source.as_ref().and_then(|source| source.path.parent());
    let root = match (root, folder) {
        (None, Some(folder)) => folder.to_owned(),
        _ => start,
    };
    Ok(LocatedProject { root, source })
}

fn open_folder(path: &Path) -> Result<PathBuf, ConfigError> {
    let failed = |source| ConfigError::Root { path: path.to_owned(), source };
    let path = path.canonicalize().map_err(failed)?;
    std::fs::read_dir(&path).map_err(failed)?;
    Ok(path)
}

/// Reads the file that the user named.
fn read_given_file(path: PathBuf, owner: FileOwner) -> Result<ConfigSource, ConfigError> {
    let read = read_config_file(&path).and_then(|file| Ok((file.owner, file.into_text()?)));
    match read {
        Ok((uid, _)) if !owner.permits(uid) => Err(ConfigError::ForeignOwner { path, uid }),
        Ok((_, text)) => Ok(ConfigSource { path, text }),
        Err(source) => Err(ConfigError::Read { path, source }),
    }
}

/// Returns the nearest configuration file in the folder or its parents.
fn search_upwards(start: &Path, owner: FileOwner) -> Result<Option<ConfigSource>, ConfigError> {
    for folder in start.ancestors() {
        let metadata = std::fs::metadata(folder)
            .map_err(|source| ConfigError::Root { path: folder.to_owned(), source })?;
        let is_owned = owner.permits(metadata.uid());
        if folder != start && (!is_owned || metadata.mode() & OTHERS_WRITE != 0) {
            return Ok(None);
        }
        let path = folder.join(FILE_NAME);
        // The user chose this folder, so its file is refused and not ignored.
        if !is_owned && path.symlink_metadata().is_ok() {
            return Err(ConfigError::ForeignOwner { path: folder.to_owned(), uid: metadata.uid() });
        }
        if let Some(source) = read_own_file(folder, path, owner)? {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

/// Reads the file of a folder. Returns `None` if it does not exist.
fn read_own_file(
    folder: &Path,
    path: PathBuf,
    owner: FileOwner,
) -> Result<Option<ConfigSource>, ConfigError> {
    let failed = |source: io::Error| ConfigError::Read { path: path.clone(), source };
    let Some(file) = read_contained_file(folder, &path).map_err(failed)? else { return Ok(None) };
    if !owner.permits(file.owner) {
        return Err(ConfigError::ForeignOwner { uid: file.owner, path });
    }
    let text = file.into_text().map_err(failed)?;
    Ok(Some(ConfigSource { path, text }))
}

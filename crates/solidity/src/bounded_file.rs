//! Reads untrusted files: regular files only, up to a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::LoadError;

/// Maximum size of compiler output. The build-info of the largest public projects is near 200 MiB.
pub(crate) const MAX_JSON: u64 = 512 << 20;

/// Maximum size of a source file. Generated files reach a few megabytes; compilers fail well below this limit.
pub(crate) const MAX_SOURCE: u64 = 16 << 20;

/// Maximum size of a configuration file.
pub(crate) const MAX_CONFIG: u64 = 1 << 20;

/// Returns the text of a file. Errors if it is larger than `limit` bytes or not UTF-8.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    match read_bounded(path, limit) {
        Ok(Some(bytes)) => {
            String::from_utf8(bytes).map_err(|_| LoadError::NotText(path.to_owned()))
        }
        Ok(None) => Err(LoadError::TooLarge { path: path.to_owned(), mebibytes: limit >> 20 }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(LoadError::NotFound(path.to_owned()))
        }
        Err(error) => Err(unreadable(error)),
    }
}

/// Returns the text of a configuration file of a project. Errors if it is a link that leaves the project: messages may
/// quote the file.
pub(crate) fn read_contained_text(root: &Path, path: &Path) -> Result<String, LoadError> {
    check_contained(root, path)?;
    read_text(path, MAX_CONFIG)
}

/// Errors if a file of a project is a link that leaves the project.
pub(crate) fn check_contained(root: &Path, path: &Path) -> Result<(), LoadError> {
    let real = path.canonicalize().ok().zip(root.canonicalize().ok());
    match real {
        Some((file, root)) if !file.starts_with(&root) => {
            Err(LoadError::OutsideProject(path.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Returns the bytes of a file, or `None` if it is larger than `limit`.
fn read_bounded(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // Opening a pipe or a device may block forever, so the file type is checked first.
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if metadata.len() > limit {
        return Ok(None);
    }
    // The file may grow while it is read.
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

//! Reading files that somebody else wrote: regular files only, never more than a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::LoadError;

/// The output of a compiler. The build-info of the largest projects that are public is near 200 MiB.
pub(crate) const MAX_JSON: u64 = 512 << 20;

/// A source file. Generated ones reach a few megabytes; compilers give up long before this.
pub(crate) const MAX_SOURCE: u64 = 16 << 20;

/// A configuration file.
pub(crate) const MAX_CONFIG: u64 = 1 << 20;

/// The text of a file.
pub(crate) fn text(path: &Path, limit: u64) -> Result<String, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    match bounded(path, limit) {
        Ok(Some(bytes)) => {
            String::from_utf8(bytes).map_err(|_| LoadError::NotText(path.to_owned()))
        }
        Ok(None) => Err(LoadError::TooLarge { path: path.to_owned(), mebibytes: limit >> 20 }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(LoadError::Missing(path.to_owned()))
        }
        Err(error) => Err(unreadable(error)),
    }
}

/// None if there is more than `limit`.
fn bounded(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // Opening a pipe or a device may block for ever, so the kind is asked first.
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if metadata.len() > limit {
        return Ok(None);
    }
    // It may grow meanwhile.
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

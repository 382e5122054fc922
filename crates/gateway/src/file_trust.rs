//! The check that overlays and pins are the ones that the user of the project trusted.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Knows which content of overlays and of the lock file the user has trusted. The application implements it.
pub trait FileTrust: fmt::Debug + Send + Sync {
    /// Errors with the reason if no content of an existing file would be trusted. Then the file is not opened: it may be a
    /// link to any file of the user.
    fn check_access(&self, path: &Path) -> Result<(), String>;

    /// Errors with the reason if a file has another content than the trusted one; `None` stands for a missing file.
    ///
    /// It gets the bytes that are used afterwards, so that a file cannot change in between.
    fn check_content(&self, path: &Path, content: Option<&[u8]>) -> Result<(), String>;

    /// Runs `write`, which gives the file this content, and trusts the new content.
    fn write_file(
        &self,
        path: &Path,
        content: &[u8],
        write: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()>;
}

/// Reads a file whose content the user trusts. Returns `None` if it has more than `limit` bytes.
///
/// Never waits for a pipe, and never reads a device. Without a check, every content is trusted.
pub(crate) fn read_trusted_file(
    trust: Option<&Arc<dyn FileTrust>>,
    path: &Path,
    limit: u64,
) -> io::Result<Option<String>> {
    if let Some(Err(why)) = trust.map(|trust| trust.check_access(path)) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.len() > limit {
        return Ok(None);
    }
    // The file may grow while it is read.
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Ok(None);
    }
    check_content(trust, path, Some(&bytes))?;
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "not valid UTF-8");
    String::from_utf8(bytes).map(Some).map_err(invalid)
}

/// Checks the content of a file. Without a check, every content is trusted.
pub(crate) fn check_content(
    trust: Option<&Arc<dyn FileTrust>>,
    path: &Path,
    content: Option<&[u8]>,
) -> io::Result<()> {
    match trust.map(|trust| trust.check_content(path, content)) {
        Some(Err(why)) => Err(io::Error::new(io::ErrorKind::PermissionDenied, why)),
        _ => Ok(()),
    }
}

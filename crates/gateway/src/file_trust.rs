//! The check that overlays and pins are the ones that the user of the project trusted.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Knows which content of overlays and of the lock file the user has trusted. The application implements it.
pub trait FileTrust: fmt::Debug + Send + Sync {
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

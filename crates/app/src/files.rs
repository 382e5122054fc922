//! Files that are written whole or not at all: beside the place, to the disk, and then moved there.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Temporary files are private; a new file gets the usual.
const MODE: u32 = 0o644;

/// Writes a file, which keeps its permissions where it is there.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    // A link is the owner's way to keep the file elsewhere: the target is replaced, not the link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let permissions = std::fs::metadata(&path).map(|file| file.permissions()).ok();
    staged(&path, text, permissions)?.persist(&path)?;
    Ok(())
}

/// The same where strangers may have put a link: it is replaced, and not what it leads to.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    staged(path, text, None)?.persist(path)?;
    Ok(())
}

/// Writes a new file; false where something is there already, which stays.
pub(crate) fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    match staged(path, text, None)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

fn staged(path: &Path, text: &str, permissions: Option<Permissions>) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".vouch-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let permissions = permissions.unwrap_or_else(|| Permissions::from_mode(MODE));
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    Ok(file)
}

//! Atomic file writes: to a temporary file in the same folder, synced, then renamed.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Permissions of a new file; temporary files are created private.
const NEW_FILE_MODE: u32 = 0o644;

/// Writes a file atomically; an existing file keeps its permissions.
pub fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    // The owner may keep the file elsewhere by a symlink: the target is replaced, not the link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let permissions = std::fs::metadata(&path).map(|file| file.permissions()).ok();
    stage_temp_file(&path, text, permissions)?.persist(&path)?;
    Ok(())
}

/// Writes a file atomically and replaces a symlink instead of following it, for folders that others can write to.
pub fn replace_atomically(path: &Path, text: &str) -> io::Result<()> {
    stage_temp_file(path, text, None)?.persist(path)?;
    Ok(())
}

/// Writes a new file; returns false and changes nothing if the path already exists.
pub(crate) fn write_new_file(path: &Path, text: &str) -> io::Result<bool> {
    match stage_temp_file(path, text, None)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

fn stage_temp_file(
    path: &Path,
    text: &str,
    permissions: Option<Permissions>,
) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".vouch-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let permissions = permissions.unwrap_or_else(|| Permissions::from_mode(NEW_FILE_MODE));
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    Ok(file)
}

//! Files that are written completely or not at all: beside their place, to the disk, and then moved there.
//!
//! A reader sees the old content or the new one, also after a crash. The folder is synced as well as it can be: on a file
//! system that cannot sync folders the file is in place all the same.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Mode of a new file, less the umask. Temporary files are private otherwise.
const MODE: u32 = 0o644;
/// Mode of a file that only its owner may read.
const PRIVATE_MODE: u32 = 0o600;

/// Writes a file. An existing file keeps its permissions, and a link stays: its target is replaced.
pub fn overwrite_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    replace_content(&path, content)
}

/// Writes a file. An existing file keeps its permissions; a link is replaced, not its target.
pub fn replace_content(path: &Path, content: &[u8]) -> io::Result<()> {
    let existing = path.symlink_metadata().ok().filter(Metadata::is_file);
    let existing = existing.map(|existing| existing.permissions());
    // The temporary file of a private file is private from the start: the content may be secret.
    let mode = existing.as_ref().map_or(MODE, |existing| existing.mode() & 0o777);
    let staged = stage(path, content, mode)?;
    if let Some(existing) = existing {
        staged.as_file().set_permissions(existing)?;
    }
    staged.persist(path)?;
    sync_folder(path);
    Ok(())
}

/// Writes a file in a place where strangers may have put a link: the link is replaced, not its target.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    stage(path, content, MODE)?.persist(path)?;
    sync_folder(path);
    Ok(())
}

/// Writes a new file. Returns false if something is there already, which stays.
pub fn create_file(path: &Path, content: &[u8]) -> io::Result<bool> {
    create_with_mode(path, content, MODE)
}

/// Writes a new file that only its owner can access. Returns false if something is there already, which stays.
pub fn create_private_file(path: &Path, content: &[u8]) -> io::Result<bool> {
    create_with_mode(path, content, PRIVATE_MODE)
}

/// Writes a file that only its owner can access. A link is replaced, not its target.
pub fn replace_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    stage(path, content, PRIVATE_MODE)?.persist(path)?;
    sync_folder(path);
    Ok(())
}

fn create_with_mode(path: &Path, content: &[u8], mode: u32) -> io::Result<bool> {
    match stage(path, content, mode)?.persist_noclobber(path) {
        Ok(_) => {
            sync_folder(path);
            Ok(true)
        }
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// Writes the content to a temporary file beside `path`, and to the disk.
fn stage(path: &Path, content: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".vouch-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder_of(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn sync_folder(path: &Path) {
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("the file can be read")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn overwriting_keeps_permissions_and_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        overwrite_file(&file, b"one").expect("a new file");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("the file is ours");
        symlink(&file, &link).expect("a link");
        overwrite_file(&link, b"two").expect("the target");
        assert_eq!(read(&file), "two");
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["file", "link"]);
    }

    #[test]
    fn replacing_leaves_target_of_link_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "one").expect("a file");
        symlink(&file, &link).expect("a link");
        replace_file(&link, b"two").expect("the link");
        assert_eq!((read(&file), read(&link)), ("one".to_owned(), "two".to_owned()));
        assert!(!link.is_symlink());
        assert_eq!(names(folder.path()), ["file", "link"]);
    }

    #[test]
    fn creating_leaves_existing_file_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        assert!(create_file(&file, b"one").expect("a new file"));
        assert!(!create_file(&file, b"two").expect("a file is there"));
        assert_eq!(read(&file), "one");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let occupied = folder.path().join("folder");
        fs::create_dir(&occupied).expect("a folder");
        replace_file(&occupied, b"one").expect_err("a folder is in its place");
        replace_file(&folder.path().join("missing/file"), b"one").expect_err("no folder");
        assert_eq!(names(folder.path()), ["folder"]);
    }
}

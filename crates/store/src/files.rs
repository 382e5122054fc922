//! Files that are written completely or not at all: beside their place, to the disk, and then moved there.
//!
//! A reader sees the old content or the new one, also after a crash. A file whose writer returned is durable, and so is its
//! name, except on a file system that cannot sync folders.

use std::fs::{Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use disk::{Disk, SystemDisk};
use tempfile::NamedTempFile;

/// Mode of a new file, less the umask. Temporary files are private otherwise.
const MODE: u32 = 0o644;
/// Mode of a new folder, less the umask.
const FOLDER_MODE: u32 = 0o777;
/// Mode of a file that only its owner may read.
const PRIVATE_MODE: u32 = 0o600;

/// Writes a file on the system's disk like [`FileWriter::overwrite_file`].
pub fn overwrite_file(path: &Path, content: &[u8]) -> io::Result<()> {
    FileWriter::new(&SystemDisk).overwrite_file(path, content)
}

/// Writes a file on the system's disk like [`FileWriter::replace_content`].
pub fn replace_content(path: &Path, content: &[u8]) -> io::Result<()> {
    FileWriter::new(&SystemDisk).replace_content(path, content)
}

/// Writes a file on the system's disk like [`FileWriter::replace_file`].
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    FileWriter::new(&SystemDisk).replace_file(path, content)
}

/// Writes a new file on the system's disk like [`FileWriter::create_file`].
pub fn create_file(path: &Path, content: &[u8]) -> io::Result<bool> {
    FileWriter::new(&SystemDisk).create_file(path, content)
}

/// Writes a new file on the system's disk like [`FileWriter::create_private_file`].
pub fn create_private_file(path: &Path, content: &[u8]) -> io::Result<bool> {
    FileWriter::new(&SystemDisk).create_private_file(path, content)
}

/// Writes a file on the system's disk like [`FileWriter::replace_private_file`].
pub fn replace_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    FileWriter::new(&SystemDisk).replace_private_file(path, content)
}

/// Creates a folder and its missing parents on the system's disk, with durable names.
pub fn create_folders(path: &Path) -> io::Result<()> {
    SystemDisk.create_folders(path, FOLDER_MODE)
}

/// Writes files to a disk. Each method returns once the file and its name are durable.
///
/// If the name cannot be made durable, the method errors, although a replaced file has its new content already. A new file
/// is removed again.
#[derive(Clone, Copy, Debug)]
pub struct FileWriter<'a> {
    disk: &'a dyn Disk,
}

impl<'a> FileWriter<'a> {
    pub fn new(disk: &'a dyn Disk) -> Self {
        Self { disk }
    }

    /// Writes a file. An existing file keeps its permissions, and a link stays: its target is replaced.
    pub fn overwrite_file(self, path: &Path, content: &[u8]) -> io::Result<()> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.replace_content(&path, content)
    }

    /// Writes a file. An existing file keeps its permissions; a link is replaced, not its target.
    pub fn replace_content(self, path: &Path, content: &[u8]) -> io::Result<()> {
        let existing = path.symlink_metadata().ok().filter(Metadata::is_file);
        let existing = existing.map(|existing| existing.permissions());
        // The temporary file of a private file is private from the start: the content may be secret.
        let mode = existing.as_ref().map_or(MODE, |existing| existing.mode() & 0o777);
        self.replace_with_mode(path, content, mode, existing)
    }

    /// Writes a file in a place where strangers may have put a link: the link is replaced, not its target.
    pub fn replace_file(self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.replace_with_mode(path, content, MODE, None)
    }

    /// Writes a file that only its owner can access. A link is replaced, not its target.
    pub fn replace_private_file(self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.replace_with_mode(path, content, PRIVATE_MODE, None)
    }

    /// Writes a new file. Returns false if something is there already, which stays.
    pub fn create_file(self, path: &Path, content: &[u8]) -> io::Result<bool> {
        self.create_with_mode(path, content, MODE)
    }

    /// Writes a new file that only its owner can access. Returns false if something is there already, which stays.
    pub fn create_private_file(self, path: &Path, content: &[u8]) -> io::Result<bool> {
        self.create_with_mode(path, content, PRIVATE_MODE)
    }

    fn replace_with_mode(
        self,
        path: &Path,
        content: &[u8],
        mode: u32,
        permissions: Option<Permissions>,
    ) -> io::Result<()> {
        let staged = self.stage(path, content, mode, permissions)?.into_temp_path();
        self.disk.rename(&staged, path)?;
        staged.keep()?;
        self.disk.sync_parent(path)
    }

    fn create_with_mode(self, path: &Path, content: &[u8], mode: u32) -> io::Result<bool> {
        let staged = self.stage(path, content, mode, None)?.into_temp_path();
        match self.disk.rename_noclobber(&staged, path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(error),
        }
        staged.keep()?;
        self.disk.sync_parent(path).inspect_err(|_| {
            // A later call would find the file and take it for durable.
            let _ = self.disk.remove_file(path);
        })?;
        Ok(true)
    }

    /// Writes the content to a temporary file beside `path`, and to the disk.
    fn stage(
        self,
        path: &Path,
        content: &[u8],
        mode: u32,
        permissions: Option<Permissions>,
    ) -> io::Result<NamedTempFile> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".vouch-")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        self.disk.write_all(file.as_file(), content)?;
        if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions)?;
        }
        self.disk.sync_all(file.as_file())?;
        Ok(file)
    }
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

//! The operations on files that must survive a crash, behind one trait, so that tests can replace the disk.
//!
//! [`Disk`] works on open files and folders, so directory handles, locks and temporary files are used as without it.
//! [`SystemDisk`] forwards each operation to the operating system. [`simulated::SimulatedDisk`] does the same and keeps
//! track of what a power failure may lose; it can also fail, fill up and drop syncs.
//!
//! Opening and reading files is not part of the trait.

pub mod simulated;

use std::fmt::Debug;
use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fsync, openat, renameat_with};
use rustix::io::Errno;

/// Operations on files that must survive a crash.
pub trait Disk: Debug + Send + Sync {
    /// Writes at the position of the file, or at its end if it is open for appending, with one system call. Returns the
    /// number of written bytes.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;

    /// Writes at an offset with one system call. Returns the number of written bytes.
    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Truncates or extends the file.
    fn set_len(&self, file: &File, length: u64) -> io::Result<()>;

    /// Waits until the content of the file is on the disk.
    fn sync_data(&self, file: &File) -> io::Result<()>;

    /// Waits until the content and the metadata of the file are on the disk.
    fn sync_all(&self, file: &File) -> io::Result<()>;

    /// Waits until the entries of the folder are on the disk: files that were created, renamed or removed in it. A file
    /// system that cannot sync folders is not an error: nothing better can be done there.
    fn sync_folder(&self, folder: BorrowedFd<'_>) -> io::Result<()>;

    /// Renames a file or folder. An existing file at `to` is replaced atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames a file. Errors with [`ErrorKind::AlreadyExists`] if something is at `to` already, which stays.
    fn rename_noclobber(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Writes all bytes at the position of the file, with as many system calls as needed.
    fn write_all(&self, file: &File, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(file, bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all bytes at an offset, with as many system calls as needed.
    fn write_all_at(&self, file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(file, bytes, offset) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Syncs the folder at `path`; an empty path is the current folder.
    fn sync_folder_at(&self, path: &Path) -> io::Result<()> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.sync_folder(File::open(path)?.as_fd())
    }

    /// Syncs the folder that contains `path`, like [`Disk::sync_folder_at`].
    fn sync_parent(&self, path: &Path) -> io::Result<()> {
        self.sync_folder_at(path.parent().unwrap_or(Path::new("/")))
    }

    /// Creates a folder and its missing parents with this mode, less the umask, and makes their names durable. An existing
    /// folder stays as it is. A new folder whose name cannot be made durable is removed again, so a later call retries.
    fn create_folders(&self, path: &Path, mode: u32) -> io::Result<()> {
        let create = || DirBuilder::new().mode(mode).create(path);
        let created = match (create(), path.parent()) {
            (Err(error), Some(parent)) if error.kind() == ErrorKind::NotFound => {
                self.create_folders(parent, mode)?;
                create()
            }
            (created, _) => created,
        };
        match created {
            Ok(()) => {}
            Err(_) if path.is_dir() || path.as_os_str().is_empty() => return Ok(()),
            Err(error) => return Err(error),
        }
        self.sync_parent(path).inspect_err(|_| {
            let _ = std::fs::remove_dir(path);
        })
    }
}

/// The disk of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

/// Returns the disk of the operating system.
pub fn system_disk() -> Arc<dyn Disk> {
    Arc::new(SystemDisk)
}

#[expect(clippy::disallowed_methods, reason = "the only place that syncs files")]
impl Disk for SystemDisk {
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }

    fn set_len(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn sync_folder(&self, folder: BorrowedFd<'_>) -> io::Result<()> {
        // A handle that was opened with `O_PATH` cannot be synced, so the folder is opened again.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match fsync(openat(folder, ".", flags, Mode::empty())?) {
            // The file system cannot sync folders.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
            result => Ok(result?),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn rename_noclobber(&self, from: &Path, to: &Path) -> io::Result<()> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system or the kernel does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {
                std::fs::hard_link(from, to)?;
                // A leftover only takes space; the file is in place.
                let _ = std::fs::remove_file(from);
                Ok(())
            }
            result => Ok(result?),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}

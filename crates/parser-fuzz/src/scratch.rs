//! Files and folders, one per thread, for parsers that read from a path.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// In memory, because a run writes thousands of files per second.
const MEMORY_FOLDER: &str = "/dev/shm";

/// Writes `data` to a file with this name and passes its path to `read`.
pub(crate) fn with_file(name: &str, data: &[u8], read: impl FnOnce(&Path)) {
    let path = scratch_path(name);
    std::fs::write(&path, data).expect("a writable file");
    read(&path);
}

/// Passes the path of an empty folder to `read`.
pub(crate) fn with_folder(read: impl FnOnce(&Path)) {
    let path = scratch_path("folder");
    // The run before may have ended at any point.
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).expect("a writable folder");
    read(&path);
}

fn scratch_path(name: &str) -> PathBuf {
    thread_local!(static FOLDER: OnceCell<TempDir> = const { OnceCell::new() });
    FOLDER.with(|folder| {
        let create = || {
            let builder = || tempfile::Builder::new();
            builder()
                .tempdir_in(MEMORY_FOLDER)
                .or_else(|_| builder().tempdir())
                .expect("a temporary folder")
        };
        folder.get_or_init(create).path().join(name)
    })
}

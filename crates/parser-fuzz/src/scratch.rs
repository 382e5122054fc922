//! One file per thread for parsers that read from a path.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// In memory, because a run writes thousands of files per second.
const MEMORY_FOLDER: &str = "/dev/shm";

/// Writes `data` to a file with this name and passes its path to `read`.
pub(crate) fn with_file(name: &str, data: &[u8], read: impl FnOnce(&Path)) {
    thread_local!(static FOLDER: OnceCell<TempDir> = const { OnceCell::new() });
    let path: PathBuf = FOLDER.with(|folder| {
        let create = || {
            let builder = || tempfile::Builder::new();
            builder()
                .tempdir_in(MEMORY_FOLDER)
                .or_else(|_| builder().tempdir())
                .expect("a temporary folder")
        };
        folder.get_or_init(create).path().join(name)
    });
    std::fs::write(&path, data).expect("a writable file");
    read(&path);
}

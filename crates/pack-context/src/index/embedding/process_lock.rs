//! Lock that lets only one of the processes on a cache embed.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Lock on a file, held while there are documents to embed. The operating system releases it if the process dies.
#[derive(Default)]
pub(super) struct EmbeddingLock {
    file: Option<File>,
}

impl EmbeddingLock {
    /// Tries to take the lock; returns true if this process may embed. Without a usable lock file, every process may.
    pub(super) fn try_acquire(&mut self, path: &Path) -> bool {
        if self.file.is_some() {
            return true;
        }
        let opened =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        let Ok(file) = opened else { return true };
        match file.try_lock() {
            Ok(()) => {
                self.file = Some(file);
                true
            }
            Err(std::fs::TryLockError::WouldBlock) => false,
            Err(std::fs::TryLockError::Error(_)) => true,
        }
    }

    pub(super) fn release(&mut self) {
        self.file = None;
    }
}

//! Of all processes on one cache, the one that embeds.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Held as long as there is something to embed. The operating system lets go of it when a process dies.
#[derive(Default)]
pub(super) struct OneProcess {
    held: Option<File>,
}

impl OneProcess {
    /// Whether this process is the one. Where there can be no lock file everybody is.
    pub(super) fn take(&mut self, path: &Path) -> bool {
        if self.held.is_some() {
            return true;
        }
        let opened =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
        let Ok(file) = opened else { return true };
        match file.try_lock() {
            Ok(()) => {
                self.held = Some(file);
                true
            }
            Err(std::fs::TryLockError::WouldBlock) => false,
            Err(std::fs::TryLockError::Error(_)) => true,
        }
    }

    pub(super) fn release(&mut self) {
        self.held = None;
    }
}

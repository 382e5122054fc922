//! Reads small files from the kernel's caches without waiting for a disk.
//!
//! One `openat2` replaces the walk. It succeeds only if the path contains no link and every name is in the kernel's
//! lookup cache. It then opens the same file as the walk, because all names of the path were already checked against the
//! deny list. In every other case the result is `None`, and the walk decides and reports the error.

use std::fs::File;
use std::io::IoSliceMut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::{Guard, require_regular_file};

/// The content of a regular file below the root.
#[derive(Debug)]
pub struct CachedFile {
    pub bytes: Vec<u8>,
    pub modified: SystemTime,
    /// The requested path without `.` and doubled slashes.
    pub path: String,
}

/// Set when the kernel or the file system does not support reads without waiting. Network and user-space file systems
/// in particular would turn every attempt into a useless remote open.
#[derive(Debug, Default)]
pub(super) struct UnsupportedFlag(AtomicBool);

impl UnsupportedFlag {
    pub(super) fn record_error(&self, error: Errno) {
        if matches!(error, Errno::OPNOTSUPP | Errno::NOSYS) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Guard {
    /// Returns the file if it has at most `limit` bytes and can be opened and read from the kernel's caches alone.
    pub fn read_cached(&self, path: &str, limit: usize) -> Option<CachedFile> {
        let path = self.check_file(path).ok()?.join("/");
        if self.cached_reads_unsupported.is_set() {
            return None;
        }
        let (file, metadata) = require_regular_file(self.open_cached(&path)?).ok()?;
        let size = usize::try_from(metadata.len()).ok().filter(|size| *size <= limit)?;
        let bytes = self.read_whole(&file, size)?;
        self.check_source_bytes(&[&path], &bytes).ok()?;
        Some(CachedFile { bytes, modified: metadata.modified().ok()?, path })
    }

    /// Opens the file without waiting. Non-blocking like the walk, because of FIFOs.
    fn open_cached(&self, path: &str) -> Option<File> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::CACHED;
        openat2(&self.root, path, flags, Mode::empty(), resolve)
            .inspect_err(|error| self.cached_reads_unsupported.record_error(*error))
            .ok()
            .map(File::from)
    }

    /// Returns the content if it has exactly `size` bytes. A page that is not cached cuts the read short. A file that has
    /// grown, or a `/proc` file without a size, fills the spare byte.
    fn read_whole(&self, file: &File, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size + 1];
        let read = preadv2(file, &mut [IoSliceMut::new(&mut bytes)], 0, ReadWriteFlags::NOWAIT)
            .inspect_err(|error| self.cached_reads_unsupported.record_error(*error))
            .ok()?;
        bytes.truncate(read);
        (read == size).then_some(bytes)
    }
}

//! Small files that the kernel holds in memory, read without waiting for a disk.
//!
//! One `openat2` takes the place of the walk. It succeeds only where no link is met and every name is in the kernel's
//! lookup cache, and then it opens what the walk would: the names are those of the path, all held against the deny list
//! already. Whatever else comes up, the answer here is None, and the walk decides and finds the words.

use std::fs::File;
use std::io::IoSliceMut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::{Guard, regular};

/// A regular file below the root, read whole.
#[derive(Debug)]
pub struct CachedFile {
    pub bytes: Vec<u8>,
    pub modified: SystemTime,
    /// The path as asked for, without `.` and doubled slashes.
    pub path: String,
}

/// Set by the first sign that this place has no reads without waiting: an old kernel, or a file system (network and
/// user-space ones above all) that would make every attempt an open that is asked of somebody else, for nothing.
#[derive(Debug, Default)]
pub(super) struct Unsupported(AtomicBool);

impl Unsupported {
    fn learn_from(&self, error: Errno) {
        if matches!(error, Errno::OPNOTSUPP | Errno::NOSYS) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Guard {
    /// The file if it has at most `limit` bytes and can be opened and read from the kernel's caches alone.
    pub fn read_cached(&self, path: &str, limit: usize) -> Option<CachedFile> {
        let path = self.check_file(path).ok()?.join("/");
        if self.uncached.0.load(Ordering::Relaxed) {
            return None;
        }
        let (file, metadata) = regular(self.open_cached(&path)?).ok()?;
        let size = usize::try_from(metadata.len()).ok().filter(|size| *size <= limit)?;
        let bytes = self.read_whole(&file, size)?;
        Some(CachedFile { bytes, modified: metadata.modified().ok()?, path })
    }

    /// Non-blocking, like the walk, for FIFOs.
    fn open_cached(&self, path: &str) -> Option<File> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::CACHED;
        openat2(&self.root, path, flags, Mode::empty(), resolve)
            .inspect_err(|error| self.uncached.learn_from(*error))
            .ok()
            .map(File::from)
    }

    /// `size` bytes and not one more: a page that is not there cuts the read short, and a file that has grown, or one
    /// of `/proc` that has no size, fills the spare byte.
    fn read_whole(&self, file: &File, size: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size + 1];
        let read = preadv2(file, &mut [IoSliceMut::new(&mut bytes)], 0, ReadWriteFlags::NOWAIT)
            .inspect_err(|error| self.uncached.learn_from(*error))
            .ok()?;
        bytes.truncate(read);
        (read == size).then_some(bytes)
    }
}

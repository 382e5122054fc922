//! One file of the project as a listing sees it: its path, its stamp, and whether grep may show it.

use std::cmp::Ordering;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// A regular file below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// From the root, names joined by `/`.
    pub path: Box<str>,
    pub stamp: Stamp,
    /// False for a file that is known only because it lies at an extra path: hidden or ignored otherwise.
    pub greppable: bool,
}

/// What tells two states of a file apart without reading it.
///
/// Equal stamps are a strong hint, not a proof: two writes within one tick of the clock leave the same stamp. Whoever
/// keeps stamps must not trust one that was taken within a tick of its own `modified` time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// When content or attributes changed last, in nanoseconds since 1970. No program can set it back.
    pub changed: i64,
}

impl Stamp {
    pub fn of(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The order of paths in every answer: name by name, each by its bytes, as `rg --sort path` has it. So the files of a
/// folder stand together, which they do not when whole paths are compared (`a-b` would stand between `a` and `a/b`).
pub fn by_path(left: &str, right: &str) -> Ordering {
    left.split('/').cmp(right.split('/'))
}

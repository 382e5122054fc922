//! A file in a listing: its path, its stamp, and whether grep may show it.

use std::cmp::Ordering;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// A regular file below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Relative to the root, with `/` as the separator.
    pub path: Box<str>,
    pub stamp: FileStamp,
    /// False for a hidden or ignored file that is listed only because of an extra path.
    pub greppable: bool,
}

/// Distinguishes two states of a file without reading it.
///
/// Equal stamps are a strong hint, not a proof: two writes within one clock tick leave the same stamp. Code that stores
/// stamps must not trust one that was taken within a tick of its own `modified` time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStamp {
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content or attributes (`ctime`), in nanoseconds since 1970. Programs cannot set it back.
    pub changed: i64,
}

impl FileStamp {
    pub fn from_metadata(metadata: &Metadata) -> Self {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Compares two paths in the order of every result: component by component, by bytes, like `rg --sort path`.
///
/// This keeps the files of a folder together. Comparing whole paths would place `a-b` between `a` and `a/b`.
pub fn compare_paths(left: &str, right: &str) -> Ordering {
    left.split('/').cmp(right.split('/'))
}

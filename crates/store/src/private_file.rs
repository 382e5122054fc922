//! Private files: readable only by their owner, and never opened through a symbolic link.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

/// Returns the options that open a private file for writing.
///
/// A missing file is created, and an existing one is not truncated.
pub(crate) fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Returns the options that open a private file for reading.
pub(crate) fn read_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

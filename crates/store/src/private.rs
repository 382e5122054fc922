//! Files that only their owner reads, and that are never reached through a symbolic link.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

/// How such a file is opened for writing: made where it is missing, kept as it is where it is not.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

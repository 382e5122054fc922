//! Detects file systems that can change without an event from this kernel.

use std::path::Path;

/// Magic numbers of `statfs`: NFS, SMB (three generations), Ceph, AFS, 9P, FUSE (sshfs, virtiofs, and every other file
/// system in user space), and VirtualBox shared folders.
const REMOTE_MAGIC_NUMBERS: [u64; 9] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x00c3_6400,
    0x5346_414f,
    0x0102_1997,
    0x6573_5546,
    0x786f_4256,
];

/// Returns true if events below this folder may be missing. An unknown file system, or a failed `statfs`, is treated as
/// local.
pub(super) fn is_remote(folder: &Path) -> bool {
    // The width and sign of the field differ between architectures; the numbers fit in 32 bits.
    rustix::fs::statfs(folder)
        .is_ok_and(|found| REMOTE_MAGIC_NUMBERS.contains(&(found.f_type as u32 as u64)))
}

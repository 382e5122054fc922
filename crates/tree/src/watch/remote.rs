//! File systems that others may change without this kernel hearing of it.

use std::path::Path;

/// The magic numbers of `statfs`: NFS, SMB (three generations), Ceph, AFS, 9P, FUSE (sshfs, virtiofs, and every file
/// system in user space), and the shared folders of VirtualBox.
const REMOTE: [u64; 9] = [
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

/// Whether events below this folder may be missing. What cannot be told counts as local: it is then not a file system
/// that this list knows.
pub(super) fn is_remote(folder: &Path) -> bool {
    // The width and sign of the field differ between architectures; the numbers fit in 32 bits.
    rustix::fs::statfs(folder).is_ok_and(|found| REMOTE.contains(&(found.f_type as u32 as u64)))
}

//! The head file `audit.head`: the sequence number and hash of the last line, to detect lines removed from the end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::chain::{self, ChainTip};

/// 20 digits, a space, the hash and a newline. The fixed length makes each update one write over the same bytes.
const HEAD_LENGTH: usize = 20 + 1 + chain::HASH_PREFIX.len() + 64 + 1;

/// Returns the path of the head file that belongs to a log.
pub(super) fn head_path(log: &Path) -> PathBuf {
    log.with_extension("head")
}

/// Returns `None` if the file is missing or is not a valid head.
pub(super) fn read_head(path: &Path) -> io::Result<Option<ChainTip>> {
    match open_head(OpenOptions::new().read(true), path) {
        Ok(file) => {
            let mut text = [0; HEAD_LENGTH];
            match file.read_exact_at(&mut text, 0) {
                Ok(()) => Ok(parse_head(&text)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                Err(error) => Err(error),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the head. The file is opened each time, so that a removed head is created again.
pub(super) fn write_head(path: &Path, tip: &ChainTip) -> io::Result<()> {
    let text = format!("{:020} {}\n", tip.seq, chain::format_hash(&tip.hash));
    let options = &mut OpenOptions::new();
    let file = open_head(options.write(true).create(true).truncate(false).mode(0o600), path)?;
    file.write_all_at(text.as_bytes(), 0)
}

fn parse_head(text: &[u8; HEAD_LENGTH]) -> Option<ChainTip> {
    let text = std::str::from_utf8(text).ok()?;
    let (seq, hash) = text.strip_suffix('\n')?.split_once(' ')?;
    let seq = seq.parse().ok().filter(|seq| *seq <= chain::MAX_SEQ)?;
    Some(ChainTip { seq, hash: chain::parse_hash(hash)? })
}

fn open_head(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)
}

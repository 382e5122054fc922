//! The head: a small file beside the log that knows the last line, so that the end of the log cannot be cut unnoticed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::chain::{self, Tip};

/// Twenty digits, a space, the hash, a newline. Always this long and so always one write over the same bytes.
const LENGTH: usize = 20 + 1 + chain::PREFIX.len() + 64 + 1;

pub(super) fn path_of(log: &Path) -> PathBuf {
    log.with_extension("head")
}

/// `None` when it is missing or not readable as a head.
pub(super) fn read(path: &Path) -> io::Result<Option<Tip>> {
    match open(OpenOptions::new().read(true), path) {
        Ok(file) => {
            let mut text = [0; LENGTH];
            match file.read_exact_at(&mut text, 0) {
                Ok(()) => Ok(parse(&text)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                Err(error) => Err(error),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opened anew each time, so that a head that was removed comes back.
pub(super) fn write(path: &Path, tip: &Tip) -> io::Result<()> {
    let text = format!("{:020} {}\n", tip.seq, chain::text(&tip.hash));
    let options = &mut OpenOptions::new();
    let file = open(options.write(true).create(true).truncate(false).mode(0o600), path)?;
    file.write_all_at(text.as_bytes(), 0)
}

fn parse(text: &[u8; LENGTH]) -> Option<Tip> {
    let text = std::str::from_utf8(text).ok()?;
    let (seq, hash) = text.strip_suffix('\n')?.split_once(' ')?;
    let seq = seq.parse().ok().filter(|seq| *seq <= chain::MAX_SEQ)?;
    Some(Tip { seq, hash: chain::parse_text(hash)? })
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)
}

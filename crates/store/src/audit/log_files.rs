//! The files of a log: the current one, and the numbered ones that were closed before it.
//!
//! ```text
//! audit.000001.jsonl  audit.000002.jsonl  audit.jsonl      oldest first
//! ```

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::chain::{self, Hash};

/// Bytes that are hashed at once.
const BLOCK: usize = 64 << 10;

/// Returns the path of a closed file of a log.
pub(super) fn closed_path(log: &Path, number: u32) -> PathBuf {
    log.with_extension(format!("{number:06}.jsonl"))
}

/// Returns the numbers of the closed files, oldest first.
pub(super) fn list_closed(log: &Path) -> io::Result<Vec<u32>> {
    let absolute = std::path::absolute(log)?;
    let entries = match std::fs::read_dir(absolute.parent().unwrap_or(&absolute)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let stem = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut numbers = vec![];
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| {
            let digits = name.strip_prefix(&*stem)?.strip_prefix('.')?.strip_suffix(".jsonl")?;
            // Only the spelling that we write, so that a number has one file.
            let number: u32 = digits.parse().ok()?;
            (format!("{number:06}") == digits && number > 0).then_some(number)
        });
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the paths of all files that exist, oldest first.
pub(super) fn list_files(log: &Path) -> io::Result<Vec<PathBuf>> {
    let closed = list_closed(log)?.into_iter();
    let mut files: Vec<_> = closed.map(|number| closed_path(log, number)).collect();
    if log.try_exists()? {
        files.push(log.to_owned());
    }
    Ok(files)
}

/// Returns the SHA-256 of the first `length` bytes of a file.
pub(super) fn hash_file(file: File, length: u64) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = file.take(length);
    let mut block = Vec::with_capacity(BLOCK);
    while file.by_ref().take(BLOCK as u64).read_to_end(&mut block)? > 0 {
        hasher.update(&block);
        block.clear();
    }
    let hash: Hash = hasher.finalize().into();
    Ok(chain::format_hash(&hash))
}

//! File operations of the corpus: list, bounded read, atomic replace.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use disk::Disk;

/// Suffix of temporary files. Their names begin with a dot, so that they are not listed as sequences.
const UNFINISHED: &str = ".vouch-tmp";

/// File extensions of sequences, as Echidna and people name them; other files are ignored.
const ENDINGS: [&str; 2] = ["txt", "json"];

/// Returns the sequence files of a folder, sorted by name.
pub(super) fn list_sequences(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_hidden =
            path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        // Anything but a regular file, such as a pipe, could block forever.
        if ending.is_some_and(|it| ENDINGS.contains(&it)) && !is_hidden && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads a file. Returns None if it has more than `limit` bytes.
pub(super) fn read_bounded(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Returns true if the file contains exactly the text.
pub(super) fn has_content(path: &Path, text: &str) -> bool {
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|it| it.len());
    size == Some(text.len() as u64)
        && read_bounded(path, text.len() as u64)
            .is_ok_and(|bytes| bytes.as_deref() == Some(text.as_bytes()))
}

/// Replaces a file atomically and durably. `number` makes the names of concurrent temporary files unique.
pub(super) fn replace_file(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    content: &[u8],
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let unfinished = folder.join(format!(".{number}{UNFINISHED}"));
    let written = File::create(&unfinished)
        .and_then(|file| {
            disk.write_all(&file, content)?;
            disk.sync_all(&file)
        })
        .and_then(|()| disk.rename(&unfinished, path));
    if written.is_err() {
        // A leftover only takes space; the next campaign removes it, too.
        let _ = fs::remove_file(&unfinished);
        return written;
    }
    disk.sync_folder_at(folder)
}

/// Removes temporary files of killed campaigns. Only the lock holder may call it.
pub(super) fn remove_unfinished(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(UNFINISHED)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Renames a damaged file, so that it is kept but not read again, and returns its new path.
pub(super) fn set_aside(disk: &dyn Disk, path: &Path) -> io::Result<PathBuf> {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(".corrupt");
        if number > 0 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    let free = (0..u32::MAX).map(name).find(|path| !path.exists());
    let aside = free.ok_or(io::ErrorKind::AlreadyExists)?;
    disk.rename(path, &aside)?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use disk::SystemDisk;

    use super::set_aside;

    #[test]
    fn set_aside_never_overwrites() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.txt");
        for expected in ["1.txt.corrupt", "1.txt.corrupt-1", "1.txt.corrupt-2"] {
            fs::write(&path, expected).unwrap();
            let aside = set_aside(&SystemDisk, &path).unwrap();
            assert_eq!(aside, folder.path().join(expected));
            assert_eq!(fs::read_to_string(aside).unwrap(), expected);
        }
    }
}

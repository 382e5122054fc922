//! Single files: listed, read within bounds, replaced whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How the name of a file ends that is being written. It begins with a dot, so that nobody takes it for a sequence.
const UNFINISHED: &str = ".vouch-tmp";

/// Folders may hold anything; a sequence ends in what Echidna or a person calls it.
const ENDINGS: [&str; 2] = ["txt", "json"];

/// The sequences of a folder in the order of their names.
pub(super) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_hidden =
            path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        // What is no file, such as a pipe, could keep us waiting for ever.
        if ending.is_some_and(|it| ENDINGS.contains(&it)) && !is_hidden && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The bytes of a file; None where there are more than `limit`.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// True if the file holds exactly the text.
pub(super) fn holds(path: &Path, text: &str) -> bool {
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|it| it.len());
    size == Some(text.len() as u64)
        && read(path, text.len() as u64)
            .is_ok_and(|bytes| bytes.as_deref() == Some(text.as_bytes()))
}

/// Puts what `write` writes in the place of the file, all of it or nothing. `number` tells apart what is written at the
/// same time.
pub(super) fn replace(
    path: &Path,
    number: u64,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let unfinished = folder.join(format!(".{number}{UNFINISHED}"));
    let written = File::create(&unfinished)
        .and_then(|mut file| {
            write(&mut file)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // What is left of it only takes space, and the next campaign clears it away, too.
        let _ = fs::remove_file(&unfinished);
        return written;
    }
    sync_folder(folder);
    Ok(())
}

/// Removes what a killed campaign left half written. Only the holder of the folder may.
pub(super) fn remove_unfinished(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(UNFINISHED)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Renames a damaged file so that it is kept and not read again; its new path.
pub(super) fn set_aside(path: &Path) -> io::Result<PathBuf> {
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
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// Makes the new name last through a loss of power, where the system can; the file is whole either way.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, Write};

    use super::{replace, set_aside};

    /// What a full disk does: some bytes go, then there is no more room.
    fn half(file: &mut fs::File) -> io::Result<()> {
        file.write_all(b"ha")?;
        Err(io::ErrorKind::StorageFull.into())
    }

    #[test]
    fn a_full_disk_costs_nothing_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.txt");
        fs::write(&path, "old").unwrap();
        let error = replace(&path, 0, half).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half written is left");
    }

    #[test]
    fn what_is_set_aside_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.txt");
        for expected in ["1.txt.corrupt", "1.txt.corrupt-1", "1.txt.corrupt-2"] {
            fs::write(&path, expected).unwrap();
            let aside = set_aside(&path).unwrap();
            assert_eq!(aside, folder.path().join(expected));
            assert_eq!(fs::read_to_string(aside).unwrap(), expected);
        }
    }
}

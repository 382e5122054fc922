//! Reads files of folders that may be hostile: regular files only, of bounded size, and never through a link that leaves
//! the folder.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

/// Maximum size of a configuration file.
const MAX_CONFIG: u64 = 4 << 20;
/// Depth below an output folder to which files are written.
const MAX_OUTPUT_DEPTH: usize = 3;

/// The user that must own configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileOwner {
    /// The user of this process.
    CurrentUser,
    /// Any user, because the run was trusted explicitly.
    AnyUser,
}

impl FileOwner {
    /// Returns true if a file or folder of this user may decide anything.
    pub(crate) fn permits(self, uid: u32) -> bool {
        self == Self::AnyUser || uid == current_user()
    }
}

/// Returns the user whose permissions this process has.
pub(super) fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The content of a file, with its owner.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) owner: u32,
}

impl ReadFile {
    /// Returns the content as text.
    pub(crate) fn into_text(self) -> io::Result<String> {
        String::from_utf8(self.bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not valid UTF-8"))
    }
}

/// Reads a configuration file that the user named. Links are followed.
pub(crate) fn read_config_file(path: &Path) -> io::Result<ReadFile> {
    read_regular_file(path, MAX_CONFIG, OFlags::empty())
}

/// Reads a file of a folder. Returns `None` if it does not exist. Errors if it is a link that leaves the folder.
///
/// The folder must be canonical.
pub(crate) fn read_contained_file(folder: &Path, path: &Path) -> io::Result<Option<ReadFile>> {
    read_contained_file_up_to(folder, path, MAX_CONFIG)
}

/// Reads the text of a file that the user or a client chose, of at most `limit` bytes. Returns `None` if it does not exist.
///
/// Below the root, which must be canonical, a link that leaves the root is an error. Other links are the user's own.
pub fn read_text_file(root: &Path, path: &Path, limit: u64) -> io::Result<Option<String>> {
    let path = std::path::absolute(path)?;
    let read = match path.starts_with(root) {
        true => read_contained_file_up_to(root, &path, limit),
        false => match read_regular_file(&path, limit, OFlags::empty()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        },
    };
    read?.map(ReadFile::into_text).transpose()
}

/// Returns the path at which a file is written without following links: links inside the root are resolved. Errors with
/// the name of a link that leaves the root. The root must be canonical.
pub fn resolve_write_path(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let Ok(inside) = path.strip_prefix(root) else {
        // The user chose a place outside, and may have linked it.
        return Ok(path.canonicalize().unwrap_or(path));
    };
    let mut real = root.to_owned();
    for component in inside.components() {
        let Component::Normal(name) = component else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it leaves the project"));
        };
        let next = real.join(name);
        real = match resolve_contained(root, &next) {
            Ok(resolved) => resolved.unwrap_or(next),
            Err(_) if next.is_symlink() => {
                let text = format!("{} is a link that leaves the project", next.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
            }
            Err(error) => return Err(error),
        };
    }
    Ok(real)
}

/// Errors if files below an output folder would be written through a link that leaves the root, with the name of the link.
/// The root must be canonical. A folder outside is the user's own.
pub(crate) fn check_output_folder(root: &Path, folder: &Path) -> io::Result<()> {
    let folder = std::path::absolute(folder)?;
    if !folder.starts_with(root) {
        return Ok(());
    }
    let mut open = vec![(resolve_write_path(root, &folder)?, 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                resolve_write_path(root, &entry.path())?;
            } else if kind.is_dir() && depth < MAX_OUTPUT_DEPTH {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    Ok(())
}

pub(super) fn read_contained_file_up_to(
    folder: &Path,
    path: &Path,
    limit: u64,
) -> io::Result<Option<ReadFile>> {
    let Some(real) = resolve_contained(folder, path)? else { return Ok(None) };
    // The last component was resolved, so a link here was put in place just now.
    match read_regular_file(&real, limit, OFlags::NOFOLLOW) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Returns the real path of a file in a folder; `None` if it does not exist. Errors if it is outside.
pub(super) fn resolve_contained(folder: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    match real.starts_with(folder) {
        true => Ok(Some(real)),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is a link that leaves the project",
        )),
    }
}

/// Reads a regular file of at most `limit` bytes. Never waits for a pipe or a device.
fn read_regular_file(path: &Path, limit: u64, flags: OFlags) -> io::Result<ReadFile> {
    let flags = (flags | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let too_large = || io::Error::other(format!("it is larger than {limit} bytes"));
    if metadata.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(ReadFile { bytes, owner: metadata.uid() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn reads_only_contained_regular_files() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let folder = base.join("app");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(base.join("outside"), "secret").unwrap();
        std::fs::write(folder.join("plain"), "text").unwrap();
        symlink("plain", folder.join("inside")).unwrap();
        symlink("../outside", folder.join("out")).unwrap();
        symlink(base.join("outside"), folder.join("absolute")).unwrap();
        symlink(&base, folder.join("parent")).unwrap();
        symlink("missing", folder.join("dangling")).unwrap();
        symlink("/dev/zero", folder.join("device")).unwrap();
        let fifo = rustix::fs::CWD;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(fifo, folder.join("fifo"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        std::fs::File::create(folder.join("huge")).unwrap().set_len(MAX_CONFIG + 1).unwrap();
        let read = |name: &str| match read_contained_file(&folder, &folder.join(name)) {
            Ok(Some(file)) => file.into_text().unwrap(),
            Ok(None) => "missing".to_owned(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(read("plain"), "text");
        assert_eq!(read("inside"), "text");
        assert_eq!(read("nothing"), "missing");
        for name in ["out", "absolute", "parent/outside", "../outside", "device"] {
            assert_eq!(read(name), "error: it is a link that leaves the project", "{name}");
        }
        for name in ["fifo", "sub"] {
            assert_eq!(read(name), "error: it is not a regular file", "{name}");
        }
        assert!(read("huge").starts_with("error: it is larger"), "{}", read("huge"));
        assert!(read("dangling").starts_with("error:"), "{}", read("dangling"));
    }
}

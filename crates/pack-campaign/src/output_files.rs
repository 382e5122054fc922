//! Files that callers name, confined to the corpus folder.
//!
//! Access goes through a directory handle that cannot be left. `..`, absolute paths and links that lead outside
//! therefore fail in the kernel rather than in a string check. A file is written under a temporary name and
//! renamed after a sync, so it is either complete or absent, also after a power failure.

use std::io;
use std::os::fd::AsFd;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use contract::{ErrorCode, ToolError};
use disk::{Disk, SystemDisk};

/// Extensions of the campaign's own files. Replacing one of them would damage the corpus or the command log.
const RESERVED_EXTENSIONS: [&str; 5] = ["txt", "json", "jsonl", "sol", "corrupt"];

/// Bytes, because that is what file systems count: a name of 100 characters may have 400.
const LONG_NAME: &str = "has a name that is longer than the 255 bytes that file systems allow; use a name such as \
                         lcov.info";

/// Checks a path before anything is written. Returns an error if no file may be written there.
pub(crate) fn check_output_path(folder: Option<&Path>, path: &str) -> Result<(), ToolError> {
    if folder.is_none() {
        let message = "`outputPath` requires a corpus folder, and this campaign has none: start it with \
                       --corpus-dir DIR, or omit `outputPath` and use the text of the response";
        return Err(invalid_output_path(path, message.to_owned()));
    }
    if path.len() > guard::MAX_PATH_BYTES || path.contains(char::is_control) {
        return Err(path_error(
            path,
            "is not a valid path: it is too long or contains a control character",
        ));
    }
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) if name.len() > guard::MAX_NAME_BYTES => {
                return Err(path_error(path, LONG_NAME));
            }
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(outside_folder_error(path));
            }
        }
    }
    let named = Path::new(path);
    let Some(name) =
        named.file_name().and_then(|name| name.to_str()).filter(|_| !path.ends_with('/'))
    else {
        return Err(path_error(path, "is not a file name; use a name such as lcov.info"));
    };
    let ending = named.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if name.starts_with('.')
        || RESERVED_EXTENSIONS.iter().any(|own| ending.eq_ignore_ascii_case(own))
    {
        return Err(path_error(
            path,
            "is reserved for the campaign's own files, as are all hidden names and names ending in .txt, .json, \
             .jsonl, .sol or .corrupt; use a name such as lcov.info",
        ));
    }
    Ok(())
}

/// Writes the file atomically and creates missing parent folders.
pub(crate) fn write_output_file(folder: &Path, path: &str, text: &str) -> Result<(), ToolError> {
    write_below(folder, Path::new(path), text).map_err(|error| match error.kind() {
        // `cap-std` reports a step outside the folder this way; permission errors of the system get the same
        // message.
        io::ErrorKind::PermissionDenied => outside_folder_error(path),
        io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::AlreadyExists => {
            path_error(path, "cannot be written: a folder or file is in the way")
        }
        // Some file systems allow less than the limits that were checked, such as encrypted ones.
        io::ErrorKind::InvalidFilename => path_error(path, LONG_NAME),
        io::ErrorKind::InvalidInput => path_error(path, "is not a valid path on this file system"),
        _ => {
            tracing::error!(path = guard::display_path(path), %error, "failed to write file");
            let message = format!(
                "failed to write `{}`; an existing file is unchanged",
                guard::display_path(path)
            );
            ToolError::new(ErrorCode::InternalError, message)
                .with_detail("path", guard::display_path(path))
        }
    })
}

fn write_below(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let root = Dir::open_ambient_dir(folder, ambient_authority())?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = match parent {
        Some(parent) => open_or_create_dir(&root, parent)?,
        None => root,
    };
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    match folder.symlink_metadata(name) {
        // A rename would replace the link itself, which its author did not intend.
        Ok(found) if found.is_symlink() => return Err(io::ErrorKind::PermissionDenied.into()),
        Ok(found) if !found.is_file() => return Err(io::ErrorKind::IsADirectory.into()),
        _ => {}
    }
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let unfinished = format!(".{}-{number}.vouch-tmp", std::process::id());
    let written = write_and_rename(&folder, &unfinished, Path::new(name), text);
    if written.is_err() {
        let _ = folder.remove_file(&unfinished);
    }
    written
}

/// Opens the folder before creating it: creating an existing path fails identically wherever the path leads.
fn open_or_create_dir(root: &Dir, path: &Path) -> io::Result<Dir> {
    match root.open_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            root.create_dir_all(path)?;
            root.open_dir(path)
        }
        opened => opened,
    }
}

fn write_and_rename(folder: &Dir, unfinished: &str, name: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // A killed process with the same ID may have left this file behind.
    let _ = folder.remove_file(unfinished);
    let file = folder.open_with(unfinished, &options)?.into_std();
    SystemDisk.write_all(&file, text.as_bytes())?;
    SystemDisk.sync_all(&file)?;
    folder.rename(unfinished, folder, name)?;
    // The file is in place; after a power failure its earlier content may be there again.
    if let Err(error) = SystemDisk.sync_folder(folder.as_fd()) {
        tracing::warn!(%error, "failed to sync the folder of an output file");
    }
    Ok(())
}

fn outside_folder_error(path: &str) -> ToolError {
    let shown = guard::display_path(path);
    let message = format!(
        "`{shown}` leads outside the corpus folder; pass a path relative to that folder without `..`, such as \
         lcov.info"
    );
    ToolError::new(ErrorCode::AccessDenied, message).with_detail("path", shown)
}

fn path_error(path: &str, reason: &str) -> ToolError {
    invalid_output_path(path, format!("`{}` {reason}", guard::display_path(path)))
}

fn invalid_output_path(path: &str, message: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message)
        .with_detail("field", "outputPath")
        .with_detail("path", guard::display_path(path))
}

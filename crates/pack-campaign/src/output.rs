//! Files that callers name, below the folder of the corpus and nowhere else.
//!
//! Access goes through a handle of the folder that cannot be left, so `..`, absolute paths and links that lead out fail in
//! the kernel and not in a test of strings. A file is written beside its place and renamed: it is whole or not there.

use std::io::{self, Write};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use contract::{Code, ToolError};

/// Endings of what the campaign itself keeps here; to replace any of it would spoil the corpus or the log of commands.
const OWN_ENDINGS: [&str; 5] = ["txt", "json", "jsonl", "sol", "corrupt"];

/// What can be said of a path before anything is written.
pub(crate) fn check(folder: Option<&Path>, path: &str) -> Result<(), ToolError> {
    if folder.is_none() {
        let message = "`outputPath` needs a folder to write to, and this campaign has none: \
                       start it with --corpus-dir DIR, or leave `outputPath` out and take the text of the answer";
        return Err(invalid(path, message.to_owned()));
    }
    if path.len() > guard::MAX_PATH_BYTES || path.contains(char::is_control) {
        return Err(refused(path, "is no path: it is too long or holds a control character"));
    }
    for part in Path::new(path).components() {
        match part {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(leads_out(path));
            }
        }
    }
    let named = Path::new(path);
    let Some(name) =
        named.file_name().and_then(|name| name.to_str()).filter(|_| !path.ends_with('/'))
    else {
        return Err(refused(path, "names no file; write it as lcov.info"));
    };
    let ending = named.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if name.starts_with('.') || OWN_ENDINGS.iter().any(|own| ending.eq_ignore_ascii_case(own)) {
        return Err(refused(
            path,
            "could be one of the campaign's own files: hidden names and names that end in .txt, .json, .jsonl, .sol \
             or .corrupt belong to it; write it as lcov.info",
        ));
    }
    Ok(())
}

/// Writes the file, all of it or nothing. Folders on the way are made.
pub(crate) fn write(folder: &Path, path: &str, text: &str) -> Result<(), ToolError> {
    write_below(folder, Path::new(path), text).map_err(|error| match error.kind() {
        // What `cap-std` says of a step out of the folder; the system's own denials are answered alike.
        io::ErrorKind::PermissionDenied => leads_out(path),
        io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::AlreadyExists => {
            refused(path, "cannot be written: a folder or a file is in its way")
        }
        _ => {
            tracing::error!(path = guard::shown(path), %error, "a file could not be written");
            let message = format!(
                "`{}` could not be written; nothing that was there is lost",
                guard::shown(path)
            );
            ToolError::new(Code::InternalError, message).with("path", guard::shown(path))
        }
    })
}

fn write_below(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let root = Dir::open_ambient_dir(folder, ambient_authority())?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = match parent {
        Some(parent) => open_or_make(&root, parent)?,
        None => root,
    };
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    match folder.symlink_metadata(name) {
        // A rename would put the file in the place of the link, which is not what its maker meant.
        Ok(found) if found.is_symlink() => return Err(io::ErrorKind::PermissionDenied.into()),
        Ok(found) if !found.is_file() => return Err(io::ErrorKind::IsADirectory.into()),
        _ => {}
    }
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let unfinished = format!(".{}-{number}.vouch-tmp", std::process::id());
    let written = finish(&folder, &unfinished, Path::new(name), text);
    if written.is_err() {
        let _ = folder.remove_file(&unfinished);
    }
    written
}

/// Opened before it is made: to make what is there already fails in the same way wherever it leads.
fn open_or_make(root: &Dir, path: &Path) -> io::Result<Dir> {
    match root.open_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            root.create_dir_all(path)?;
            root.open_dir(path)
        }
        opened => opened,
    }
}

fn finish(folder: &Dir, unfinished: &str, name: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // Left by a process of the same number that was killed.
    let _ = folder.remove_file(unfinished);
    let mut file = folder.open_with(unfinished, &options)?;
    file.write_all(text.as_bytes())?;
    folder.rename(unfinished, folder, name)
}

fn leads_out(path: &str) -> ToolError {
    let shown = guard::shown(path);
    let message = format!(
        "`{shown}` leads out of the campaign's folder, where nothing may be written; give a path relative to that \
         folder without `..`, such as lcov.info"
    );
    ToolError::new(Code::AccessDenied, message).with("path", shown)
}

fn refused(path: &str, reason: &str) -> ToolError {
    invalid(path, format!("`{}` {reason}", guard::shown(path)))
}

fn invalid(path: &str, message: String) -> ToolError {
    ToolError::new(Code::InvalidInput, message)
        .with("field", "outputPath")
        .with("path", guard::shown(path))
}

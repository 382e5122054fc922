//! Moves the state of a project out of the project: takes over what earlier versions kept in `<root>/.vouch/`.
//!
//! ```text
//! <root>/.vouch/                      <state directory>/
//!   vouch.db        discoveries ────►   vouch.db               added; known ones stay
//!   audit.jsonl, audit.head ────────►   audit.legacy.jsonl, audit.legacy.head
//!   samples/, traces.jsonl, ask_history   the same names, unless they exist
//!   everything else                     is not read
//!                                       legacy.json            written last: the migration is complete
//! ```
//!
//! A clone can contain a `.vouch/` of its own. So nothing is taken over that grants or proves something: no approvals, used
//! nonces, sealing keys, sessions or tokens, and an earlier audit log is kept beside the log of this machine, not in it.
//! The index is a cache and is built again. `.vouch/` itself is not changed. Every step can be repeated, so an interrupted
//! migration continues with the next call.
//!
//! Call [`migrate_legacy_state`] only after the user has seen what is taken over and agreed, which is `vouch trust`.

mod legacy_folder;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use disk::Disk;
use jiff::Timestamp;
use serde_json::json;
use store::files::FileWriter;
use store::{ContextStore, StateDir, context};

use self::legacy_folder::LegacyFolder;
use crate::failure::{FailureExt, Result};

/// File in the state directory that records a complete migration.
const MARKER: &str = "legacy.json";
/// Held while files are copied, so that two processes do not copy at once.
const LOCK: &str = "legacy.lock";

/// Prefix of the folder that files are copied to before they are moved into place.
const STAGING: &str = ".legacy-";
const HINT: &str = "remove what is named, or delete the folder to begin with an empty state";

/// Files that are taken over: the name in `.vouch/`, and the name in the state directory.
const FILES: [(&str, &str); 5] = [
    ("audit.jsonl", "audit.legacy.jsonl"),
    ("audit.head", "audit.legacy.head"),
    ("traces.jsonl", "traces.jsonl"),
    ("traces.old.jsonl", "traces.old.jsonl"),
    ("ask_history", "ask_history"),
];
/// Folder of samples, `<upstream>/<tool>.jsonl`, which is taken over if the state directory has none.
const SAMPLES: &str = "samples";
/// The database, and the log that SQLite keeps beside it.
const DATABASE: [&str; 2] = ["vouch.db", "vouch.db-wal"];

/// What a migration took over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateMigration {
    /// Folder that the state was taken from. It is not used any more and can be deleted.
    pub folder: PathBuf,
    /// Number of added discoveries.
    pub discoveries: usize,
    /// Names of the files and folders that were copied into the state directory.
    pub files: Vec<String>,
}

/// Takes over the state of an earlier version from `<root>/.vouch/`, once. Returns `None` if there is nothing to do.
///
/// Errors if `.vouch/` or something to take over in it is a symbolic link, is not a regular file or folder, or belongs to
/// another user; the state directory is then unchanged.
pub fn migrate_legacy_state(root: &Path, state: &StateDir) -> Result<Option<StateMigration>> {
    let marker = state.path().join(MARKER);
    if marker.exists() {
        return Ok(None);
    }
    let folder = root.join(legacy_folder::NAME);
    let explain = format!("failed to take over the state in {}", folder.display());
    let Some(legacy) = LegacyFolder::open(root).hint(HINT).explain(explain.clone())? else {
        return Ok(None);
    };
    let _lock = lock_migration(state.path()).explain(explain.clone())?;
    if marker.exists() {
        return Ok(None);
    }
    let (discoveries, files) = take_over(&legacy, state).hint(HINT).explain(explain.clone())?;
    let record = json!({"from": folder.display().to_string(), "migrated": Timestamp::now()});
    FileWriter::new(&**state.disk())
        .create_private_file(&marker, format!("{record:#}\n").as_bytes())
        .explain(explain)?;
    Ok(Some(StateMigration { folder, discoveries, files }))
}

/// Copies everything to a folder beside its place and to the disk, and only then moves it into place.
fn take_over(legacy: &LegacyFolder, state: &StateDir) -> Result<(usize, Vec<String>)> {
    remove_unfinished(state.path())?;
    let disk = &**state.disk();
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(state.path())?;
    let copied = |name: &str, to: &str| legacy.copy_file(disk, name, &staging.path().join(to));
    let mut ready = Vec::new();
    for (name, to) in FILES {
        if copied(name, to)? {
            ready.push(to);
        }
    }
    if legacy.copy_folders(disk, SAMPLES, &staging.path().join(SAMPLES))? {
        ready.push(SAMPLES);
    }
    let has_database = copied(DATABASE[0], DATABASE[0])?;
    let discoveries = if has_database {
        copied(DATABASE[1], DATABASE[1])?;
        context::read_legacy_discoveries(&staging.path().join(DATABASE[0]))?
    } else {
        Vec::new()
    };
    let mut files = Vec::new();
    for name in ready {
        if move_if_absent(disk, &staging.path().join(name), &state.path().join(name))? {
            files.push(name.to_owned());
        }
    }
    let added = match discoveries.is_empty() {
        true => 0,
        false => ContextStore::open(state)?.add_discoveries(&discoveries)?,
    };
    disk.sync_folder_at(state.path())?;
    Ok((added, files))
}

/// Removes the copies of a process that was killed.
fn remove_unfinished(state: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(state)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(STAGING.as_bytes()) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Moves a file or folder, unless something is there already. Returns true if it was moved.
fn move_if_absent(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<bool> {
    // The caller holds the lock of the migration, and no other code of ours replaces these files.
    if to.symlink_metadata().is_ok() {
        return Ok(false);
    }
    disk.rename(from, to).map(|()| true)
}

fn lock_migration(state: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(state.join(LOCK))?;
    file.lock()?;
    Ok(file)
}

/// Returns true if an earlier version left state in the project that was not taken over yet.
pub fn has_legacy_state(root: &Path, state: &Path) -> bool {
    !state.join(MARKER).exists() && !list_legacy_state(root).is_empty()
}

/// Returns the names of what a migration would take over, with `.vouch/`. Nothing is opened: a clone may have put it there.
pub(crate) fn list_legacy_state(root: &Path) -> Vec<String> {
    let names = [DATABASE[0], SAMPLES].into_iter().chain(FILES.map(|(name, _)| name));
    names
        .map(|name| format!("{}/{name}", legacy_folder::NAME))
        .filter(|name| root.join(name).symlink_metadata().is_ok())
        .collect()
}

#[cfg(test)]
mod tests;

//! Appends one line to a file: locked, in one write, synced, and all or nothing.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, MetadataExt as _, OpenOptions};
use contract::{CallContext, ErrorCode, ToolError};
use disk::Disk;
use serde::de::IgnoredAny;

use super::MAX_ENTRY_BYTES;
use guard::{Guard, PathRefusal, open_regular_file};

/// Maximum wait for the lock. Normally the call's time limit cancels the wait earlier; this limit covers callers
/// that set none. No append takes this long, so the lock holder must be hanging. Time in the queue counts, so that
/// queued writers do not each wait this long again.
pub(super) const MAX_LOCK_WAIT: Duration = Duration::from_secs(30);
/// Interval between attempts to take a lock held by another process; it lets a cancelled call stop waiting. An
/// append takes a few milliseconds, nearly all of it the sync.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Maximum number of times the file may be replaced between opening and locking before the append fails.
const MAX_REPLACEMENTS: usize = 8;

#[derive(Debug, thiserror::Error)]
pub(super) enum AppendError {
    #[error(transparent)]
    Guard(PathRefusal),
    #[error("cancelled")]
    Cancelled(ToolError),
    #[error("another writer holds the lock")]
    Locked,
    #[error("failed to store the entry")]
    Io(#[from] io::Error),
}

impl AppendError {
    pub(super) fn to_tool_error(&self, path: &str) -> ToolError {
        match self {
            Self::Guard(refusal) => refusal.to_tool_error(path),
            Self::Cancelled(error) => error.clone(),
            Self::Locked => ToolError::new(
                ErrorCode::ExecutionTimeout,
                format!("`{path}` is locked by another writer; nothing was written; try again"),
            )
            .with_detail("path", path),
            Self::Io(cause) => {
                tracing::error!(path, %cause, "failed to store memory entry");
                ToolError::new(
                    ErrorCode::StorageUnavailable,
                    format!("failed to store the entry in `{path}`; nothing was written"),
                )
                .with_detail("path", path)
            }
        }
    }
}

/// A file that lines are appended to.
#[derive(Clone, Copy)]
pub(super) struct AppendPlace<'a> {
    pub(super) guard: &'a Guard,
    /// Path of the folder from the root.
    pub(super) path: &'a str,
    /// The open folder.
    pub(super) folder: &'a Dir,
    /// Name of the file in the folder.
    pub(super) name: &'a str,
    /// Whether each line of the file is one JSON value.
    pub(super) is_json_lines: bool,
}

/// Appends `line`, which must end in a newline, to a file. A free lock is taken even after the deadline.
pub(super) fn append_line(
    place: AppendPlace<'_>,
    line: &[u8],
    deadline: Instant,
    ctx: &CallContext,
) -> Result<(), AppendError> {
    let AppendPlace { folder, name, .. } = place;
    for _ in 0..MAX_REPLACEMENTS {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let (file, _) =
            open_regular_file(folder, name, &mut options).map_err(AppendError::Guard)?;
        lock_file(&file, deadline, ctx)?;
        // An editor or a checkout may have replaced the file: an entry in the old one would be lost.
        if is_current(folder, name, &file)? {
            ctx.check_cancelled().map_err(AppendError::Cancelled)?;
            return append_locked(place, &file, line);
        }
    }
    Err(AppendError::Locked)
}

/// Takes the advisory lock. The operating system releases it with the handle, also when the process is killed.
fn lock_file(file: &File, deadline: Instant, ctx: &CallContext) -> Result<(), AppendError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) => {}
        }
        ctx.check_cancelled().map_err(AppendError::Cancelled)?;
        if Instant::now() > deadline {
            return Err(AppendError::Locked);
        }
        thread::sleep(LOCK_POLL_INTERVAL);
    }
}

fn is_current(folder: &Dir, name: &str, file: &File) -> io::Result<bool> {
    let ours = file.metadata()?;
    match folder.symlink_metadata(name) {
        Ok(named) => Ok((named.dev(), named.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn append_locked(place: AppendPlace<'_>, file: &File, line: &[u8]) -> Result<(), AppendError> {
    let disk = place.guard.disk();
    let length = file.metadata()?.len();
    if length == 0 {
        // Syncs the folders before the first byte, so that a file that contains an entry has a durable name.
        place.guard.sync_folder_names(place.path).map_err(AppendError::Guard)?;
        disk.sync_folder(place.folder.as_fd())?;
    }
    let end = inspect_end(file, length, place.is_json_lines)?;
    if end.kept < length {
        // The lock is held, so no writer is in the middle of these bytes.
        disk.set_len(file, end.kept)?;
        let path = format!("{}/{}", place.path, place.name);
        tracing::warn!(path, bytes = length - end.kept, "removed the start of an unfinished entry");
    }
    let mut buffer = Vec::with_capacity(line.len() + 1);
    if end.lacks_newline {
        buffer.push(b'\n');
    }
    buffer.extend_from_slice(line);
    write_once(disk, file, &buffer).and_then(|()| disk.sync_data(file)).inspect_err(|_| {
        // The lock is still held, so no other writer's data follows the bytes that are removed.
        if let Err(cause) = disk.set_len(file, end.kept) {
            tracing::error!(%cause, "failed to remove a partially written entry");
        }
    })?;
    Ok(())
}

/// How the end of a file is repaired before the next line.
#[derive(Debug, PartialEq, Eq)]
struct FileEnd {
    /// Length of the part that stays.
    kept: u64,
    /// True if that part does not end in a newline.
    lacks_newline: bool,
}

/// Finds what a crashed writer left behind the last newline. Such a line was never acknowledged.
///
/// In a file of JSON lines, the start of a value is removed, so that every line stays a value. A whole value stays, and so
/// does what is longer than any entry: a person wrote it. Other text has no recognizable end and stays.
fn inspect_end(file: &File, length: u64, is_json_lines: bool) -> io::Result<FileEnd> {
    let whole = FileEnd { kept: length, lacks_newline: false };
    let Some(last) = length.checked_sub(1) else { return Ok(whole) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    if byte == *b"\n" {
        return Ok(whole);
    }
    let unfinished = match is_json_lines {
        true => find_unfinished_value(file, length)?,
        false => None,
    };
    Ok(match unfinished {
        Some(start) => FileEnd { kept: start, lacks_newline: false },
        None => FileEnd { kept: length, lacks_newline: true },
    })
}

/// Returns the offset of the last line if it may be the start of an entry.
fn find_unfinished_value(file: &File, length: u64) -> io::Result<Option<u64>> {
    // One byte more, which is the newline before an entry of the maximum size.
    let size = length.min(MAX_ENTRY_BYTES as u64 + 1);
    let start = length - size;
    let mut tail = vec![0; size as usize];
    file.read_exact_at(&mut tail, start)?;
    let line = match tail.iter().rposition(|byte| *byte == b'\n') {
        Some(newline) => newline + 1,
        None if start == 0 => 0,
        None => return Ok(None),
    };
    let is_whole = serde_json::from_slice::<IgnoredAny>(&tail[line..]).is_ok();
    Ok((!is_whole).then_some(start + line as u64))
}

fn write_once(disk: &dyn Disk, file: &File, buffer: &[u8]) -> io::Result<()> {
    loop {
        match disk.write(file, buffer) {
            Ok(written) if written == buffer.len() => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::Caller;

    use super::*;

    #[test]
    fn only_the_start_of_an_entry_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("log");
        let value = "x".repeat(MAX_ENTRY_BYTES - 2);
        // The longest entry without its last character, and one character more than any entry.
        let (longest, too_long) = (format!("{{}}\n\"{value}x"), format!("{{}}\n\"{value}xx"));
        for (text, kept, lacks_newline) in [
            ("", 0, false),
            ("{}\n", 3, false),
            ("{}\n{\"a\":", 3, false),
            ("{\"a\":", 0, false),
            ("{}\n\0\0", 3, false),
            // A person's editor wrote no newline.
            ("{}\n{\"a\":1}", 10, true),
            (&longest, 3, false),
            (&too_long, too_long.len() as u64, true),
        ] {
            std::fs::write(&path, text).expect("the folder is writable");
            let file = File::open(&path).expect("the file exists");
            let length = text.len() as u64;
            let end = inspect_end(&file, length, true).expect("the file is readable");
            assert_eq!(end, FileEnd { kept, lacks_newline }, "{text:?}");
            let end = inspect_end(&file, length, false).expect("the file is readable");
            let lacks_newline = !text.is_empty() && !text.ends_with('\n');
            assert_eq!(end, FileEnd { kept: length, lacks_newline }, "{text:?}");
        }
    }

    #[test]
    fn gives_up_on_a_lock_that_is_never_released() {
        let holder = tempfile::NamedTempFile::new().expect("a temporary file");
        holder.as_file().lock().expect("the file is not shared");
        let waiting = holder.reopen().expect("the file exists");
        let ctx = CallContext::new(Caller::new("test"));
        let error = lock_file(&waiting, Instant::now(), &ctx).expect_err("the lock is held");
        assert_eq!(
            error.to_tool_error("log").to_string(),
            "EXECUTION_TIMEOUT: `log` is locked by another writer; nothing was written; try again"
        );
    }
}

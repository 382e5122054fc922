//! One line at the end of a file: locked, in one write, synced, or not there at all.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, MetadataExt as _, OpenOptions};
use contract::{CallContext, Code, ToolError};

use guard::{Refusal, open_regular, sync_folder};

/// The call's time limit ends the wait, by cancelling it. This is for whoever runs the tool without one: no append takes
/// so long, so the holder of the lock hangs. Time in the queue counts, or those behind would each wait as long again.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(30);
/// A lock that another process holds is asked for again at this interval, so that a cancelled call stops waiting. An
/// append takes a few milliseconds, nearly all of it the sync.
const LOCK_INTERVAL: Duration = Duration::from_millis(1);
/// How often a file may be replaced between opening and locking before that is an error.
const MAX_REPLACEMENTS: usize = 8;

#[derive(Debug, thiserror::Error)]
pub(super) enum AppendError {
    #[error(transparent)]
    Refused(Refusal),
    #[error("cancelled")]
    Cancelled(ToolError),
    #[error("another writer holds the lock")]
    Locked,
    #[error("the entry could not be stored")]
    Failed(#[from] io::Error),
}

impl AppendError {
    pub(super) fn to_tool_error(&self, path: &str) -> ToolError {
        match self {
            Self::Refused(refusal) => refusal.to_tool_error(path),
            Self::Cancelled(error) => error.clone(),
            Self::Locked => ToolError::new(
                Code::ExecutionTimeout,
                format!("`{path}` is locked by another writer; nothing was written, try again"),
            )
            .with("path", path),
            Self::Failed(cause) => {
                tracing::error!(path, %cause, "an entry could not be stored");
                ToolError::new(
                    Code::InternalError,
                    format!("the entry could not be stored in `{path}`; nothing was written"),
                )
                .with("path", path)
            }
        }
    }
}

/// Appends `line`, which ends in a newline, to the file `name` in `folder`. A lock that is free is taken also after the
/// deadline.
pub(super) fn append(
    folder: &Dir,
    name: &str,
    line: &[u8],
    deadline: Instant,
    ctx: &CallContext,
) -> Result<(), AppendError> {
    for _ in 0..MAX_REPLACEMENTS {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let (file, _) = open_regular(folder, name, &mut options).map_err(AppendError::Refused)?;
        lock(&file, deadline, ctx)?;
        // An editor or a checkout may have put another file in its place: an entry in the old one would be lost.
        if is_current(folder, name, &file)? {
            ctx.check_cancelled().map_err(AppendError::Cancelled)?;
            return append_locked(folder, file, line).map_err(AppendError::Failed);
        }
    }
    Err(AppendError::Locked)
}

/// The lock goes with the handle, also when the process is killed.
fn lock(file: &File, deadline: Instant, ctx: &CallContext) -> Result<(), AppendError> {
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
        thread::sleep(LOCK_INTERVAL);
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

fn append_locked(folder: &Dir, mut file: File, line: &[u8]) -> io::Result<()> {
    let length = file.metadata()?.len();
    if length == 0 {
        // Before the first byte, whoever made the file: then a file that holds an entry has a durable name.
        sync_folder(folder)?;
    }
    let mut buffer = Vec::with_capacity(line.len() + 1);
    if is_torn(&file, length)? {
        buffer.push(b'\n');
    }
    buffer.extend_from_slice(line);
    write_once(&mut file, &buffer).and_then(|()| file.sync_data()).inspect_err(|_| {
        // Still under the lock, so nothing of another writer is behind what we take back.
        if let Err(cause) = file.set_len(length) {
            tracing::error!(%cause, "a half-written entry could not be taken back");
        }
    })
}

/// A crashed writer left a line without its newline.
fn is_torn(file: &File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

fn write_once(file: &mut File, buffer: &[u8]) -> io::Result<()> {
    loop {
        match file.write(buffer) {
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
    fn a_lock_that_is_never_released_is_given_up() {
        let holder = tempfile::NamedTempFile::new().expect("a temporary file");
        holder.as_file().lock().expect("nobody else knows it");
        let waiting = holder.reopen().expect("it is there");
        let ctx = CallContext::new(Caller::new("test"));
        let error = lock(&waiting, Instant::now(), &ctx).expect_err("it is held");
        assert_eq!(
            error.to_tool_error("log").to_string(),
            "EXECUTION_TIMEOUT: `log` is locked by another writer; nothing was written, try again"
        );
    }
}

//! The pins on disk: `vouch.lock`, which belongs into version control.
//!
//! It is replaced as a whole, so a reader sees the old text or the new one. Whoever changes it holds an advisory lock on
//! another file meanwhile: a gateway that pins and a person who accepts must not undo each other's change.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use admit::{Pins, PinsError};
use parking_lot::Mutex;
use store::files::replace_file;

/// Ten thousand definitions of the largest size that is admitted would be more; nobody reviews such a file.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    #[error("cannot read {file}")]
    Read { file: String, source: io::Error },
    #[error("{file} is not a file of pins")]
    Invalid { file: String, source: PinsError },
    #[error(
        "{file} has or would have more than {MAX_FILE_BYTES} bytes; remove the upstreams from it that fill it, or name \
         the tools that are wanted with `tools` in vouch.toml"
    )]
    TooLarge { file: String },
    #[error("cannot write {file}")]
    Write { file: String, source: io::Error },
}

/// Where the pins are.
#[derive(Clone, Debug)]
pub struct LockFile {
    path: PathBuf,
    guard: PathBuf,
    /// The file whose text this process has taken in.
    known: Arc<Mutex<Stamp>>,
}

/// What tells one text of the file from another without reading it.
type Stamp = Option<(SystemTime, u64)>;

impl LockFile {
    pub fn new(path: impl Into<PathBuf>, guard: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), guard: guard.into(), known: Arc::default() }
    }

    /// The pins as they stand; none where there is no file yet.
    pub fn read(&self) -> Result<Pins, LockFileError> {
        let fail = |source| LockFileError::Read { file: self.shown(), source };
        match std::fs::metadata(&self.path) {
            Ok(meta) if meta.len() > MAX_FILE_BYTES => {
                return Err(LockFileError::TooLarge { file: self.shown() });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Pins::default()),
            Err(error) => return Err(fail(error)),
        }
        let text = std::fs::read_to_string(&self.path).map_err(fail)?;
        Pins::parse(&text).map_err(|source| LockFileError::Invalid { file: self.shown(), source })
    }

    /// Changes the pins as they stand on disk now. `change` gives None where nothing is to be written.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&Pins) -> (Option<Pins>, T),
    ) -> Result<T, LockFileError> {
        let fail = |source| LockFileError::Write { file: self.shown(), source };
        // Held until the end of this function; the file itself stays, for the next one.
        let guard = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.guard)
            .map_err(fail)?;
        guard.lock().map_err(fail)?;
        let (pins, told) = change(&self.read()?);
        if let Some(pins) = pins {
            let text = pins.to_text();
            // What nobody could read any more would stop every other upstream, too.
            if text.len() as u64 > MAX_FILE_BYTES {
                return Err(LockFileError::TooLarge { file: self.shown() });
            }
            let before = self.stamp();
            replace_file(&self.path, text.as_bytes()).map_err(fail)?;
            let mut known = self.known.lock();
            // What others wrote before us is still news.
            if *known == before {
                *known = self.stamp();
            }
        }
        Ok(told)
    }

    /// Whether others have changed the file since we last knew what is in it.
    pub(crate) fn has_news(&self) -> bool {
        let now = self.stamp();
        now != std::mem::replace(&mut *self.known.lock(), now)
    }

    fn stamp(&self) -> Stamp {
        let meta = std::fs::metadata(&self.path).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    }

    fn shown(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_news_once_and_what_we_wrote_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = || LockFile::new(folder.path().join("vouch.lock"), folder.path().join("guard"));
        let (ours, theirs) = (file(), file());
        let write = |file: &LockFile| {
            // A file of the same size within one tick of the clock would be the same file to us.
            let stamp = file.stamp();
            while file.stamp() == stamp {
                file.change(|pins| (Some(pins.clone()), ())).expect("it can be written");
            }
        };
        assert!(!ours.has_news());
        write(&ours);
        assert!(!ours.has_news() && !ours.clone().has_news());
        write(&theirs);
        write(&ours);
        assert!(ours.has_news(), "although we wrote last");
        assert!(!ours.has_news());
        write(&ours);
        assert!(!ours.has_news());
    }
}

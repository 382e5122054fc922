//! The log file, shared by several writers: takes the lock, finds the current end and writes a batch.
//!
//! `repair` checks the end against the heads and repairs it, `tail` inspects the lines that were not synced, `rotation` begins
//! new files and removes old ones.

mod repair;
mod rotation;
mod tail;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::chain::ChainTip;
use super::head;
use super::key::{ChainKey, KeyId};
use super::keyring::KeySet;
use super::line_reader::LineReader;
use super::options::AuditOptions;
use super::record::{AuditEntry, AuditLogEvent};
use crate::{IoError, StoreError, private_file};

/// An open audit log file.
pub(super) struct LogFile {
    path: PathBuf,
    head: PathBuf,
    mark: PathBuf,
    options: AuditOptions,
    keys: KeySet,
    file: File,
    /// The end after this writer's last access. `None` means that it must be read again.
    cached_end: Option<LogEnd>,
    /// The last line that this process wrote or found. While no sync fails, a later access finds it, too: what a power
    /// failure removes, it removes with this process.
    known_tip: Option<ChainTip>,
    /// True if lines that were not synced may be damaged: after a start and after an error. They are checked and written
    /// again before the next line.
    is_tail_suspect: bool,
    /// Reused between batches to avoid allocations.
    buffer: Vec<u8>,
}

/// The end of the current file.
#[derive(Clone, Copy, Debug)]
struct LogEnd {
    /// Length of the file.
    length: u64,
    tip: ChainTip,
    /// Time of the first line of the file.
    began: Timestamp,
}

impl LogFile {
    /// Opens the log, creating it and its keys if they are missing, and repairs the traces of a crash.
    pub(super) fn open(path: &Path, options: &AuditOptions) -> Result<Self, StoreError> {
        let failed = |source| IoError::new("open audit log", path, source);
        options.keys.create_folder_on(Arc::clone(&options.disk))?;
        let keys = KeySet::load_or_create(&options.keys, &*options.disk)?;
        let mut log = Self {
            path: path.to_owned(),
            head: head::head_path(path),
            mark: options.keys.mark_path(),
            options: options.clone(),
            keys,
            file: open_log_file(path).map_err(failed)?,
            cached_end: None,
            known_tip: None,
            is_tail_suspect: true,
            buffer: vec![],
        };
        log.with_lock(|log| log.find_end().map(drop)).map_err(failed)?;
        Ok(log)
    }

    /// Returns the key that the next line is written with.
    pub(super) fn current_key(&self) -> &ChainKey {
        self.keys.current()
    }

    /// Appends all entries with one write, or none of them.
    pub(super) fn append<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a AuditEntry>,
    ) -> Result<(), IoError> {
        self.with_lock(|log| {
            let mut end = log.find_end()?;
            if log.is_full(&end) {
                end = log.begin_next_file(end)?;
            }
            log.write_lines(end, end.length, entries).map(drop)
        })
        .map_err(|source| IoError::new("write audit log", &self.path, source))
    }

    /// Waits until the appended lines are on disk. It does not hold the lock, so other writers may write meanwhile.
    ///
    /// If it fails, the lines are written again before the next access, because a later sync need not write them.
    pub(super) fn sync(&mut self) -> Result<(), IoError> {
        let written = self.cached_end.map(|end| end.tip);
        let result = self.options.disk.sync_data(&self.file);
        match (&result, written) {
            (Ok(()), Some(tip)) => self.note_acknowledged(&tip),
            (Ok(()), None) => {}
            (Err(_), _) => self.distrust_tail(),
        }
        result.map_err(|source| IoError::new("sync audit log", &self.path, source))
    }

    /// Writes the heads that protect lines against removal until the heads are synced. The lines are on the disk, so a failure
    /// is no failure of the lines.
    fn note_acknowledged(&self, tip: &ChainTip) {
        let disk = &*self.options.disk;
        for path in [&self.head, &self.mark] {
            if let Err(error) = head::write_acknowledged(disk, path, tip, &self.keys) {
                tracing::error!(%error, path = %path.display(), "failed to write audit log head");
            }
        }
    }

    /// Syncs all lines, and then the heads that protect them against removal.
    pub(super) fn sync_heads(&mut self) -> Result<(), IoError> {
        self.with_lock(|log| {
            let end = log.find_end()?;
            log.write_synced_heads(&end)
        })
        .map_err(|source| IoError::new("sync audit log", &self.path, source))
    }

    /// Adds a key and uses it from the next line on. Returns the ids of the earlier and of the new key.
    pub(super) fn rotate_key(&mut self) -> Result<(KeyId, KeyId), StoreError> {
        let failed = |path: &Path, source| IoError::new("write audit log", path, source);
        let path = self.path.clone();
        self.with_lock(|log| {
            let end = log.find_end()?;
            let mut keys = log.keys.clone();
            let before = keys.current().id;
            let id = keys.add_key().map_err(io::Error::other)?;
            keys.save(&log.options.keys, &*log.options.disk).map_err(io::Error::other)?;
            let event = AuditEntry::event_now(AuditLogEvent::Key { key: id.to_string() });
            let end = log.write_lines(end, end.length, [event].iter())?;
            log.options.disk.sync_data(&log.file)?;
            keys.make_current(id, end.tip.seq);
            keys.save(&log.options.keys, &*log.options.disk).map_err(io::Error::other)?;
            log.keys = keys;
            log.write_synced_heads(&end)?;
            log.write_live_heads(&end.tip)?;
            Ok((before, id))
        })
        .map_err(|source| failed(&path, source).into())
    }

    /// Runs an action under an exclusive lock on the log, and returns its result.
    fn with_lock<T>(&mut self, action: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        self.file.lock()?;
        // The file may have been removed, replaced or closed. Writes to the open file would then be lost.
        while !self.is_in_place()? {
            self.file = open_log_file(&self.path)?;
            self.cached_end = None;
            self.file.lock()?;
        }
        let result = action(self);
        if result.is_err() {
            self.distrust_tail();
        }
        self.file.unlock()?;
        result
    }

    fn distrust_tail(&mut self) {
        (self.cached_end, self.known_tip) = (None, None);
        self.is_tail_suspect = true;
    }

    /// Returns true if the open file is still the one at the path of the log.
    fn is_in_place(&self) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        match self.path.symlink_metadata() {
            Ok(found) => Ok(found.ino() == ours.ino() && found.dev() == ours.dev()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the current end of the log, after repairing it if needed. The caller must hold the lock.
    fn find_end(&mut self) -> io::Result<LogEnd> {
        let length = self.file.metadata()?.len();
        match self.cached_end {
            Some(cached) if cached.length == length => Ok(cached),
            _ => {
                if self.is_tail_suspect {
                    // An earlier attempt may have failed to make the names of new files durable.
                    self.options.disk.sync_parent(&self.path)?;
                    self.options.disk.sync_parent(&self.mark)?;
                }
                let end = self.read_and_repair_end(length)?;
                (self.cached_end, self.known_tip) = (Some(end), Some(end.tip));
                self.is_tail_suspect = false;
                Ok(end)
            }
        }
    }

    /// Writes lines at the end, over a torn line that ends at `length`. Returns the new end.
    ///
    /// The rest of the torn line is truncated only after the write, so that a kill in between still leaves the repair
    /// event in the log.
    fn write_lines<'a>(
        &mut self,
        end: LogEnd,
        length: u64,
        entries: impl Iterator<Item = &'a AuditEntry>,
    ) -> io::Result<LogEnd> {
        let LogEnd { length: start, mut tip, began } = end;
        let key = self.keys.current();
        self.buffer.clear();
        for entry in entries {
            tip.append_entry(&mut self.buffer, entry, key);
        }
        let disk = &*self.options.disk;
        if let Err(error) = disk.write_all_at(&self.file, &self.buffer, start) {
            // The write may be partial, for example on a full disk. It is undone, because the records are retried.
            disk.set_len(&self.file, length)?;
            return Err(error);
        }
        let end = start + self.buffer.len() as u64;
        if length > end {
            disk.set_len(&self.file, end)?;
        }
        if let Err(error) = self.write_live_heads(&tip) {
            // The lines are written and must not be written again. The head may lag behind the log.
            tracing::error!(%error, path = %self.head.display(), "failed to write audit log head");
        }
        let end = LogEnd { length: end, tip, began };
        (self.cached_end, self.known_tip) = (Some(end), Some(tip));
        Ok(end)
    }

    /// Writes the heads of the last batch. The copy in the key folder is not created: its absence says something.
    fn write_live_heads(&self, tip: &ChainTip) -> io::Result<()> {
        let disk = &*self.options.disk;
        head::write_live(disk, &self.head, tip, &self.keys)?;
        if !self.mark.try_exists()? {
            return Ok(());
        }
        head::write_live(disk, &self.mark, tip, &self.keys)
    }

    /// Syncs the log, and writes the heads that name its last line.
    fn write_synced_heads(&self, end: &LogEnd) -> io::Result<()> {
        let disk = &*self.options.disk;
        disk.sync_data(&self.file)?;
        head::write_synced(disk, &self.head, &end.tip, &self.keys)?;
        head::write_synced(disk, &self.mark, &end.tip, &self.keys)
    }
}

/// Returns a reader of the lines between two offsets of a file.
fn open_line_reader(
    mut file: &File,
    start: u64,
    end: u64,
) -> io::Result<LineReader<impl io::BufRead>> {
    file.seek(SeekFrom::Start(start))?;
    Ok(LineReader::new(BufReader::new(file.take(end - start))))
}

fn open_log_file(path: &Path) -> io::Result<File> {
    private_file::open_options().read(true).open(path)
}

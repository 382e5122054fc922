//! The log file, shared by several writers: takes the lock, finds the current end, repairs it and writes a batch.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::chain::{self, ChainTip};
use super::head;
use super::line_reader::{LineReader, find_last_lines};
use super::record::{AuditEntry, AuditLogEvent};
use crate::{IoError, private_file};

/// An open audit log file.
pub(super) struct LogFile {
    path: PathBuf,
    head: PathBuf,
    file: File,
    /// The length and the tip after this writer's last access. `None` means that both must be read again.
    cached_end: Option<(u64, ChainTip)>,
    /// Reused between batches to avoid allocations.
    buffer: Vec<u8>,
}

impl LogFile {
    /// Opens the log, creating it if it is missing, and repairs the traces of a crash.
    pub(super) fn open(path: &Path) -> Result<Self, IoError> {
        let failed = |source| IoError::new("open audit log", path, source);
        let mut log = Self {
            path: path.to_owned(),
            head: head::head_path(path),
            file: open_log_file(path).map_err(failed)?,
            cached_end: None,
            buffer: vec![],
        };
        log.with_lock(|log| log.find_end().map(drop)).map_err(failed)?;
        Ok(log)
    }

    /// Appends all entries with one write, or none of them.
    pub(super) fn append<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a AuditEntry>,
    ) -> Result<(), IoError> {
        self.with_lock(|log| {
            let (end, tip) = log.find_end()?;
            log.cached_end = Some(log.write_lines(end, end, tip, entries)?);
            Ok(())
        })
        .map_err(|source| IoError::new("write audit log", &self.path, source))
    }

    /// Waits until the appended lines are on disk. It does not hold the lock, so other writers may write meanwhile.
    pub(super) fn sync(&self) -> Result<(), IoError> {
        self.file.sync_data().map_err(|source| IoError::new("sync audit log", &self.path, source))
    }

    /// Runs an action under an exclusive lock on the log, and returns its result.
    fn with_lock<T>(&mut self, action: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        self.file.lock()?;
        // The file may have been removed or replaced. Writes to the open file would then be lost.
        while !self.is_in_place()? {
            self.file = open_log_file(&self.path)?;
            self.cached_end = None;
            self.file.lock()?;
        }
        let result = action(self);
        if result.is_err() {
            self.cached_end = None;
        }
        self.file.unlock()?;
        result
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

    /// Returns the current end and tip of the log, after repairing it if needed. The caller must hold the lock.
    fn find_end(&mut self) -> io::Result<(u64, ChainTip)> {
        let length = self.file.metadata()?.len();
        match self.cached_end {
            Some(cached) if cached.0 == length => Ok(cached),
            _ => self.read_and_repair_end(length),
        }
    }

    /// Reads the end of the log, repairs it and records each repair as an event.
    fn read_and_repair_end(&mut self, length: u64) -> io::Result<(u64, ChainTip)> {
        let mut end = find_last_lines(&self.file, length, 0)?;
        let mut tip = self.read_tip(end)?;
        let mut repaired = None;
        if end < length {
            let mut reader = self.open_line_reader(end, length)?;
            if let Some(torn) = reader.next_line()? {
                if torn.parse_link().is_some_and(|link| link.is_successor_of(&tip)) {
                    // The line is complete except for its newline.
                    tip = ChainTip { seq: tip.seq + 1, hash: torn.hash };
                    self.file.write_all_at(b"\n", length)?;
                    end = length + 1;
                } else {
                    repaired = Some(AuditLogEvent::Repaired {
                        torn_bytes: torn.length,
                        torn_digest: chain::format_hash(&torn.hash),
                    });
                }
            }
        }
        // The head event comes first, so that it gets the sequence number of the first removed line.
        let mut events: Vec<_> = self.check_head(&tip, length)?.into_iter().collect();
        events.extend(repaired);
        let end_and_tip = if events.is_empty() {
            (end, tip)
        } else {
            let events: Vec<_> = events.into_iter().map(AuditEntry::event_now).collect();
            self.write_lines(end, length, tip, events.iter())?
        };
        self.cached_end = Some(end_and_tip);
        Ok(end_and_tip)
    }

    /// Returns the event to record if the head does not match the log. Creates the head of a new log.
    fn check_head(&self, tip: &ChainTip, length: u64) -> io::Result<Option<AuditLogEvent>> {
        match head::read_head(&self.head)? {
            Some(head) if head.seq > tip.seq || head.seq == tip.seq && head != *tip => {
                let head_hash = chain::format_hash(&head.hash);
                Ok(Some(AuditLogEvent::HeadMismatch { head_seq: head.seq, head_hash }))
            }
            Some(_) => Ok(None),
            None if length > 0 => Ok(Some(AuditLogEvent::HeadMissing)),
            None => {
                // The head is created before the first line, so that a missing head is always suspicious later.
                head::write_head(&self.head, &ChainTip::GENESIS)?;
                // The directory entries of both new files must survive a power failure, or their lines would be lost.
                if let Some(folder) = self.path.parent() {
                    File::open(folder)?.sync_all()?;
                }
                Ok(None)
            }
        }
    }

    /// Writes lines at `end`, over a torn line that ends at `length`. Returns the new end and tip.
    ///
    /// The rest of the torn line is truncated only after the write, so that a kill in between still leaves the repair
    /// event in the log.
    fn write_lines<'a>(
        &mut self,
        end: u64,
        length: u64,
        mut tip: ChainTip,
        entries: impl Iterator<Item = &'a AuditEntry>,
    ) -> io::Result<(u64, ChainTip)> {
        self.buffer.clear();
        for entry in entries {
            tip.append_entry(&mut self.buffer, entry);
        }
        if let Err(error) = self.file.write_all_at(&self.buffer, end) {
            // The write may be partial, for example on a full disk. It is undone, because the records are retried.
            self.file.set_len(length)?;
            return Err(error);
        }
        let end = end + self.buffer.len() as u64;
        if length > end {
            self.file.set_len(end)?;
        }
        if let Err(error) = head::write_head(&self.head, &tip) {
            // The lines are written and must not be written again. The head may lag behind the log.
            tracing::error!(%error, path = %self.head.display(), "failed to write audit log head");
        }
        Ok((end, tip))
    }

    /// Returns the tip of the log whose complete lines end at `end`.
    fn read_tip(&self, end: u64) -> io::Result<ChainTip> {
        if end == 0 {
            return Ok(ChainTip::GENESIS);
        }
        let mut reader = self.open_line_reader(find_last_lines(&self.file, end, 1)?, end)?;
        match reader.next_line()? {
            Some(last) => match last.parse_link() {
                Some(link) => Ok(ChainTip { seq: link.seq, hash: last.hash }),
                None => self.recover_tip(end),
            },
            None => Ok(ChainTip::GENESIS),
        }
    }

    /// Returns the tip of a log whose last line is not an audit record, because it was changed. Sequence numbers
    /// continue from the last readable line.
    fn recover_tip(&self, end: u64) -> io::Result<ChainTip> {
        let mut reader = self.open_line_reader(0, end)?;
        let mut tip = ChainTip::GENESIS;
        while let Some(line) = reader.next_line()? {
            tip = ChainTip {
                seq: line.parse_link().map_or(tip.seq + 1, |link| link.seq),
                hash: line.hash,
            };
        }
        Ok(tip)
    }

    fn open_line_reader(&self, start: u64, end: u64) -> io::Result<LineReader<impl io::BufRead>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))?;
        Ok(LineReader::new(BufReader::new(file.take(end - start))))
    }
}

fn open_log_file(path: &Path) -> io::Result<File> {
    private_file::open_options().read(true).open(path)
}

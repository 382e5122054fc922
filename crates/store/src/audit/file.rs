//! The log file as one writer among several sees it: lock, catch up with the others, repair, write a batch.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::chain::{self, Tip};
use super::head;
use super::lines::{LineReader, start_of_last};
use super::record::{Entry, Event};
use crate::{IoError, private};

pub(super) struct LogFile {
    path: PathBuf,
    head: PathBuf,
    file: File,
    /// Where the log ended when this writer last looked, and its last line then. `None`: look again.
    known: Option<(u64, Tip)>,
    /// Kept between batches for its capacity.
    buffer: Vec<u8>,
}

impl LogFile {
    /// Opens the log, making it where it is missing, and repairs what a crash has left.
    pub(super) fn open(path: &Path) -> Result<Self, IoError> {
        let failed = |source| IoError::new("open the audit log", path, source);
        let mut log = Self {
            path: path.to_owned(),
            head: head::path_of(path),
            file: open(path).map_err(failed)?,
            known: None,
            buffer: vec![],
        };
        log.locked(|log| log.catch_up().map(drop)).map_err(failed)?;
        Ok(log)
    }

    /// Appends all entries with one write, or none of them.
    pub(super) fn append<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a Entry>,
    ) -> Result<(), IoError> {
        self.locked(|log| {
            let (end, tip) = log.catch_up()?;
            log.known = Some(log.write(end, end, tip, entries)?);
            Ok(())
        })
        .map_err(|source| IoError::new("write the audit log", &self.path, source))
    }

    /// Waits until what was appended is on disk. Others may write meanwhile.
    pub(super) fn sync(&self) -> Result<(), IoError> {
        self.file
            .sync_data()
            .map_err(|source| IoError::new("sync the audit log", &self.path, source))
    }

    fn locked<T>(&mut self, action: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        self.file.lock()?;
        // Someone may have removed the file or put another in its place: what we hold would then be written to nowhere.
        while !self.is_in_place()? {
            self.file = open(&self.path)?;
            self.known = None;
            self.file.lock()?;
        }
        let result = action(self);
        if result.is_err() {
            self.known = None;
        }
        self.file.unlock()?;
        result
    }

    fn is_in_place(&self) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        match self.path.symlink_metadata() {
            Ok(found) => Ok(found.ino() == ours.ino() && found.dev() == ours.dev()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Learns where the log ends now, after repairing it. Needs the lock.
    fn catch_up(&mut self) -> io::Result<(u64, Tip)> {
        let length = self.file.metadata()?.len();
        match self.known {
            Some(known) if known.0 == length => Ok(known),
            _ => self.examine(length),
        }
    }

    fn examine(&mut self, length: u64) -> io::Result<(u64, Tip)> {
        let mut end = start_of_last(&self.file, length, 0)?;
        let mut tip = self.last_line(end)?;
        let mut repaired = None;
        if end < length {
            let mut reader = self.reader(end, length)?;
            if let Some(torn) = reader.next()? {
                if torn.link().is_some_and(|link| link.follows(&tip)) {
                    // Only its newline was not written.
                    tip = Tip { seq: tip.seq + 1, hash: torn.hash };
                    self.file.write_all_at(b"\n", length)?;
                    end = length + 1;
                } else {
                    repaired = Some(Event::Repaired {
                        torn_bytes: torn.length,
                        torn_digest: chain::text(&torn.hash),
                    });
                }
            }
        }
        // What the head knows comes first, so that its line has the number of the first line that is gone.
        let mut events: Vec<_> = self.compare_head(&tip, length)?.into_iter().collect();
        events.extend(repaired);
        let known = if events.is_empty() {
            (end, tip)
        } else {
            let events: Vec<_> = events.into_iter().map(Entry::now).collect();
            self.write(end, length, tip, events.iter())?
        };
        self.known = Some(known);
        Ok(known)
    }

    fn compare_head(&self, tip: &Tip, length: u64) -> io::Result<Option<Event>> {
        match head::read(&self.head)? {
            Some(head) if head.seq > tip.seq || head.seq == tip.seq && head != *tip => {
                let head_hash = chain::text(&head.hash);
                Ok(Some(Event::HeadMismatch { head_seq: head.seq, head_hash }))
            }
            Some(_) => Ok(None),
            None if length > 0 => Ok(Some(Event::HeadMissing)),
            None => {
                // Made before the first line, so that from then on its absence means something.
                head::write(&self.head, &Tip::GENESIS)?;
                // The names of both new files must survive a power cut, or the lines in them would not.
                if let Some(folder) = self.path.parent() {
                    File::open(folder)?.sync_all()?;
                }
                Ok(None)
            }
        }
    }

    /// Writes lines from `end` on, over what is torn up to `length`, and only then cuts the rest of that: a kill in
    /// between leaves the repair on record.
    fn write<'a>(
        &mut self,
        end: u64,
        length: u64,
        mut tip: Tip,
        entries: impl Iterator<Item = &'a Entry>,
    ) -> io::Result<(u64, Tip)> {
        self.buffer.clear();
        for entry in entries {
            tip.extend(&mut self.buffer, entry);
        }
        if let Err(error) = self.file.write_all_at(&self.buffer, end) {
            // Part of it may be there (the disk is full): it goes, because the records are kept and written again.
            self.file.set_len(length)?;
            return Err(error);
        }
        let end = end + self.buffer.len() as u64;
        if length > end {
            self.file.set_len(end)?;
        }
        if let Err(error) = head::write(&self.head, &tip) {
            // The lines are written and must not be written again; a head that lags behind is allowed.
            tracing::error!(%error, path = %self.head.display(), "cannot write the head of the audit log");
        }
        Ok((end, tip))
    }

    fn last_line(&self, end: u64) -> io::Result<Tip> {
        if end == 0 {
            return Ok(Tip::GENESIS);
        }
        let mut reader = self.reader(start_of_last(&self.file, end, 1)?, end)?;
        match reader.next()? {
            Some(last) => match last.link() {
                Some(link) => Ok(Tip { seq: link.seq, hash: last.hash }),
                None => self.count_lines(end),
            },
            None => Ok(Tip::GENESIS),
        }
    }

    /// The last line is not readable, so somebody changed it. The numbers go on from the last one that can be read.
    fn count_lines(&self, end: u64) -> io::Result<Tip> {
        let mut reader = self.reader(0, end)?;
        let mut tip = Tip::GENESIS;
        while let Some(line) = reader.next()? {
            tip = Tip { seq: line.link().map_or(tip.seq + 1, |link| link.seq), hash: line.hash };
        }
        Ok(tip)
    }

    fn reader(&self, start: u64, end: u64) -> io::Result<LineReader<impl io::BufRead>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))?;
        Ok(LineReader::new(BufReader::new(file.take(end - start))))
    }
}

fn open(path: &Path) -> io::Result<File> {
    private::options().read(true).open(path)
}

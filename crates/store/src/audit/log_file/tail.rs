//! The tail: the lines after the newest synced head. A power failure or a failed sync may have damaged them.
//!
//! After a failed sync, the system may take lines for written that are not on the disk, so the tail is written again. Lines
//! of the tail that do not continue the chain are debris of a crash. They are kept in a file of their own.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{LogFile, open_line_reader};
use crate::audit::chain::{self, ChainLink, ChainTip};
use crate::audit::head;
use crate::audit::log_files::{hash_file, list_closed};
use crate::audit::record::AuditLogEvent;
use crate::private_file;

/// Bytes from the end that are searched first for the synced line.
const FIRST_WINDOW: u64 = 64 << 10;
const BLOCK: usize = 64 << 10;

/// The lines after the newest synced head.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnsyncedTail {
    pub(super) start: u64,
    /// Offset after the last complete line that continues the chain.
    pub(super) end: u64,
    pub(super) tip: ChainTip,
    /// True if complete lines follow that do not continue the chain and that a crash may have left.
    pub(super) has_debris: bool,
}

impl LogFile {
    /// Returns the tail. Returns `None` if no synced head names a line of the file, which the check of the heads reports.
    pub(super) fn inspect_tail(&self, length: u64) -> io::Result<Option<UnsyncedTail>> {
        let head = head::read_head(&self.head, &self.keys)?;
        let mark = head::read_head(&self.mark, &self.keys)?;
        let synced = head.durable().chain(mark.durable()).max_by_key(|tip| tip.seq);
        let Some(synced) = synced else { return Ok(None) };
        let Some(start) = self.find_synced_end(&synced, length)? else { return Ok(None) };
        let mut tail = UnsyncedTail { start, end: start, tip: synced, has_debris: false };
        let mut reader = open_line_reader(&self.file, start, length)?;
        while let Some(line) = reader.next_line()?.filter(|line| line.complete) {
            let Some(link) = line.parse_link() else {
                tail.has_debris = true;
                continue;
            };
            let is_next = !tail.has_debris && link.is_successor_of(&tail.tip, &self.keys);
            let tip = ChainTip { seq: link.seq, hash: line.hash };
            let mut live = head.live.into_iter().chain(mark.live);
            if is_next && live.any(|live| live.seq == tip.seq && live != tip) {
                // The head names another content of this line.
                tail.has_debris = true;
            } else if is_next {
                tail.tip = tip;
                tail.end += line.length + 1;
            } else if !tail.has_debris || self.is_foreign(&link, &synced) {
                // A power failure does not leave an intact line in a wrong place: a damaged one comes before it.
                tail.has_debris = false;
                break;
            }
        }
        Ok(Some(tail))
    }

    /// Returns true if a crash cannot have left the line in the tail: no writer of this log writes such a line there.
    fn is_foreign(&self, link: &ChainLink, synced: &ChainTip) -> bool {
        let has_key = link.prev.key().is_some_and(|key| self.keys.find(key).is_some());
        link.seq <= synced.seq || !has_key
    }

    /// Returns the offset after the line that a synced head names. It is 0 if that line is the last one of the file before.
    fn find_synced_end(&self, synced: &ChainTip, length: u64) -> io::Result<Option<u64>> {
        if *synced == ChainTip::GENESIS {
            return Ok(list_closed(&self.path)?.is_empty().then_some(0));
        }
        let mut window = FIRST_WINDOW;
        loop {
            let mut offset = length.saturating_sub(window);
            let is_whole = offset == 0;
            let mut reader = open_line_reader(&self.file, offset, length)?;
            while let Some(line) = reader.next_line()?.filter(|line| line.complete) {
                offset += line.length + 1;
                if line.hash == synced.hash {
                    return Ok(Some(offset));
                }
            }
            if is_whole {
                let previous = self.find_previous_file()?;
                return Ok(previous.filter(|(last, _)| last.tip == *synced).map(|_| 0));
            }
            window = window.saturating_mul(8);
        }
    }

    /// Writes the bytes between two offsets again. The next sync of the file makes them durable.
    pub(super) fn rewrite_lines(&self, start: u64, end: u64) -> io::Result<()> {
        let disk = &*self.options.disk;
        let mut block = vec![0; BLOCK];
        let mut offset = start;
        while offset < end {
            let size = usize::try_from(end - offset).unwrap_or(BLOCK).min(BLOCK);
            self.file.read_exact_at(&mut block[..size], offset)?;
            disk.write_all_at(&self.file, &block[..size], offset)?;
            offset += size as u64;
        }
        Ok(())
    }

    /// Copies the debris behind the tail into a file of its own. Returns the event to record. The caller removes it.
    pub(super) fn set_debris_aside(
        &self,
        tail: &UnsyncedTail,
        length: u64,
    ) -> io::Result<AuditLogEvent> {
        let mut debris = vec![];
        open_line_reader(&self.file, tail.end, length)?.into_source().read_to_end(&mut debris)?;
        let path = self.write_debris(tail.tip.seq, &debris)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        tracing::warn!(path = %path.display(), "set aside damaged audit lines that were not synced");
        let digest = hash_file(File::open(&path)?, debris.len() as u64)?;
        let hash = chain::parse_hash(&digest).unwrap_or_default();
        let key = self.keys.current();
        Ok(AuditLogEvent::Discarded {
            bytes: debris.len() as u64,
            after_seq: tail.tip.seq,
            digest: key.format(&key.link_line(&hash)),
            file,
        })
    }

    /// Writes and syncs a debris file under a name that is not in use.
    fn write_debris(&self, seq: u64, debris: &[u8]) -> io::Result<PathBuf> {
        let disk = &*self.options.disk;
        let mut number = 1;
        loop {
            let path = self.path.with_extension(format!("{seq}-{number}.debris"));
            match private_file::open_options().create_new(true).open(&path) {
                Ok(file) => {
                    disk.write_all_at(&file, debris, 0)?;
                    disk.sync_data(&file)?;
                    disk.sync_parent(&path)?;
                    return Ok(path);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

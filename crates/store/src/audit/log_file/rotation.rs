//! Begins new files and removes old ones.
//!
//! A file is closed by renaming it. The new file begins with an event that names the file before it by number, last line
//! and hash, so the chain continues across files. An empty current file beside closed ones means that a crash came
//! between the two steps.

use std::fs::File;
use std::io;
use std::time::Duration;

use jiff::Timestamp;

use super::repair::{LastLine, head_mismatch, read_last_line};
use super::{LogEnd, LogFile, open_log_file};
use crate::audit::chain::ChainTip;
use crate::audit::head;
use crate::audit::line_reader::find_last_lines;
use crate::audit::log_files::{closed_path, hash_file, list_closed};
use crate::audit::record::{AuditEntry, AuditLogEvent, ChainStart, PreviousFile};

impl LogFile {
    /// Returns true if the next line belongs into a new file.
    pub(super) fn is_full(&self, end: &LogEnd) -> bool {
        let rotation = &self.options.rotation;
        let age = Timestamp::now().duration_since(end.began);
        let age = Duration::try_from(age).unwrap_or_default();
        end.length >= rotation.max_file_bytes || rotation.max_file_age.is_some_and(|max| age >= max)
    }

    /// Closes the current file, begins the next one, and removes the files that are no longer kept.
    pub(super) fn begin_next_file(&mut self, end: LogEnd) -> io::Result<LogEnd> {
        // Later syncs are of the new file only.
        self.options.disk.sync_data(&self.file)?;
        head::write_synced(&*self.options.disk, &self.head, &end.tip, &self.keys)?;
        self.close_file()?;
        let end = self.begin_empty_file()?;
        self.remove_old_files(end)
    }

    /// Closes the current file, whose lines cannot be continued, and begins a chain in the next one.
    pub(super) fn begin_new_chain(
        &mut self,
        end: u64,
        tip: ChainTip,
        reason: ChainStart,
        repaired: Option<AuditLogEvent>,
    ) -> io::Result<LogEnd> {
        let mut events: Vec<_> = self.check_replaced_log(&tip, reason)?.into_iter().collect();
        match reason {
            ChainStart::KeyLost => tracing::error!(
                path = %self.path.display(),
                "the key of the audit log is lost: a new chain begins, and earlier lines can no longer be verified"
            ),
            _ => tracing::info!("the audit log continues with a key"),
        }
        events.extend(repaired);
        let disk = &*self.options.disk;
        disk.set_len(&self.file, end)?;
        disk.sync_data(&self.file)?;
        head::replace_head(disk, &self.head, &tip, &self.keys)?;
        head::replace_head(disk, &self.mark, &tip, &self.keys)?;
        self.close_file()?;
        let end = self.begin_empty_file()?;
        self.record_events(end, end.length, events)
    }

    /// Returns the event to record if the log is not the one that the heads name.
    ///
    /// A head under a key that we have means that this log was keyed with it, so another log took its place. The exception
    /// is a head of this very line: a crash interrupted the begin of the chain.
    fn check_replaced_log(
        &self,
        tip: &ChainTip,
        reason: ChainStart,
    ) -> io::Result<Option<AuditLogEvent>> {
        let state = head::read_head(&self.head, &self.keys)?;
        let mark = head::read_head(&self.mark, &self.keys)?;
        let keyed = [state.synced, state.live, mark.synced].into_iter().flatten();
        if let Some(head) = keyed.max_by_key(|head| head.seq) {
            return Ok((head != *tip).then(|| head_mismatch(&head, tip)));
        }
        Ok(match (reason, state.legacy) {
            // Without the key, the heads cannot be checked.
            (ChainStart::KeyLost | ChainStart::New, _) => None,
            (_, Some(head)) if head.seq > tip.seq || head.seq == tip.seq && head != *tip => {
                Some(head_mismatch(&head, tip))
            }
            (_, Some(_)) => None,
            (_, None) => Some(AuditLogEvent::HeadMissing),
        })
    }

    /// Renames the current file to the next number, and opens an empty one in its place.
    fn close_file(&mut self) -> io::Result<()> {
        let number = list_closed(&self.path)?.last().map_or(1, |last| last + 1);
        self.cached_end = None;
        self.options.disk.rename_noclobber(&self.path, &closed_path(&self.path, number))?;
        let file = open_log_file(&self.path)?;
        file.lock()?;
        std::mem::replace(&mut self.file, file).unlock()?;
        self.options.disk.sync_parent(&self.path)
    }

    /// Writes the first line of the current file, which is empty.
    pub(super) fn begin_empty_file(&mut self) -> io::Result<LogEnd> {
        let now = Timestamp::now();
        let previous = self.find_previous_file()?;
        let tip = previous.as_ref().map_or(ChainTip::GENESIS, |(last, _)| last.tip);
        let events = self.check_heads(&tip)?;
        if tip.seq == 0 && events.is_empty() {
            self.create_heads()?;
        }
        let chain = self.keys.chain.clone();
        let key = self.keys.current().id.to_string();
        let begin = match previous {
            None => {
                let reason = ChainStart::New;
                AuditLogEvent::Chain { chain, key, reason, file: 1, previous: None }
            }
            Some((last, previous)) => {
                let file = previous.file + 1;
                match self.find_break(&last) {
                    None => AuditLogEvent::File { chain, file, previous },
                    Some(reason) => {
                        let previous = Some(previous);
                        AuditLogEvent::Chain { chain, key, reason, file, previous }
                    }
                }
            }
        };
        let begin = AuditEntry::Event { time: now, event: begin };
        let end = LogEnd { length: 0, tip, began: now };
        let end = self.write_lines(end, 0, [begin].iter())?;
        self.options.disk.sync_parent(&self.path)?;
        let end = self.record_events(end, end.length, events)?;
        self.write_synced_heads(&end)?;
        Ok(end)
    }

    /// Creates the heads before the first line, so that a missing head is always suspicious later.
    fn create_heads(&self) -> io::Result<()> {
        let disk = &*self.options.disk;
        for path in [&self.head, &self.mark] {
            // A head that an interrupted start left may not be on the disk.
            head::replace_head(disk, path, &ChainTip::GENESIS, &self.keys)?;
        }
        Ok(())
    }

    /// Returns the last closed file and its last line.
    pub(super) fn find_previous_file(&self) -> io::Result<Option<(LastLine, PreviousFile)>> {
        let Some(number) = list_closed(&self.path)?.last().copied() else { return Ok(None) };
        let file = File::open(closed_path(&self.path, number))?;
        let bytes = file.metadata()?.len();
        let last = read_last_line(&file, find_last_lines(&file, bytes, 0)?)?;
        io::Seek::rewind(&mut &file)?;
        let sha256 = hash_file(file, bytes)?;
        Ok(Some((last, PreviousFile { file: number, seq: last.tip.seq, bytes, sha256 })))
    }

    /// Removes closed files that are too many or too old, after recording it.
    fn remove_old_files(&mut self, end: LogEnd) -> io::Result<LogEnd> {
        let closed = list_closed(&self.path)?;
        let rotation = &self.options.rotation;
        let excess = match rotation.keep_files {
            Some(keep) => closed.len().saturating_sub(keep as usize),
            None => 0,
        };
        let is_old = |number: &u32| {
            let modified = closed_path(&self.path, *number).metadata().and_then(|it| it.modified());
            let age = modified.ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
            rotation.keep_age.is_some_and(|max| age > max)
        };
        let expired = closed.iter().take_while(|number| is_old(number)).count();
        let removed = &closed[..excess.max(expired)];
        let (Some(first), Some(last)) = (removed.first(), removed.last()) else { return Ok(end) };
        let through_seq = self.read_last_closed_line(*last)?.tip.seq;
        let event = AuditLogEvent::Removed { first: *first, last: *last, through_seq };
        // The event is on disk before a file is gone, or its absence would look like an attack.
        let end = self.write_lines(end, end.length, [AuditEntry::event_now(event)].iter())?;
        self.write_synced_heads(&end)?;
        for number in removed {
            self.options.disk.remove_file(&closed_path(&self.path, *number))?;
        }
        self.options.disk.sync_parent(&self.path)?;
        Ok(end)
    }

    /// Returns the last line of a closed file.
    fn read_last_closed_line(&self, number: u32) -> io::Result<LastLine> {
        let file = File::open(closed_path(&self.path, number))?;
        read_last_line(&file, find_last_lines(&file, file.metadata()?.len(), 0)?)
    }
}

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
use super::{LogEnd, LogFile, open_line_reader, open_log_file};
use crate::audit::chain::{ChainLink, ChainTip};
use crate::audit::head;
use crate::audit::line_reader::find_last_lines;
use crate::audit::log_files::{
    closed_path, hash_file, list_closed, open_regular_file, read_file_number,
};
use crate::audit::options::AuditRotation;
use crate::audit::record::{AuditEntry, AuditLogEvent, AuditRecord, ChainStart, PreviousFile};

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
        let live = state.live.into_iter().chain(mark.live);
        let keyed = state.durable().chain(mark.durable()).chain(live).chain(self.known_tip);
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
        let last = match list_closed(&self.path)?.last() {
            Some(last) => *last,
            // All files before it may have been removed.
            None => {
                let number = read_file_number(&self.file, self.file.metadata()?.len())?;
                number.unwrap_or(1).saturating_sub(1)
            }
        };
        let too_high =
            || io::Error::other(format!("no number is left after {last} for another file"));
        let number = last.checked_add(1).ok_or_else(too_high)?;
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
                let file = previous.file.saturating_add(1);
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
        let end = find_last_lines(&file, bytes, 0)?;
        let last = read_last_line(&file, end, self.find_max_seq(bytes)?)?;
        io::Seek::rewind(&mut &file)?;
        let sha256 = hash_file(file, bytes)?;
        Ok(Some((last, PreviousFile { file: number, seq: last.tip.seq, bytes, sha256 })))
    }

    /// Removes closed files that are too many or too old, after recording it.
    fn remove_old_files(&mut self, end: LogEnd) -> io::Result<LogEnd> {
        let rotation = &self.options.rotation;
        if rotation.keep_files.is_none() && rotation.keep_age.is_none() {
            return Ok(end);
        }
        let closed = list_closed(&self.path)?;
        let Some(last) = self.find_last_removable(&closed, &end)? else { return Ok(end) };
        let removed: Vec<_> = closed.into_iter().take_while(|file| *file <= last.file).collect();
        let Some(first) = removed.first().copied() else { return Ok(end) };
        let event = AuditLogEvent::Removed { first, last: last.file, through_seq: last.seq };
        // The event is on disk before a file is gone, or its absence would look like an attack.
        let end = self.write_lines(end, end.length, [AuditEntry::event_now(event)].iter())?;
        self.write_synced_heads(&end)?;
        for number in removed {
            self.options.disk.remove_file(&closed_path(&self.path, number))?;
        }
        self.options.disk.sync_parent(&self.path)?;
        Ok(end)
    }

    /// Returns the last closed file that is no longer kept, as the file after it describes it.
    ///
    /// Only lines that a key protects count: the number of files, the times of their names and unprotected lines can be
    /// changed by any process that can write to the state directory. A file that the next one does not prove is kept until a
    /// later one may be removed.
    fn find_last_removable(
        &self,
        closed: &[u32],
        end: &LogEnd,
    ) -> io::Result<Option<PreviousFile>> {
        let AuditRotation { keep_files, keep_age, .. } = self.options.rotation;
        let mut begins: Vec<_> =
            closed.iter().map(|number| self.find_proven_begin(*number)).collect();
        // This process has just written it.
        begins.push(read_begin(&self.file, end.length)?.map(|(begin, _)| begin));
        let now = Timestamp::now();
        let is_old = |begin: &FileBegin| {
            let age = Duration::try_from(now.duration_since(begin.time)).unwrap_or_default();
            keep_age.is_some_and(|max| age > max)
        };
        let candidates = || {
            closed.iter().zip(&begins[1..]).enumerate().filter_map(|(at, (number, next))| {
                let next = next.as_ref()?;
                let previous = next.previous.as_ref().filter(|it| it.file == *number)?;
                Some((at, next, previous))
            })
        };
        let expired = candidates().take_while(|(_, next, _)| is_old(next)).last();
        let mut excess = candidates().filter(|(at, ..)| {
            let kept = begins[at + 1..closed.len()].iter().flatten().count();
            keep_files.is_some_and(|keep| kept >= keep as usize)
        });
        let last = expired.into_iter().chain(excess.next_back()).max_by_key(|(at, ..)| *at);
        Ok(last.map(|(_, _, previous)| previous.clone()))
    }

    /// Returns the beginning of a closed file if the line after it proves it. A file that cannot be read proves nothing.
    fn find_proven_begin(&self, number: u32) -> Option<FileBegin> {
        let file = open_regular_file(&closed_path(&self.path, number)).ok()?;
        let length = file.metadata().ok()?.len();
        let (begin, first) = read_begin(&file, length).ok()??;
        let next = match read_link_at(&file, begin.length, length).ok()? {
            Some(next) => next,
            None => {
                let path = closed_path(&self.path, number.checked_add(1)?);
                let path = if path.exists() { path } else { self.path.clone() };
                let file = open_regular_file(&path).ok()?;
                read_link_at(&file, 0, file.metadata().ok()?.len()).ok()??
            }
        };
        let is_proven = begin.number == number
            && next.seq == first.seq + 1
            && next.prev.proves(&first.hash, &self.keys);
        is_proven.then_some(begin)
    }
}

/// The first line of a file.
#[derive(Clone, Debug)]
struct FileBegin {
    time: Timestamp,
    /// Number of the file.
    number: u32,
    previous: Option<PreviousFile>,
    /// Length of the line with its newline.
    length: u64,
}

/// Reads the first line of a file. Returns `None` if no file of a log begins like that.
fn read_begin(file: &File, length: u64) -> io::Result<Option<(FileBegin, ChainTip)>> {
    let mut reader = open_line_reader(file, 0, length)?;
    let Some(line) = reader.next_line()?.filter(|line| line.complete) else { return Ok(None) };
    let Some(record) = AuditRecord::parse(line.bytes) else { return Ok(None) };
    let tip = ChainTip { seq: record.seq, hash: line.hash };
    let AuditEntry::Event { time, event } = record.entry else { return Ok(None) };
    let begin = event.begun_file().map(|(number, previous)| FileBegin {
        time,
        number,
        previous: previous.cloned(),
        length: line.length + 1,
    });
    Ok(begin.map(|begin| (begin, tip)))
}

/// Reads the chain fields of the complete line at an offset.
fn read_link_at(file: &File, start: u64, length: u64) -> io::Result<Option<ChainLink>> {
    let mut reader = open_line_reader(file, start, length)?;
    let line = reader.next_line()?.filter(|line| line.complete);
    Ok(line.and_then(|line| line.parse_link()))
}

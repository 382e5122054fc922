//! Reads the end of a log, compares it with the heads, and repairs what a crash left. Each repair is recorded as an event.

use std::fs::File;
use std::io;

use jiff::Timestamp;

use super::{LogEnd, LogFile, open_line_reader};
use crate::audit::chain::{self, ChainLink, ChainTip};
use crate::audit::head::{self, HeadState};
use crate::audit::key::KeyId;
use crate::audit::keyring::KeySet;
use crate::audit::line_reader::{HashedLine, find_last_lines};
use crate::audit::record::{AuditEntry, AuditLogEvent, AuditRecord, ChainStart};

/// Highest sequence number that is continued if no head names a line. It leaves numbers for every real log.
const MAX_SEQ_WITHOUT_HEAD: u64 = chain::MAX_SEQ / 2;

/// The last complete line of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastLine {
    pub(super) tip: ChainTip,
    pub(super) key: LineKey,
    /// True if the line announces its key for the next line.
    announces: bool,
}

impl LastLine {
    /// The state before the first line.
    pub(super) const NONE: Self =
        Self { tip: ChainTip::GENESIS, key: LineKey::Any, announces: false };
}

/// The key that the line after a line must use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKey {
    /// There is no line, so any key.
    Any,
    /// None: the line was written by an earlier version.
    Unkeyed,
    Key(KeyId),
}

impl LogFile {
    /// Reads the end of the log and repairs it.
    pub(super) fn read_and_repair_end(&mut self, length: u64) -> io::Result<LogEnd> {
        if length == 0 {
            return self.begin_empty_file();
        }
        let tail = if self.is_tail_suspect { self.inspect_tail(length)? } else { None };
        let debris = tail.filter(|tail| tail.has_debris);
        let mut end = match debris {
            Some(tail) => tail.end,
            None => find_last_lines(&self.file, length, 0)?,
        };
        let mut last = match end {
            // The first line is torn, so the last one is in the file before.
            0 => self.find_previous_file()?.map_or(LastLine::NONE, |(last, _)| last),
            end => read_last_line(&self.file, end, self.find_max_seq(end)?)?,
        };
        self.adopt_key(&last)?;
        let mut repaired = None;
        if let Some(tail) = debris {
            repaired = Some(self.set_debris_aside(&tail, length)?);
        } else if end < length {
            let mut reader = open_line_reader(&self.file, end, length)?;
            if let Some(torn) = reader.next_line()? {
                let link = torn.parse_link();
                let next = link.filter(|link| link.is_successor_of(&last.tip, &self.keys));
                if let Some(link) = next {
                    // The line is complete except for its newline.
                    last = inspect_line(&torn, &link);
                    self.options.disk.write_all_at(&self.file, b"\n", length)?;
                    end = length + 1;
                } else {
                    let digest = self.keys.current().link_line(&torn.hash);
                    repaired = Some(AuditLogEvent::Repaired {
                        torn_bytes: torn.length,
                        torn_digest: self.keys.current().format(&digest),
                    });
                }
            }
        }
        if let Some(tail) = tail {
            self.rewrite_lines(tail.start, end)?;
        }
        if end == 0 {
            self.options.disk.set_len(&self.file, 0)?;
            let begun = self.begin_empty_file()?;
            return self.record_events(begun, begun.length, repaired.into_iter().collect());
        }
        if let Some(reason) = self.find_break(&last) {
            return self.begin_new_chain(end, last.tip, reason, repaired);
        }
        // The head event comes first, so that it gets the sequence number of the first removed line.
        let mut events = self.check_heads(&last.tip)?;
        events.extend(repaired);
        let end = LogEnd { length: end, tip: last.tip, began: read_first_time(&self.file, end)? };
        self.record_events(end, length.max(end.length), events)
    }

    /// Writes events, if there are any. Returns the new end.
    pub(super) fn record_events(
        &mut self,
        end: LogEnd,
        length: u64,
        events: Vec<AuditLogEvent>,
    ) -> io::Result<LogEnd> {
        if events.is_empty() {
            return Ok(end);
        }
        if events.iter().any(|event| matches!(event, AuditLogEvent::Unsynced { .. })) {
            // The head of the lost lines must not be compared with the lines that replace them.
            let disk = &*self.options.disk;
            disk.sync_data(&self.file)?;
            self.write_live_heads(&end.tip)?;
            head::write_synced(disk, &self.head, &end.tip, &self.keys)?;
        }
        let events: Vec<_> = events.into_iter().map(AuditEntry::event_now).collect();
        let end = self.write_lines(end, length, events.iter())?;
        // Sequence numbers may have gone back, so an older head could count as the newest. Its evidence is in the event.
        let disk = &*self.options.disk;
        disk.sync_data(&self.file)?;
        head::replace_head(disk, &self.head, &end.tip, &self.keys)?;
        head::replace_head(disk, &self.mark, &end.tip, &self.keys)?;
        Ok(end)
    }

    /// Returns the highest sequence number that the last line of a file with this length can have. A forged one could use up
    /// all numbers, and no later line would count.
    pub(super) fn find_max_seq(&self, length: u64) -> io::Result<u64> {
        let head = head::read_head(&self.head, &self.keys)?;
        let mark = head::read_head(&self.mark, &self.keys)?;
        let live = head.live.into_iter().chain(mark.live).chain(head.legacy);
        let named = head.durable().chain(mark.durable()).chain(live).map(|tip| tip.seq).max();
        // A head may lag behind the log, by less than one line per byte.
        let named = named.map(|seq| seq.saturating_add(length));
        Ok(named.unwrap_or(MAX_SEQ_WITHOUT_HEAD).min(chain::MAX_SEQ - 1))
    }

    /// Makes the key of the next line the current one, if another process or an interrupted rotation announced it.
    fn adopt_key(&mut self, last: &LastLine) -> io::Result<()> {
        let LineKey::Key(id) = last.key else { return Ok(()) };
        if self.keys.current().id == id {
            return Ok(());
        }
        if let Some(keys) = KeySet::load(&self.options.keys).map_err(io::Error::other)? {
            self.keys = keys;
        }
        if last.announces
            && self.keys.current().id != id
            && self.keys.make_current(id, last.tip.seq)
        {
            let disk = &*self.options.disk;
            self.keys.save(&self.options.keys, disk).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Returns the reason for which the chain cannot be continued after this line, if there is one.
    pub(super) fn find_break(&self, last: &LastLine) -> Option<ChainStart> {
        match last.key {
            LineKey::Any => None,
            LineKey::Unkeyed => Some(ChainStart::Unkeyed),
            LineKey::Key(id) => self.keys.find(id).is_none().then_some(ChainStart::KeyLost),
        }
    }

    /// Returns the events to record because the heads do not match the last line.
    pub(super) fn check_heads(&self, tip: &ChainTip) -> io::Result<Vec<AuditLogEvent>> {
        let head = head::read_head(&self.head, &self.keys)?;
        let mark = head::read_head(&self.mark, &self.keys)?;
        let mut events = vec![];
        // A crash may have come between the creation of the two, before the first line.
        let live = head.live.into_iter().chain(mark.live);
        let named = head.durable().chain(mark.durable()).chain(live);
        let is_new = tip.seq == 0 && named.map(|named| named.seq).max().unwrap_or(0) == 0;
        if head.synced.is_none() || mark.synced.is_some_and(|mark| is_behind(&head, &mark)) {
            events.extend((!is_new).then_some(AuditLogEvent::HeadMissing));
        }
        if mark.synced.is_none() && !is_new {
            events.push(AuditLogEvent::MarkMissing);
        }
        let is_contradicted =
            |head: &ChainTip| head.seq > tip.seq || head.seq == tip.seq && head != tip;
        let durable = head.durable().chain(mark.durable()).chain(self.known_tip);
        let live = head.live.into_iter().chain(mark.live).filter(is_contradicted);
        if let Some(head) = durable.filter(is_contradicted).max_by_key(|head| head.seq) {
            events.insert(0, head_mismatch(&head, tip));
        } else if let Some(live) = live.max_by_key(|head| head.seq) {
            let event = AuditLogEvent::Unsynced { head_seq: live.seq, last_seq: tip.seq };
            events.insert(0, event);
        }
        Ok(events)
    }
}

/// Returns the event for a head that does not match the last line.
pub(super) fn head_mismatch(head: &ChainTip, tip: &ChainTip) -> AuditLogEvent {
    AuditLogEvent::HeadMismatch {
        head_seq: head.seq,
        head_hash: chain::format_hash(&head.hash),
        last_seq: Some(tip.seq),
    }
}

/// Returns true if the synced head is older than the copy of it.
fn is_behind(head: &HeadState, mark: &ChainTip) -> bool {
    head.synced.is_some_and(|head| head.seq < mark.seq)
}

/// Returns the last line of a file whose complete lines end at `end`. A higher sequence number than `max_seq` is not
/// continued.
pub(super) fn read_last_line(file: &File, end: u64, max_seq: u64) -> io::Result<LastLine> {
    let mut reader = open_line_reader(file, find_last_lines(file, end, 1)?, end)?;
    let Some(last) = reader.next_line()? else { return Ok(LastLine::NONE) };
    match last.parse_link().filter(|link| link.seq <= max_seq) {
        Some(link) => Ok(inspect_line(&last, &link)),
        None => recover_last_line(file, end, max_seq),
    }
}

/// Returns the last line of a file whose last line is not an audit record, because it was changed. Sequence numbers
/// continue from the last readable line.
fn recover_last_line(file: &File, end: u64, max_seq: u64) -> io::Result<LastLine> {
    let mut reader = open_line_reader(file, 0, end)?;
    let mut last = LastLine::NONE;
    while let Some(line) = reader.next_line()? {
        last = match line.parse_link().filter(|link| link.seq <= max_seq) {
            Some(link) => inspect_line(&line, &link),
            None => LastLine {
                tip: ChainTip { seq: last.tip.seq + 1, hash: line.hash },
                announces: false,
                ..last
            },
        };
    }
    Ok(last)
}

/// Returns the tip and the key of a line.
fn inspect_line(line: &HashedLine<'_>, link: &ChainLink) -> LastLine {
    let tip = ChainTip { seq: link.seq, hash: line.hash };
    let announced = AuditRecord::parse(line.bytes).and_then(|record| announced_key(&record.entry));
    match announced {
        Some(id) => LastLine { tip, key: LineKey::Key(id), announces: true },
        None => {
            let key = link.prev.key().map_or(LineKey::Unkeyed, LineKey::Key);
            LastLine { tip, key, announces: false }
        }
    }
}

/// Returns the key that an event announces for the following lines.
fn announced_key(entry: &AuditEntry) -> Option<KeyId> {
    match entry {
        AuditEntry::Event { event: AuditLogEvent::Key { key }, .. } => KeyId::parse(key),
        _ => None,
    }
}

/// Returns the time of the first line; now if it cannot be read.
fn read_first_time(file: &File, end: u64) -> io::Result<Timestamp> {
    let mut reader = open_line_reader(file, 0, end)?;
    let first = reader.next_line()?.and_then(|line| AuditRecord::parse(line.bytes));
    Ok(first.map_or_else(Timestamp::now, |record| record.entry.time()))
}

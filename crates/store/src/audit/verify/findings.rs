//! The findings that need the whole log: lines out of place, heads, keys, missing files and intents without an outcome.

use super::chain_verifier::{ChainVerifier, ExpectedKey, LineRange};
use super::report::{VerificationFinding, VerificationFindingKind};
use crate::audit::record::{AuditLogEvent, ChainStart};

/// Consecutive lines with consecutive sequence numbers that are out of place.
pub(super) struct StrayRun {
    line: u64,
    seq: u64,
    count: u64,
}

/// A range of missing sequence numbers, and the line that follows the gap (`None` at the end of the log).
pub(super) struct SequenceGap {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) line: Option<u64>,
}

impl ChainVerifier {
    /// Adds a finding for an event in the log.
    pub(super) fn add_event_finding(&mut self, line: u64, seq: u64, event: &AuditLogEvent) {
        use VerificationFindingKind as Kind;
        let place = self.place(line);
        let (kind, count, message) = match event {
            AuditLogEvent::Repaired { torn_bytes, .. } => (
                Kind::Repaired,
                1,
                format!("{place} records that a torn line of {torn_bytes} bytes was cut"),
            ),
            AuditLogEvent::Discarded { bytes, after_seq, file, .. } => (
                Kind::Discarded,
                1,
                format!(
                    "{place} records that {bytes} bytes after seq {after_seq}, which were not synced, were damaged; they are in {file}"
                ),
            ),
            AuditLogEvent::Lost { records } => (
                Kind::Lost,
                *records,
                format!(
                    "{place} records that {records} records were lost: the log could not be written"
                ),
            ),
            AuditLogEvent::HeadMissing => (
                Kind::HeadMissing,
                1,
                format!(
                    "{place} records that audit.head was missing or changed: lines before it may have been removed"
                ),
            ),
            AuditLogEvent::MarkMissing => (
                Kind::MarkMissing,
                1,
                format!("{place} records that the mark in the key folder was missing or changed"),
            ),
            AuditLogEvent::HeadMismatch { head_seq, last_seq, .. } => {
                // Numbering continues from the remaining lines.
                let last = last_seq.unwrap_or(seq.saturating_sub(1));
                let removed = head_seq.saturating_sub(last);
                let message = match removed {
                    0 => format!("{place} records that the line before it had been changed"),
                    _ => format!(
                        "{place} records that {} before it had been removed",
                        format_line_count(removed)
                    ),
                };
                (Kind::Tampered, removed.max(1), message)
            }
            AuditLogEvent::Unsynced { head_seq, last_seq } => {
                let count = head_seq.saturating_sub(*last_seq).max(1);
                (
                    Kind::Unsynced,
                    count,
                    format!(
                        "{place} records that {} before it were gone before they were synced: by a power failure, or removed",
                        format_line_count(count)
                    ),
                )
            }
            AuditLogEvent::Chain { reason: ChainStart::KeyLost, .. } => (
                Kind::ChainStarted,
                1,
                format!("{place} records that a new chain began because the key was lost"),
            ),
            AuditLogEvent::Removed { first, last, through_seq }
                if first > last || *through_seq >= seq =>
            {
                (Kind::Changed, 1, format!("{place} records a removal that cannot have happened"))
            }
            AuditLogEvent::Removed { first, last, through_seq } => {
                self.removed_through = self.removed_through.max(*through_seq);
                (
                    Kind::Removed,
                    u64::from(*last) + 1 - u64::from(*first),
                    format!(
                        "{place} records that files {first} to {last} (up to seq {through_seq}) were removed as configured"
                    ),
                )
            }
            AuditLogEvent::Chain { .. }
            | AuditLogEvent::File { .. }
            | AuditLogEvent::Key { .. } => {
                return;
            }
        };
        self.add_finding(kind, Some(line), Some(seq), count, message);
    }

    /// Compares the end of the log with the heads.
    pub(super) fn check_heads(&mut self) {
        use VerificationFindingKind as Kind;
        let (head, mark) = (self.heads.head, self.heads.mark);
        let is_keyed = matches!(self.expected, ExpectedKey::Key(_));
        let is_plain = self.expected == ExpectedKey::Plain;
        let synced = head.durable().chain(mark.durable()).chain(self.legacy_head());
        let synced = synced.map(|tip| tip.seq).max();
        let live = head.live.into_iter().chain(mark.live).map(|tip| tip.seq);
        let newest = synced.into_iter().chain(live).max();
        if let Some(seq) = synced {
            self.account_for_skipped(seq.max(self.tip.seq) + 1, None);
        } else {
            // Without a head, unreadable lines at the end cannot be recognized as inserted.
            self.account_for_skipped(self.tip.seq + 1 + self.unreadable.len() as u64, None);
        }
        let last = self.tip.seq.max(synced.unwrap_or_default());
        if let Some(newest) = newest.filter(|newest| *newest > last) {
            let count = newest - last;
            let message = format!(
                "{} after seq {last} are gone before they were synced: by a power failure, or removed",
                format_line_count(count)
            );
            self.add_finding(Kind::Unsynced, None, Some(last + 1), count, message);
        }
        if self.keys.is_empty() && is_keyed {
            return;
        }
        let mut add = |kind, message: &str| self.add_finding(kind, None, None, 1, message.into());
        let has_lines = is_keyed || mark.exists;
        if is_plain && head.legacy.is_none() {
            add(
                Kind::HeadMissing,
                "audit.head is missing: cannot tell whether the last lines were removed",
            );
        } else if has_lines && !head.exists {
            add(Kind::HeadMissing, "audit.head is missing");
        } else if has_lines && head.synced.is_none() {
            add(Kind::HeadMissing, "audit.head was changed");
        } else if head.synced.zip(mark.synced).is_some_and(|(head, mark)| head.seq < mark.seq) {
            add(Kind::HeadMissing, "audit.head was replaced by an older one");
        }
        if is_keyed && mark.synced.is_none() {
            let state = if mark.exists { "was changed" } else { "is missing" };
            add(Kind::MarkMissing, &format!("the mark in the key folder {state}"));
        }
    }

    /// Reports lines that no key protects, or whose key is missing.
    pub(super) fn check_keys(&mut self) {
        use VerificationFindingKind as Kind;
        if let Some(LineRange { first, first_seq, last_seq }) = self.plain {
            let (kind, message) = match (self.expected, self.keys.is_empty()) {
                (ExpectedKey::Key(_), _) => (
                    Kind::Unkeyed,
                    format!("seq {first_seq} to {last_seq} are of an earlier version without a key: they could have been rewritten before the keyed lines followed"),
                ),
                (_, true) => (
                    Kind::Unkeyed,
                    "the log is of an earlier version without a key: it could have been rewritten; the next start continues it with a key".to_owned(),
                ),
                (_, false) => (
                    Kind::Tampered,
                    "the log has no line with a key, although a key was created for it".to_owned(),
                ),
            };
            let count = last_seq + 1 - first_seq;
            self.add_finding(kind, Some(first), Some(first_seq), count, message);
        }
        for (key, LineRange { first, first_seq, last_seq }) in
            std::mem::take(&mut self.unverifiable)
        {
            let message = format!(
                "seq {first_seq} to {last_seq} cannot be verified: the key {key} is missing"
            );
            let count = last_seq.saturating_sub(first_seq) + 1;
            self.add_finding(Kind::KeyMissing, Some(first), Some(first_seq), count, message);
        }
    }

    /// Reports files missing at the start, unless their removal is recorded.
    pub(super) fn check_begin(&mut self) {
        if let Some((seq, line)) = self.begins_at
            && self.removed_through + 1 < seq
        {
            let first = self.removed_through + 1;
            self.gaps.push(SequenceGap { first, last: seq - 1, line: Some(line) });
        }
    }

    /// Reports intents without an outcome.
    pub(super) fn list_open_intents(&mut self) {
        let mut open: Vec<_> = std::mem::take(&mut self.open_intents).into_values().collect();
        open.sort_unstable();
        self.report.unknown = open.len() as u64;
        for (line, seq, text) in open {
            let place = self.place(line);
            let message = format!("{place} has no outcome, so its effect is unknown: {text}");
            let kind = VerificationFindingKind::Unknown;
            self.add_finding(kind, Some(line), Some(seq), 1, message);
        }
    }

    /// Matches lines out of place with missing lines: matches were reordered, other lines were inserted or removed.
    pub(super) fn match_strays_with_gaps(&mut self) {
        for StrayRun { line, seq, count } in std::mem::take(&mut self.strays) {
            let (kind, verb) = match self.gaps.iter().position(|gap| gap.overlaps_run(seq, count)) {
                Some(at) => {
                    let gap = self.gaps.swap_remove(at);
                    self.gaps.extend(gap.subtract_run(seq, count));
                    (VerificationFindingKind::Reordered, "reordered")
                }
                None => (VerificationFindingKind::Inserted, "inserted"),
            };
            let place = self.place(line);
            let message = match count {
                1 => format!("{place} (seq {seq}) was {verb}"),
                _ => {
                    let seq_end = seq + count - 1;
                    format!("{count} lines from {place} (seq {seq} to {seq_end}) were {verb}")
                }
            };
            self.add_finding(kind, Some(line), Some(seq), count, message);
        }
        for SequenceGap { first, last, line } in std::mem::take(&mut self.gaps) {
            let count = last - first + 1;
            let message = match line {
                Some(_) => {
                    format!("lines between seq {} and seq {} are missing", first - 1, last + 1)
                }
                None if first == 1 => {
                    format!("the log is missing: it had {}", format_line_count(count))
                }
                None if count == 1 => "the last line is missing".to_owned(),
                None => format!("the last {count} lines are missing"),
            };
            self.add_finding(VerificationFindingKind::Missing, line, Some(first), count, message);
        }
    }

    /// Stores a line that is out of place, extending the last run if it continues it.
    pub(super) fn add_stray(&mut self, line: u64, seq: u64) {
        if let Some(run) = self.strays.last_mut()
            && run.line + run.count == line
            && run.seq + run.count == seq
        {
            run.count += 1;
        } else if self.report.has_room(self.strays.len()) {
            self.strays.push(StrayRun { line, seq, count: 1 });
        }
    }

    /// Adds a finding for a changed line; `also` is appended to its message.
    pub(super) fn add_changed_line(&mut self, line: u64, seq: Option<u64>, also: &str) {
        let message = format!("{} was changed after it was written{also}", self.place(line));
        self.add_finding(VerificationFindingKind::Changed, Some(line), seq, 1, message);
    }

    pub(super) fn add_finding(
        &mut self,
        kind: VerificationFindingKind,
        line: Option<u64>,
        seq: Option<u64>,
        count: u64,
        message: String,
    ) {
        let finding = VerificationFinding { kind, file: None, line, seq, count, message };
        self.report.add_finding(finding);
    }
}

impl SequenceGap {
    fn overlaps_run(&self, seq: u64, count: u64) -> bool {
        seq <= self.last && seq + count > self.first
    }

    /// Returns the parts of the gap that a run of lines found elsewhere does not cover.
    fn subtract_run(&self, seq: u64, count: u64) -> impl Iterator<Item = Self> {
        let before = Self { first: self.first, last: seq.saturating_sub(1), line: self.line };
        let after = Self { first: seq + count, last: self.last, line: self.line };
        [before, after].into_iter().filter(|gap| gap.first <= gap.last)
    }
}

fn format_line_count(count: u64) -> String {
    if count == 1 { "1 line".into() } else { format!("{count} lines") }
}

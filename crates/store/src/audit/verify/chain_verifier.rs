//! Follows the hash chain line by line and collects the findings.

use super::report::{VerificationFinding, VerificationFindingKind, VerificationReport};
use crate::audit::chain::{self, ChainLink, ChainTip, Hash};
use crate::audit::line_reader::HashedLine;
use crate::audit::record::{AuditEntry, AuditLogEvent, AuditRecord};

/// The parts of a line that verification needs.
pub(super) struct ScannedLine {
    line: u64,
    hash: Hash,
    length: u64,
    link: Option<ChainLink>,
    event: Option<AuditLogEvent>,
    pub(super) complete: bool,
}

impl ScannedLine {
    pub(super) fn new(line: u64, read: &HashedLine<'_>) -> Self {
        let link = read.parse_link();
        let event = link.filter(|link| link.is_event).and_then(|_| AuditRecord::parse(read.bytes));
        Self {
            line,
            hash: read.hash,
            length: read.length,
            link,
            event: event.and_then(|line| match line.entry {
                AuditEntry::Event { event, .. } => Some(event),
                AuditEntry::Call(_) => None,
            }),
            complete: read.complete,
        }
    }
}

/// The state of one verification pass.
pub(super) struct ChainVerifier {
    report: VerificationReport,
    head: Option<ChainTip>,
    /// The last accepted line of the chain.
    tip: ChainTip,
    tip_line: u64,
    /// True if that line is known to be changed, so its hash cannot be compared with the next line.
    tip_changed: bool,
    /// Lines after the tip that are not audit records.
    unreadable: Vec<u64>,
    /// Lines that are out of place. They are matched with `gaps` at the end.
    strays: Vec<StrayRun>,
    /// Missing sequence numbers.
    gaps: Vec<SequenceGap>,
}

/// Consecutive lines with consecutive sequence numbers that are out of place.
struct StrayRun {
    line: u64,
    seq: u64,
    count: u64,
}

/// A range of missing sequence numbers, and the line that follows the gap (`None` at the end of the log).
struct SequenceGap {
    first: u64,
    last: u64,
    line: Option<u64>,
}

impl ChainVerifier {
    pub(super) fn new(head: Option<ChainTip>) -> Self {
        Self {
            report: VerificationReport { ok: true, ..VerificationReport::default() },
            head,
            tip: ChainTip::GENESIS,
            tip_line: 0,
            tip_changed: false,
            unreadable: vec![],
            strays: vec![],
            gaps: vec![],
        }
    }

    /// Checks one line, given the line after it.
    pub(super) fn check_line(&mut self, seen: &ScannedLine, next: Option<&ScannedLine>) {
        self.report.lines = seen.line;
        let Some(link) = seen.link else {
            if self.report.has_room(self.unreadable.len()) {
                self.unreadable.push(seen.line);
            }
            return;
        };
        let next = next.filter(|next| next.complete).and_then(|next| next.link);
        if link.is_successor_of(&self.tip) {
            self.accept_line(seen, link.seq, false);
        } else if next.is_some_and(|next| next.is_successor_of(&self.tip)) {
            // The next line continues the chain, so this line is out of place.
            self.add_stray(seen.line, link.seq);
        } else if link.prev == self.tip.hash {
            // The hash matches the line before it, so the sequence number was changed.
            let seq = self.tip.seq + 1;
            self.add_changed_line(seen.line, Some(seq), "");
            self.accept_line(seen, seq, true);
        } else if link.seq <= self.tip.seq {
            self.add_stray(seen.line, link.seq);
        } else if link.seq == self.tip.seq + 1 {
            self.handle_broken_link(seen, link, next);
        } else if self.unreadable.is_empty() && is_misplaced(&self.tip, link, next) {
            self.add_stray(seen.line, link.seq);
        } else {
            self.accept_line(seen, link.seq, false);
        }
    }

    /// Handles a line with the expected sequence number and a wrong `prev` hash. Either the line before it was changed,
    /// or the hash in this line was.
    fn handle_broken_link(&mut self, seen: &ScannedLine, link: ChainLink, next: Option<ChainLink>) {
        let this_changed = self.tip.seq == 0
            || match next {
                Some(next) if next.seq == link.seq + 1 => next.prev != seen.hash,
                _ => self.head.is_some_and(|head| head.seq == link.seq && head.hash != seen.hash),
            };
        let excused = self.tip_changed || !self.unreadable.is_empty();
        if this_changed && !excused {
            let also = match self.tip_line {
                0 => String::new(),
                line => format!("; line {line} can no longer be verified"),
            };
            self.add_changed_line(seen.line, Some(link.seq), &also);
        } else if !self.tip_changed {
            self.add_changed_line(self.tip_line, Some(self.tip.seq), "");
        }
        self.accept_line(seen, link.seq, this_changed && !excused);
    }

    /// Makes this line the new tip. `seq` is its sequence number, or the original one if it was changed.
    fn accept_line(&mut self, seen: &ScannedLine, seq: u64, mut changed: bool) {
        self.account_for_skipped(seq, Some(seen.line));
        if !changed && self.head.is_some_and(|head| head.seq == seq && head.hash != seen.hash) {
            self.add_changed_line(seen.line, Some(seq), "");
            changed = true;
        }
        if let Some(event) = &seen.event {
            self.add_event_finding(seen.line, seq, event);
        }
        self.tip = ChainTip { seq, hash: seen.hash };
        self.tip_line = seen.line;
        self.tip_changed = changed;
    }

    /// Accounts for the sequence numbers between the tip and `seq`. Unreadable lines take the first ones; the rest is
    /// missing.
    fn account_for_skipped(&mut self, seq: u64, line: Option<u64>) {
        let mut first = self.tip.seq + 1;
        let unreadable = std::mem::take(&mut self.unreadable);
        let inserted = first == seq;
        for line in unreadable {
            if inserted {
                let message = format!("line {line} was inserted: it is not an audit record");
                self.add_finding(VerificationFindingKind::Inserted, Some(line), None, 1, message);
            } else {
                let known = (first < seq).then_some(first);
                self.add_changed_line(line, known, " and is no longer an audit record");
                first += u64::from(known.is_some());
            }
        }
        if first < seq && self.report.has_room(self.gaps.len()) {
            self.gaps.push(SequenceGap { first, last: seq - 1, line });
        }
    }

    /// Adds a finding for an event in the log.
    fn add_event_finding(&mut self, line: u64, seq: u64, event: &AuditLogEvent) {
        let (kind, count, message) = match event {
            AuditLogEvent::Repaired { torn_bytes, .. } => (
                VerificationFindingKind::Repaired,
                1,
                format!("line {line} records that a torn line of {torn_bytes} bytes was cut"),
            ),
            AuditLogEvent::Lost { records } => (
                VerificationFindingKind::Lost,
                *records,
                format!(
                    "line {line} records that {records} records were lost: the log could not be written"
                ),
            ),
            AuditLogEvent::HeadMissing => (
                VerificationFindingKind::HeadMissing,
                1,
                format!(
                    "line {line} records that audit.head was missing: lines before it may have been removed"
                ),
            ),
            AuditLogEvent::HeadMismatch { head_seq, .. } => {
                // Numbering continued from the remaining lines, so this line has the number of the first removed one.
                let removed = head_seq.saturating_add(1).saturating_sub(seq);
                let message = match removed {
                    0 => format!("line {line} records that the line before it had been changed"),
                    _ => format!(
                        "line {line} records that {} before it had been removed",
                        format_line_count(removed)
                    ),
                };
                (VerificationFindingKind::Tampered, removed.max(1), message)
            }
        };
        self.add_finding(kind, Some(line), Some(seq), count, message);
    }

    /// Returns the report, after the checks that need the whole log. `torn` is the text after the last newline.
    pub(super) fn into_report(mut self, torn: Option<ScannedLine>) -> VerificationReport {
        if let Some(torn) = torn {
            let follows = torn.link.filter(|link| link.is_successor_of(&self.tip));
            let message =
                format!("torn last line ({} bytes); the next start repairs it", torn.length);
            self.add_finding(
                VerificationFindingKind::Torn,
                Some(torn.line),
                follows.map(|link| link.seq),
                1,
                message,
            );
            if let Some(link) = follows {
                // The line is complete except for its newline.
                self.accept_line(&torn, link.seq, false);
            }
        }
        match self.head {
            Some(head) => self.account_for_skipped(head.seq.max(self.tip.seq) + 1, None),
            None => {
                // Without a head, unreadable lines at the end cannot be recognized as inserted.
                self.account_for_skipped(self.tip.seq + 1 + self.unreadable.len() as u64, None);
                if self.report.lines > 0 {
                    let message =
                        "audit.head is missing: cannot tell whether the last lines were removed";
                    self.add_finding(
                        VerificationFindingKind::HeadMissing,
                        None,
                        None,
                        1,
                        message.into(),
                    );
                }
            }
        }
        self.match_strays_with_gaps();
        self.report.problems.sort_by_key(|finding| finding.line.unwrap_or(u64::MAX));
        self.report.last_seq = self.tip.seq;
        self.report.last_hash = chain::format_hash(&self.tip.hash);
        self.report
    }

    /// Matches lines out of place with missing lines: matches were reordered, other lines were inserted or removed.
    fn match_strays_with_gaps(&mut self) {
        for StrayRun { line, seq, count } in std::mem::take(&mut self.strays) {
            let (kind, verb) = match self.gaps.iter().position(|gap| gap.overlaps_run(seq, count)) {
                Some(at) => {
                    let gap = self.gaps.swap_remove(at);
                    self.gaps.extend(gap.subtract_run(seq, count));
                    (VerificationFindingKind::Reordered, "reordered")
                }
                None => (VerificationFindingKind::Inserted, "inserted"),
            };
            let message = match count {
                1 => format!("line {line} (seq {seq}) was {verb}"),
                _ => {
                    let (line_end, seq_end) = (line + count - 1, seq + count - 1);
                    format!("lines {line} to {line_end} (seq {seq} to {seq_end}) were {verb}")
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
                None if count == 1 => "the last line is missing".to_owned(),
                None => format!("the last {count} lines are missing"),
            };
            self.add_finding(VerificationFindingKind::Missing, line, Some(first), count, message);
        }
    }

    /// Stores a line that is out of place, extending the last run if it continues it.
    fn add_stray(&mut self, line: u64, seq: u64) {
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
    fn add_changed_line(&mut self, line: u64, seq: Option<u64>, also: &str) {
        let message = format!("line {line} was changed after it was written{also}");
        self.add_finding(VerificationFindingKind::Changed, Some(line), seq, 1, message);
    }

    fn add_finding(
        &mut self,
        kind: VerificationFindingKind,
        line: Option<u64>,
        seq: Option<u64>,
        count: u64,
        message: String,
    ) {
        self.report.add_finding(VerificationFinding { kind, line, seq, count, message });
    }
}

/// Returns true if a line with a too high sequence number is out of place, judging by the next line. Otherwise, lines
/// before it are missing.
fn is_misplaced(tip: &ChainTip, link: ChainLink, next: Option<ChainLink>) -> bool {
    next.is_some_and(|next| next.seq <= link.seq || next.seq == tip.seq + 2)
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

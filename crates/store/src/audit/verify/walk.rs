//! Following the chain, line by line.

use super::report::{Finding, Kind, Report};
use crate::audit::chain::{self, Hash, Link, Tip};
use crate::audit::lines::Piece;
use crate::audit::record::{Entry, Event, Line};

/// What is kept of a line.
pub(super) struct Seen {
    line: u64,
    hash: Hash,
    length: u64,
    link: Option<Link>,
    event: Option<Event>,
    pub(super) complete: bool,
}

impl Seen {
    pub(super) fn new(line: u64, piece: &Piece<'_>) -> Self {
        let link = piece.link();
        let event = link.filter(|link| link.is_event).and_then(|_| Line::parse(piece.bytes));
        Self {
            line,
            hash: piece.hash,
            length: piece.length,
            link,
            event: event.and_then(|line| match line.entry {
                Entry::Event { event, .. } => Some(event),
                Entry::Call(_) => None,
            }),
            complete: piece.complete,
        }
    }
}

pub(super) struct Walk {
    report: Report,
    head: Option<Tip>,
    /// The line up to which the chain was followed.
    tip: Tip,
    tip_line: u64,
    /// That line is known to be changed, so that its hash says nothing about the next one.
    tip_changed: bool,
    /// Lines since then that cannot be read.
    unreadable: Vec<u64>,
    /// Lines that do not belong where they stand, and numbers that are missing: compared at the end.
    strays: Vec<Run>,
    gaps: Vec<Gap>,
}

/// Consecutive lines with consecutive numbers.
struct Run {
    line: u64,
    seq: u64,
    count: u64,
}

/// Missing numbers, and the line they are missing before (`None`: at the end).
struct Gap {
    first: u64,
    last: u64,
    line: Option<u64>,
}

impl Walk {
    pub(super) fn new(head: Option<Tip>) -> Self {
        Self {
            report: Report { ok: true, ..Report::default() },
            head,
            tip: Tip::GENESIS,
            tip_line: 0,
            tip_changed: false,
            unreadable: vec![],
            strays: vec![],
            gaps: vec![],
        }
    }

    pub(super) fn step(&mut self, seen: &Seen, next: Option<&Seen>) {
        self.report.lines = seen.line;
        let Some(link) = seen.link else {
            if self.report.has_room(self.unreadable.len()) {
                self.unreadable.push(seen.line);
            }
            return;
        };
        let next = next.filter(|next| next.complete).and_then(|next| next.link);
        if link.follows(&self.tip) {
            self.accept(seen, link.seq, false);
        } else if next.is_some_and(|next| next.follows(&self.tip)) {
            // Without this line all would be well.
            self.stray(seen.line, link.seq);
        } else if link.prev == self.tip.hash {
            // It was written after the line before it, so its number was another one.
            let seq = self.tip.seq + 1;
            self.changed(seen.line, Some(seq), "");
            self.accept(seen, seq, true);
        } else if link.seq <= self.tip.seq {
            self.stray(seen.line, link.seq);
        } else if link.seq == self.tip.seq + 1 {
            self.broken_link(seen, link, next);
        } else if self.unreadable.is_empty() && is_misplaced(&self.tip, link, next) {
            self.stray(seen.line, link.seq);
        } else {
            self.accept(seen, link.seq, false);
        }
    }

    /// The number is right, the hash is not: either the line before was changed, or the hash in this one.
    fn broken_link(&mut self, seen: &Seen, link: Link, next: Option<Link>) {
        let this_changed = self.tip.seq == 0
            || match next {
                Some(next) if next.seq == link.seq + 1 => next.prev != seen.hash,
                _ => self.head.is_some_and(|head| head.seq == link.seq && head.hash != seen.hash),
            };
        let excused = self.tip_changed || !self.unreadable.is_empty();
        if this_changed && !excused {
            let also = match self.tip_line {
                0 => String::new(),
                line => format!("; it no longer vouches for line {line}"),
            };
            self.changed(seen.line, Some(link.seq), &also);
        } else if !self.tip_changed {
            self.changed(self.tip_line, Some(self.tip.seq), "");
        }
        self.accept(seen, link.seq, this_changed && !excused);
    }

    /// Goes on from this line, which has, or had, the number `seq`.
    fn accept(&mut self, seen: &Seen, seq: u64, mut changed: bool) {
        self.bridge(seq, Some(seen.line));
        if !changed && self.head.is_some_and(|head| head.seq == seq && head.hash != seen.hash) {
            self.changed(seen.line, Some(seq), "");
            changed = true;
        }
        if let Some(event) = &seen.event {
            self.happened(seen.line, seq, event);
        }
        self.tip = Tip { seq, hash: seen.hash };
        self.tip_line = seen.line;
        self.tip_changed = changed;
    }

    /// Accounts for the numbers between the last line and `seq`: unreadable lines stand for some, the rest is missing.
    fn bridge(&mut self, seq: u64, line: Option<u64>) {
        let mut first = self.tip.seq + 1;
        let unreadable = std::mem::take(&mut self.unreadable);
        let inserted = first == seq;
        for line in unreadable {
            if inserted {
                let message = format!("line {line} was inserted: it is not an audit record");
                self.add(Kind::Inserted, Some(line), None, 1, message);
            } else {
                let known = (first < seq).then_some(first);
                self.changed(line, known, " and is no longer an audit record");
                first += u64::from(known.is_some());
            }
        }
        if first < seq && self.report.has_room(self.gaps.len()) {
            self.gaps.push(Gap { first, last: seq - 1, line });
        }
    }

    fn happened(&mut self, line: u64, seq: u64, event: &Event) {
        let (kind, count, message) = match event {
            Event::Repaired { torn_bytes, .. } => (
                Kind::Repaired,
                1,
                format!("line {line} records that a torn line of {torn_bytes} bytes was cut"),
            ),
            Event::Lost { records } => (
                Kind::Lost,
                *records,
                format!(
                    "line {line} records that {records} records were lost: the log could not be written"
                ),
            ),
            Event::HeadMissing => (
                Kind::HeadMissing,
                1,
                format!(
                    "line {line} records that audit.head was missing: lines before it may have been removed"
                ),
            ),
            Event::HeadMismatch { head_seq, .. } => {
                // The numbers go on from what was left, so this line has the number of the first that was removed.
                let removed = head_seq.saturating_add(1).saturating_sub(seq);
                let message = match removed {
                    0 => format!("line {line} records that the line before it had been changed"),
                    _ => format!(
                        "line {line} records that {} before it had been removed",
                        lines(removed)
                    ),
                };
                (Kind::Tampered, removed.max(1), message)
            }
        };
        self.add(kind, Some(line), Some(seq), count, message);
    }

    /// Judges what could not be judged before. `torn` is what stands after the last newline.
    pub(super) fn finish(mut self, torn: Option<Seen>) -> Report {
        if let Some(torn) = torn {
            let follows = torn.link.filter(|link| link.follows(&self.tip));
            let message =
                format!("torn last line ({} bytes); the next start repairs it", torn.length);
            self.add(Kind::Torn, Some(torn.line), follows.map(|link| link.seq), 1, message);
            if let Some(link) = follows {
                // Only its newline is missing.
                self.accept(&torn, link.seq, false);
            }
        }
        match self.head {
            Some(head) => self.bridge(head.seq.max(self.tip.seq) + 1, None),
            None => {
                // Without a head, nothing says that unreadable lines at the end are too many.
                self.bridge(self.tip.seq + 1 + self.unreadable.len() as u64, None);
                if self.report.lines > 0 {
                    let message =
                        "audit.head is missing: whether the last lines are missing cannot be known";
                    self.add(Kind::HeadMissing, None, None, 1, message.into());
                }
            }
        }
        self.reconcile();
        self.report.problems.sort_by_key(|finding| finding.line.unwrap_or(u64::MAX));
        self.report.last_seq = self.tip.seq;
        self.report.last_hash = chain::text(&self.tip.hash);
        self.report
    }

    fn reconcile(&mut self) {
        for Run { line, seq, count } in std::mem::take(&mut self.strays) {
            let (kind, what) = match self.gaps.iter().position(|gap| gap.overlaps(seq, count)) {
                Some(at) => {
                    let gap = self.gaps.swap_remove(at);
                    self.gaps.extend(gap.without(seq, count));
                    (Kind::Reordered, "reordered")
                }
                None => (Kind::Inserted, "inserted"),
            };
            let message = match count {
                1 => format!("line {line} (seq {seq}) was {what}"),
                _ => {
                    let (line_end, seq_end) = (line + count - 1, seq + count - 1);
                    format!("lines {line} to {line_end} (seq {seq} to {seq_end}) were {what}")
                }
            };
            self.add(kind, Some(line), Some(seq), count, message);
        }
        for Gap { first, last, line } in std::mem::take(&mut self.gaps) {
            let count = last - first + 1;
            let message = match line {
                Some(_) => {
                    format!("lines between seq {} and seq {} are missing", first - 1, last + 1)
                }
                None if count == 1 => "the last line is missing".to_owned(),
                None => format!("the last {count} lines are missing"),
            };
            self.add(Kind::Missing, line, Some(first), count, message);
        }
    }

    fn stray(&mut self, line: u64, seq: u64) {
        if let Some(run) = self.strays.last_mut()
            && run.line + run.count == line
            && run.seq + run.count == seq
        {
            run.count += 1;
        } else if self.report.has_room(self.strays.len()) {
            self.strays.push(Run { line, seq, count: 1 });
        }
    }

    fn changed(&mut self, line: u64, seq: Option<u64>, also: &str) {
        let message = format!("line {line} was changed after it was written{also}");
        self.add(Kind::Changed, Some(line), seq, 1, message);
    }

    fn add(
        &mut self,
        kind: Kind,
        line: Option<u64>,
        seq: Option<u64>,
        count: u64,
        message: String,
    ) {
        self.report.add(Finding { kind, line, seq, count, message });
    }
}

/// A number too high: does this line stand in the wrong place, or are lines missing before it? The next line tells.
fn is_misplaced(tip: &Tip, link: Link, next: Option<Link>) -> bool {
    next.is_some_and(|next| next.seq <= link.seq || next.seq == tip.seq + 2)
}

impl Gap {
    fn overlaps(&self, seq: u64, count: u64) -> bool {
        seq <= self.last && seq + count > self.first
    }

    /// What is left when a run of lines is found elsewhere.
    fn without(&self, seq: u64, count: u64) -> impl Iterator<Item = Self> {
        let before = Self { first: self.first, last: seq.saturating_sub(1), line: self.line };
        let after = Self { first: seq + count, last: self.last, line: self.line };
        [before, after].into_iter().filter(|gap| gap.first <= gap.last)
    }
}

fn lines(count: u64) -> String {
    if count == 1 { "1 line".into() } else { format!("{count} lines") }
}

//! Follows the chain line by line, across files, and collects the findings.

use std::collections::HashMap;

use super::Heads;
use super::file_digest::FileDigest;
use super::findings::{SequenceGap, StrayRun};
use super::report::{VerificationFindingKind, VerificationReport};
use crate::audit::chain::{self, ChainLink, ChainTip, Hash};
use crate::audit::key::KeyId;
use crate::audit::keyring::KeySet;
use crate::audit::line_reader::HashedLine;
use crate::audit::record::{AuditEntry, AuditLogEvent, AuditRecord};

/// The parts of a line that verification needs.
pub(super) struct ScannedLine {
    /// Number of the line, counted over all files.
    pub(super) line: u64,
    pub(super) hash: Hash,
    pub(super) length: u64,
    pub(super) link: Option<ChainLink>,
    pub(super) event: Option<AuditLogEvent>,
    /// The tool and caller of an intent, for the message about it.
    intent: Option<String>,
    pub(super) complete: bool,
}

impl ScannedLine {
    pub(super) fn new(line: u64, read: &HashedLine<'_>) -> Self {
        let link = read.parse_link();
        let is_special = link.as_ref().is_some_and(|link| link.is_event || link.intent.is_some());
        let (mut event, mut intent) = (None, None);
        match is_special.then(|| AuditRecord::parse(read.bytes)).flatten().map(|it| it.entry) {
            Some(AuditEntry::Event { event: found, .. }) => event = Some(found),
            Some(AuditEntry::Intent(found)) => {
                let (tool, caller) = (found.tool, found.caller);
                intent = Some(format!("`{tool}` by {caller} at {:.3}", found.time));
            }
            _ => {}
        }
        let (hash, length, complete) = (read.hash, read.length, read.complete);
        Self { line, hash, length, link, event, intent, complete }
    }

    /// Returns the key that the line announces for the next one.
    fn announced_key(&self) -> Option<KeyId> {
        match &self.event {
            Some(AuditLogEvent::Key { key } | AuditLogEvent::Chain { key, .. }) => {
                KeyId::parse(key)
            }
            _ => None,
        }
    }
}

/// The key that the next line must be linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedKey {
    /// No line was accepted yet.
    Any,
    /// None: the lines are of an earlier version.
    Plain,
    Key(KeyId),
}

/// Consecutive lines with one property.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRange {
    pub(super) first: u64,
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
}

/// The state of one verification pass.
pub(super) struct ChainVerifier {
    pub(super) report: VerificationReport,
    pub(super) keys: KeySet,
    pub(super) heads: Heads,
    /// The last accepted line of the chain.
    pub(super) tip: ChainTip,
    pub(super) tip_line: u64,
    /// True if that line is known to be changed, so its hash cannot be compared with the next line.
    tip_changed: bool,
    pub(super) expected: ExpectedKey,
    /// Lines after the tip that are not audit records.
    pub(super) unreadable: Vec<u64>,
    /// Lines that are out of place. They are matched with `gaps` at the end.
    pub(super) strays: Vec<StrayRun>,
    /// Missing sequence numbers.
    pub(super) gaps: Vec<SequenceGap>,
    /// Files that were read: number of the first line, and name unless it is the current file.
    pub(super) files: Vec<(u64, Option<String>)>,
    next_line: u64,
    file_number: u32,
    /// Content of the file before.
    file_digest: Option<FileDigest>,
    /// Intents without an outcome so far: line, sequence number and description.
    pub(super) open_intents: HashMap<String, (u64, u64, String)>,
    /// First sequence number, if earlier files are missing, and its line.
    pub(super) begins_at: Option<(u64, u64)>,
    /// Last sequence number that was removed because of the age or number of files.
    pub(super) removed_through: u64,
    pub(super) plain: Option<LineRange>,
    pub(super) unverifiable: Vec<(KeyId, LineRange)>,
}

impl ChainVerifier {
    pub(super) fn new(keys: KeySet, heads: Heads) -> Self {
        let report = VerificationReport {
            ok: true,
            chain: (!keys.is_empty()).then(|| keys.chain.clone()),
            ..VerificationReport::default()
        };
        Self {
            report,
            keys,
            heads,
            tip: ChainTip::GENESIS,
            tip_line: 0,
            tip_changed: false,
            expected: ExpectedKey::Any,
            unreadable: vec![],
            strays: vec![],
            gaps: vec![],
            files: vec![],
            next_line: 0,
            file_number: 0,
            file_digest: None,
            open_intents: HashMap::new(),
            begins_at: None,
            removed_through: 0,
            plain: None,
            unverifiable: vec![],
        }
    }

    /// Begins the next file; `name` is `None` for the current one.
    pub(super) fn begin_file(&mut self, number: u32, name: Option<String>) {
        if self.file_number.checked_add(1) != Some(number) {
            // The digest in the first line is that of another file.
            self.file_digest = None;
        }
        self.file_number = number;
        self.files.push((self.next_line, name));
    }

    /// Counts a line, and returns its number.
    pub(super) fn next_line(&mut self) -> u64 {
        self.next_line += 1;
        self.next_line
    }

    /// Checks one line, given the line after it in the same file.
    pub(super) fn check_line(&mut self, seen: &ScannedLine, next: Option<&ScannedLine>) {
        self.report.lines = seen.line;
        let Some(link) = &seen.link else {
            if self.report.has_room(self.unreadable.len()) {
                self.unreadable.push(seen.line);
            }
            return;
        };
        let next = next.filter(|next| next.complete);
        if self.begins_after_removed_files(seen, link.seq) {
            self.begins_at = Some((link.seq, seen.line));
            self.tip.seq = link.seq - 1;
            self.accept_line(seen, link.seq, false);
        } else if self.follows(seen) {
            self.accept_line(seen, link.seq, false);
        } else if next.is_some_and(|next| self.follows(next)) {
            // The next line continues the chain, so this line is out of place.
            self.add_stray(seen.line, link.seq);
        } else if self.has_expected_key(seen) && self.matches_tip(link) {
            // The digest matches the line before it, so the sequence number was changed.
            let seq = self.tip.seq + 1;
            self.add_changed_line(seen.line, Some(seq), "");
            self.accept_line(seen, seq, true);
        } else if link.seq <= self.tip.seq {
            self.add_stray(seen.line, link.seq);
        } else if link.seq == self.tip.seq + 1 {
            self.handle_broken_link(seen, link, next);
        } else if self.unreadable.is_empty() && self.is_misplaced(link, next) {
            self.add_stray(seen.line, link.seq);
        } else {
            self.accept_line(seen, link.seq, false);
        }
    }

    /// Ends a file. `torn` is the text after its last newline.
    pub(super) fn end_file(&mut self, torn: Option<ScannedLine>, digest: FileDigest) {
        self.file_digest = Some(digest);
        let Some(torn) = torn else { return };
        let follows = torn.link.as_ref().filter(|_| self.follows(&torn)).map(|link| link.seq);
        let message = format!("torn last line ({} bytes); the next start repairs it", torn.length);
        self.add_finding(VerificationFindingKind::Torn, Some(torn.line), follows, 1, message);
        if let Some(seq) = follows {
            // The line is complete except for its newline.
            self.accept_line(&torn, seq, false);
        }
    }

    /// Returns true if this is the first line, and it continues files that are no longer there.
    fn begins_after_removed_files(&self, seen: &ScannedLine, seq: u64) -> bool {
        let continues = matches!(
            seen.event,
            Some(AuditLogEvent::File { .. } | AuditLogEvent::Chain { previous: Some(_), .. })
        );
        self.expected == ExpectedKey::Any && seen.line == 1 && seq > 1 && continues
    }

    /// Returns true if the line is the one after the tip.
    fn follows(&self, seen: &ScannedLine) -> bool {
        let Some(link) = &seen.link else { return false };
        self.has_expected_key(seen) && link.is_successor_of(&self.tip, &self.keys)
    }

    fn matches_tip(&self, link: &ChainLink) -> bool {
        // The digest of a line whose key is missing says nothing.
        let is_known = link.prev.key().is_none_or(|key| self.keys.find(key).is_some());
        is_known && link.prev.matches(&self.tip.hash, &self.keys)
    }

    /// Returns true if the line is linked with the key that the lines before it announced.
    fn has_expected_key(&self, seen: &ScannedLine) -> bool {
        let key = seen.link.as_ref().and_then(|link| link.prev.key());
        let begins_chain = matches!(seen.event, Some(AuditLogEvent::Chain { .. }))
            && seen.announced_key() == key
            && key.is_some();
        match self.expected {
            ExpectedKey::Any => true,
            ExpectedKey::Plain => key.is_none() || begins_chain,
            ExpectedKey::Key(expected) => key == Some(expected) || begins_chain,
        }
    }

    /// Handles a line with the expected sequence number and a wrong digest. Either the line before it was changed, or the
    /// digest in this line was.
    fn handle_broken_link(
        &mut self,
        seen: &ScannedLine,
        link: &ChainLink,
        next: Option<&ScannedLine>,
    ) {
        let next = next.and_then(|next| next.link.as_ref());
        let is_expected = self.has_expected_key(seen);
        let known_key = link.prev.key().filter(|key| self.keys.find(*key).is_some());
        let this_changed = self.tip_line == 0
            || !is_expected && known_key.is_none()
            || match next {
                Some(next) if next.seq == link.seq + 1 => {
                    !next.prev.matches(&seen.hash, &self.keys)
                }
                _ => self.differs_from_head(link.seq, &seen.hash),
            };
        let excused = self.tip_changed || !self.unreadable.is_empty();
        if this_changed && !excused {
            let also = match self.tip_line {
                0 => String::new(),
                line => format!("; {} can no longer be verified", self.place(line)),
            };
            self.add_changed_line(seen.line, Some(link.seq), &also);
        } else if !self.tip_changed {
            self.add_changed_line(self.tip_line, Some(self.tip.seq), "");
        }
        if let Some(key) = known_key.filter(|_| !is_expected) {
            // A line before announced another key. It is reported once, not for every line that follows.
            self.expected = ExpectedKey::Key(key);
        }
        self.accept_line(seen, link.seq, this_changed && !excused);
    }

    /// Returns true if a head names another line with this sequence number.
    fn differs_from_head(&self, seq: u64, hash: &Hash) -> bool {
        let Heads { head, mark } = &self.heads;
        let live = head.live.into_iter().chain(mark.live).chain(self.legacy_head());
        head.durable()
            .chain(mark.durable())
            .chain(live)
            .any(|head| head.seq == seq && head.hash != *hash)
    }

    /// Returns the head of an earlier version, which counts only while no line is keyed.
    pub(super) fn legacy_head(&self) -> Option<ChainTip> {
        self.heads.head.legacy.filter(|_| !matches!(self.expected, ExpectedKey::Key(_)))
    }

    /// Makes this line the new tip. `seq` is its sequence number, or the original one if it was changed.
    fn accept_line(&mut self, seen: &ScannedLine, seq: u64, mut changed: bool) {
        self.account_for_skipped(seq, Some(seen.line));
        if !changed && self.differs_from_head(seq, &seen.hash) {
            self.add_changed_line(seen.line, Some(seq), "");
            changed = true;
        }
        if !changed {
            self.note_key(seen, seq);
        }
        if let Some(event) = &seen.event {
            self.check_file_number(seen.line, seq, event);
            self.check_previous_file(seen.line, seq, event);
            self.add_event_finding(seen.line, seq, event);
        }
        if let Some(link) = &seen.link {
            self.match_intent(seen, link);
        }
        self.tip = ChainTip { seq, hash: seen.hash };
        self.tip_line = seen.line;
        self.tip_changed = changed;
    }

    /// Notes which key the line was linked with, and which one the next line needs.
    fn note_key(&mut self, seen: &ScannedLine, seq: u64) {
        let key = seen.link.as_ref().and_then(|link| link.prev.key());
        if let Some(announced) = seen.announced_key() {
            self.expected = ExpectedKey::Key(announced);
        } else if self.expected == ExpectedKey::Any {
            self.expected = key.map_or(ExpectedKey::Plain, ExpectedKey::Key);
        }
        let range = LineRange { first: seen.line, first_seq: seq, last_seq: seq };
        match key {
            None => self.plain.get_or_insert(range).last_seq = seq,
            Some(key) if self.keys.find(key).is_none() => {
                let last = self.unverifiable.last_mut().filter(|(last, _)| *last == key);
                if let Some((_, range)) = last {
                    range.last_seq = seq;
                } else if self.report.has_room(self.unverifiable.len()) {
                    self.unverifiable.push((key, range));
                }
            }
            Some(_) => {}
        }
    }

    /// Compares the number of this file with what its first line says.
    fn check_file_number(&mut self, line: u64, seq: u64, event: &AuditLogEvent) {
        let Some((number, _)) = event.begun_file() else { return };
        if self.locate(line).0 != 1 || number == self.file_number {
            return;
        }
        let message = format!(
            "{} begins file {number}, but it is in the place of file {}",
            self.place(line),
            self.file_number
        );
        self.add_finding(VerificationFindingKind::Reordered, Some(line), Some(seq), 1, message);
    }

    /// Compares the file before with what the first line of this file says about it.
    fn check_previous_file(&mut self, line: u64, seq: u64, event: &AuditLogEvent) {
        let Some((_, Some(previous))) = event.begun_file() else { return };
        let Some(digest) = self.file_digest.take() else { return };
        if previous.bytes != digest.bytes || previous.sha256 != digest.sha256 {
            let place = self.place(line);
            let message = format!("file {} differs from what {place} says about it", previous.file);
            let kind = VerificationFindingKind::Changed;
            self.add_finding(kind, Some(line), Some(seq), 1, message);
        }
    }

    fn match_intent(&mut self, seen: &ScannedLine, link: &ChainLink) {
        if let (Some(id), Some(text)) = (&link.intent, &seen.intent) {
            self.open_intents.insert(id.clone(), (seen.line, link.seq, text.clone()));
        } else if let Some(id) = &link.outcome_of {
            self.open_intents.remove(id);
        }
    }

    /// Accounts for the sequence numbers between the tip and `seq`. Unreadable lines take the first ones; the rest is
    /// missing.
    pub(super) fn account_for_skipped(&mut self, seq: u64, line: Option<u64>) {
        let mut first = self.tip.seq + 1;
        let unreadable = std::mem::take(&mut self.unreadable);
        let inserted = first == seq;
        for line in unreadable {
            let place = self.place(line);
            if inserted {
                let message = format!("{place} was inserted: it is not an audit record");
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

    /// Returns true if a line with a too high sequence number is out of place, judging by the next line. Otherwise, lines
    /// before it are missing.
    fn is_misplaced(&self, link: &ChainLink, next: Option<&ScannedLine>) -> bool {
        let next = next.and_then(|next| next.link.as_ref());
        next.is_some_and(|next| next.seq <= link.seq || next.seq == self.tip.seq + 2)
    }

    /// Returns the report, after the checks that need the whole log.
    pub(super) fn into_report(mut self) -> VerificationReport {
        self.check_heads();
        self.check_keys();
        self.check_begin();
        self.match_strays_with_gaps();
        self.list_open_intents();
        let mut report = std::mem::take(&mut self.report);
        report.problems.sort_by_key(|finding| finding.line.unwrap_or(u64::MAX));
        for finding in report.problems.iter_mut().chain(&mut report.notes) {
            if let Some(line) = finding.line {
                let (local, file) = self.locate(line);
                (finding.line, finding.file) = (Some(local), file.map(str::to_owned));
            }
        }
        report.removed_through = self.removed_through;
        report.files = self.files.len() as u64;
        report.last_seq = self.tip.seq;
        report.last_hash = chain::format_hash(&self.tip.hash);
        report
    }

    /// Returns the number of a line in its file, and the name of the file unless it is the current one.
    fn locate(&self, line: u64) -> (u64, Option<&str>) {
        let file = self.files.iter().rev().find(|(before, _)| *before < line);
        file.map_or((line, None), |(before, name)| (line - before, name.as_deref()))
    }

    /// Returns the place of a line, for a message.
    pub(super) fn place(&self, line: u64) -> String {
        match self.locate(line) {
            (line, None) => format!("line {line}"),
            (line, Some(file)) => format!("line {line} of {file}"),
        }
    }
}

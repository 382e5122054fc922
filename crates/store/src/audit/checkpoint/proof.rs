//! Compares logs with checkpoints: finds rewritten and removed lines without the key of the log, and says what is not proven.
//!
//! A file may be missing only as the settings allow. The event that records its removal proves nothing here: a holder of
//! the key can forge it, and the next checkpoint would seal it. See `retention`.

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;
use serde::Serialize;

use super::retention::RetentionCheck;
use super::seal::{chain_of, read_line_at};
use super::{CheckpointKey, CheckpointTip, SignedCheckpoint};
use crate::audit::log_files::{LogSnapshot, hash_file};
use crate::audit::options::AuditRotation;
use crate::audit::record::{AuditEntry, AuditRecord, PreviousFile};
use crate::audit::verify::{
    VerificationFinding, VerificationFindingKind, VerificationReport, VerifiedLog,
};
use crate::{IoError, StoreError};

/// What checkpoints prove about a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointSummary {
    /// Number of checkpoints with a valid signature.
    pub checkpoints: u64,
    /// Sequence number up to which the log is proven; 0 if nothing is.
    pub proven_through: u64,
    /// Time of the checkpoint that proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven_at: Option<Timestamp>,
}

/// Checkpoints, and what is needed to judge them.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointEvidence<'a> {
    pub checkpoints: &'a [SignedCheckpoint],
    /// The key that must have signed them.
    pub key: &'a CheckpointKey,
    /// Which files of the logs may be missing.
    pub rotation: &'a AuditRotation,
    /// The current time.
    pub now: Timestamp,
}

/// Compares logs with checkpoints and adds what it finds to the reports. What concerns no log in particular is added to the
/// first one: invalid checkpoints, gaps between them, and chains that no log contains.
pub fn verify_checkpoints(
    logs: &mut [VerifiedLog],
    evidence: &CheckpointEvidence<'_>,
) -> Result<(), StoreError> {
    let mut problems = vec![];
    let valid = check_signatures(evidence, &mut problems);
    let tips: Vec<_> = valid.iter().flat_map(|signed| sealed_tips(signed)).collect();
    let mut missing: BTreeMap<&str, &SealedTip<'_>> = BTreeMap::new();
    let mut proofs = vec![];
    for log in logs.iter() {
        let failed = |source| IoError::new("read audit log", log.path(), source);
        proofs.push(LogProof::new(log, evidence, &tips).map_err(failed)?);
    }
    for sealed in &tips {
        let chain = sealed.tip.chain.as_str();
        let is_in_log = |proof: &LogProof<'_>| proof.chains.iter().any(|it| it == chain);
        // All files of a chain may have been removed as configured.
        if !proofs.iter().any(|proof| is_in_log(proof) || proof.allows_removal(sealed)) {
            let last = missing.entry(chain).or_insert(sealed);
            *last = std::cmp::max_by_key(*last, sealed, |it| it.tip.seq);
        }
    }
    for (chain, sealed) in missing {
        let last = sealed.tip.seq;
        problems.push(problem(
            Some(1),
            last,
            format!(
                "chain {chain} is in none of the logs: checkpoints name it up to seq {last}; it was removed, or its log was not verified too"
            ),
        ));
    }
    let mut results = vec![];
    for proof in proofs {
        let path = proof.log.path();
        let failed = |source| IoError::new("read audit log", path, source);
        results.push(proof.compare(&tips, valid.len()).map_err(failed)?);
    }
    for (log, (summary, findings)) in logs.iter_mut().zip(results) {
        let findings = std::mem::take(&mut problems).into_iter().chain(findings);
        findings.for_each(|finding| log.report.add_finding(finding));
        log.report.checkpoints = Some(summary);
    }
    Ok(())
}

/// The end of one log, as a checkpoint names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedTip<'a> {
    /// Time of the checkpoint.
    pub(super) time: Timestamp,
    pub(super) tip: &'a CheckpointTip,
}

fn sealed_tips(signed: &SignedCheckpoint) -> impl Iterator<Item = SealedTip<'_>> {
    let time = signed.checkpoint.time;
    signed.checkpoint.chains.iter().map(move |tip| SealedTip { time, tip })
}

/// Returns the checkpoints that the key signed. The others, and gaps between them, are problems.
fn check_signatures<'c>(
    evidence: &CheckpointEvidence<'c>,
    problems: &mut Vec<VerificationFinding>,
) -> Vec<&'c SignedCheckpoint> {
    let key = evidence.key;
    let (valid, foreign): (Vec<_>, Vec<_>) =
        evidence.checkpoints.iter().partition(|signed| signed.is_signed_by(key));
    for signed in foreign {
        let number = signed.checkpoint.number;
        problems.push(problem(None, 1, format!("checkpoint {number} is not signed by {key}")));
    }
    for pair in valid.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        if after.checkpoint.previous != Some(before.hash()) {
            let numbers = (before.checkpoint.number, after.checkpoint.number);
            let message = format!(
                "checkpoint {} does not follow checkpoint {}: one between them is missing, or the signing key was used elsewhere",
                numbers.1, numbers.0
            );
            problems.push(problem(None, 1, message));
        }
    }
    valid
}

/// The comparison of one log with checkpoints.
struct LogProof<'a> {
    log: &'a VerifiedLog,
    retention: RetentionCheck<'a>,
    /// Ids of the chains that the files name; empty for files of an earlier version.
    chains: Vec<String>,
    summary: CheckpointSummary,
    findings: Vec<VerificationFinding>,
    /// Last sequence number that was removed as the settings allow.
    allowed_through: u64,
    /// Last sealed sequence number that was removed although it had to be kept.
    lost_through: u64,
}

impl<'a> LogProof<'a> {
    fn new(
        log: &'a VerifiedLog,
        evidence: &CheckpointEvidence<'a>,
        tips: &[SealedTip<'_>],
    ) -> io::Result<Self> {
        let chains = find_chains(&log.snapshot)?;
        let known = tips.iter().filter(|it| chains.contains(&it.tip.chain)).copied();
        let retention = RetentionCheck::new(&log.snapshot, evidence.rotation, evidence.now, known)?;
        Ok(Self {
            log,
            retention,
            chains,
            summary: CheckpointSummary::default(),
            findings: vec![],
            allowed_through: 0,
            lost_through: 0,
        })
    }

    fn report(&self) -> &'a VerificationReport {
        &self.log.report
    }

    /// Returns true if the removal of a sealed line is recorded, and the settings allow it.
    fn allows_removal(&self, sealed: &SealedTip<'_>) -> bool {
        self.report().removed_through >= sealed.tip.seq
            && self.retention.allows_removal(sealed.tip.file, sealed.time)
    }

    fn compare(
        mut self,
        tips: &[SealedTip<'_>],
        checkpoints: usize,
    ) -> io::Result<(CheckpointSummary, Vec<VerificationFinding>)> {
        self.summary.checkpoints = checkpoints as u64;
        let is_ours = |it: &&SealedTip<'_>| self.chains.contains(&it.tip.chain);
        let tips: Vec<_> = tips.iter().filter(is_ours).copied().collect();
        if tips.is_empty() && checkpoints > 0 {
            let named = self.chains.iter().map(String::as_str).filter(|it| !it.is_empty());
            let named: Vec<_> = named.collect();
            let message = match named.join(" or ") {
                chains if chains.is_empty() => {
                    "the log has no lines that a checkpoint could name".to_owned()
                }
                chains => format!("no valid checkpoint names chain {chains}"),
            };
            self.findings.push(problem(None, 1, message));
        }
        let mut proven: Option<&CheckpointTip> = None;
        let mut matched_before = 0;
        for sealed in &tips {
            let SealedTip { time, tip } = *sealed;
            match self.compare_tip(tip)? {
                TipMatch::Same => {
                    matched_before = tip.seq;
                    if tip.seq >= self.summary.proven_through {
                        self.summary.proven_through = tip.seq;
                        self.summary.proven_at = Some(time);
                        proven = Some(tip);
                    }
                }
                TipMatch::Removed => {
                    let is_allowed = self.allows_removal(sealed);
                    self.note_removal(tip.seq, is_allowed);
                }
                TipMatch::Different(why) => {
                    let (first, last) = (matched_before + 1, tip.seq);
                    let message = format!(
                        "seq {first} to {last} were rewritten or removed after the checkpoint of {time:.0}: {why}"
                    );
                    self.findings.push(problem(Some(first), 1, message));
                }
            }
        }
        if let Some(tip) = proven {
            self.check_earlier_files(tip)?;
        }
        self.add_loss();
        self.add_limit();
        Ok((self.summary, self.findings))
    }

    /// Compares the file of a checkpoint with it.
    fn compare_tip(&self, tip: &CheckpointTip) -> io::Result<TipMatch> {
        let Some((file, length)) = self.log.snapshot.open_file(tip.file)? else {
            return Ok(match self.report().removed_through >= tip.seq {
                true => TipMatch::Removed,
                false => TipMatch::Different(format!("file {} is missing", tip.file)),
            });
        };
        if length < tip.bytes {
            let why = format!("file {} had {} bytes and has {length}", tip.file, tip.bytes);
            return Ok(TipMatch::Different(why));
        }
        Ok(match hash_file(file, tip.bytes)? == tip.sha256 {
            true => TipMatch::Same,
            false => TipMatch::Different(format!("the content of file {} differs", tip.file)),
        })
    }

    /// Compares the files before a proven one with the hash in the first line of the file after each.
    fn check_earlier_files(&mut self, tip: &CheckpointTip) -> io::Result<()> {
        let mut number = tip.file;
        while let Some(first) = read_first_record(&self.log.snapshot, number)? {
            let Some(previous) = previous_of(&first) else { break };
            let Some((file, length)) = self.log.snapshot.open_file(previous.file)? else {
                // Verification of the chain reports it unless its removal is recorded.
                if self.report().removed_through >= previous.seq {
                    let closed = first.entry.time();
                    let is_allowed = self.retention.allows_removal(previous.file, closed);
                    self.note_removal(previous.seq, is_allowed);
                }
                break;
            };
            if length != previous.bytes || hash_file(file, length)? != previous.sha256 {
                let message = format!("file {} was rewritten after it was closed", previous.file);
                self.findings.push(problem(Some(previous.seq), 1, message));
                break;
            }
            if previous.file >= number {
                break;
            }
            number = previous.file;
        }
        Ok(())
    }

    fn note_removal(&mut self, seq: u64, is_allowed: bool) {
        let through = if is_allowed { &mut self.allowed_through } else { &mut self.lost_through };
        *through = seq.max(*through);
    }

    /// Reports sealed lines that are missing although the settings keep them.
    fn add_loss(&mut self) {
        let last = self.lost_through;
        if last == 0 {
            return;
        }
        let first = if self.allowed_through < last { self.allowed_through + 1 } else { 1 };
        let message = format!(
            "sealed lines {first}–{last} are gone: the log records their removal, but {}",
            self.retention.describe()
        );
        self.findings.push(problem(Some(first), last + 1 - first, message));
    }

    /// Says from which line on nothing is proven.
    fn add_limit(&mut self) {
        let (proven, last) = (self.summary.proven_through, self.report().last_seq);
        if proven >= last && last > 0 {
            return;
        }
        let message = match self.summary.proven_at {
            Some(time) => format!(
                "nothing is proven from seq {} on: a holder of the log's key could have rewritten it after the checkpoint of {time:.0}",
                proven + 1
            ),
            None => "nothing is proven by checkpoints".to_owned(),
        };
        let kind = VerificationFindingKind::Unproven;
        let count = last.saturating_sub(proven);
        let seq = Some(proven + 1);
        self.findings.push(VerificationFinding {
            kind,
            file: None,
            line: None,
            seq,
            count,
            message,
        });
    }
}

enum TipMatch {
    Same,
    /// The file is missing, and its removal is recorded.
    Removed,
    Different(String),
}

fn problem(seq: Option<u64>, count: u64, message: String) -> VerificationFinding {
    let kind = VerificationFindingKind::Checkpoint;
    VerificationFinding { kind, file: None, line: None, seq, count, message }
}

/// Returns the ids of the chains that the files of a log name.
fn find_chains(snapshot: &LogSnapshot) -> io::Result<Vec<String>> {
    let mut chains = vec![];
    for number in snapshot.numbers() {
        let Some(first) = read_first_record(snapshot, number)? else { continue };
        let chain = chain_of(&first).unwrap_or_default();
        if !chains.contains(&chain) {
            chains.push(chain);
        }
    }
    Ok(chains)
}

/// Returns the first line of a file, if there is such a file and the line is an audit record.
pub(super) fn read_first_record(
    snapshot: &LogSnapshot,
    number: u32,
) -> io::Result<Option<AuditRecord>> {
    match snapshot.open_file(number)? {
        Some((file, length)) => read_line_at(&file, 0, length),
        None => Ok(None),
    }
}

fn previous_of(first: &AuditRecord) -> Option<PreviousFile> {
    match &first.entry {
        AuditEntry::Event { event, .. } => event.begun_file()?.1.cloned(),
        AuditEntry::Call(_) | AuditEntry::Intent(_) => None,
    }
}

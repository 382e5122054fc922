//! Compares logs with checkpoints: finds rewritten lines without the key of the log, and says what is not proven.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::seal::{chain_of, read_line_at};
use super::{CheckpointKey, CheckpointTip, SignedCheckpoint};
use crate::audit::log_files::{closed_path, hash_file, list_closed, list_files};
use crate::audit::record::{AuditEntry, AuditLogEvent, PreviousFile};
use crate::audit::verify::{VerificationFinding, VerificationFindingKind, VerificationReport};
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

/// Compares a log with checkpoints and adds what it finds to the report of its verification.
pub fn verify_checkpoints(
    log: &Path,
    checkpoints: &[SignedCheckpoint],
    key: &CheckpointKey,
    report: &mut VerificationReport,
) -> Result<(), StoreError> {
    let mut proof = CheckpointProof { log, report, summary: CheckpointSummary::default() };
    let valid = proof.check_signatures(checkpoints, key);
    proof.check_log(&valid).map_err(|source| IoError::new("read audit log", log, source))?;
    let summary = proof.summary;
    report.checkpoints = Some(summary);
    Ok(())
}

struct CheckpointProof<'a> {
    log: &'a Path,
    report: &'a mut VerificationReport,
    summary: CheckpointSummary,
}

impl CheckpointProof<'_> {
    /// Returns the checkpoints that the key signed. The others, and gaps between them, are reported.
    fn check_signatures<'c>(
        &mut self,
        checkpoints: &'c [SignedCheckpoint],
        key: &CheckpointKey,
    ) -> Vec<&'c SignedCheckpoint> {
        let (valid, foreign): (Vec<_>, Vec<_>) =
            checkpoints.iter().partition(|signed| signed.is_signed_by(key));
        for signed in foreign {
            let number = signed.checkpoint.number;
            self.add_problem(None, format!("checkpoint {number} is not signed by {key}"));
        }
        for pair in valid.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            if after.checkpoint.previous != Some(before.hash()) {
                let numbers = (before.checkpoint.number, after.checkpoint.number);
                let message = format!(
                    "checkpoint {} does not follow checkpoint {}: one between them is missing, or the signing key was used elsewhere",
                    numbers.1, numbers.0
                );
                self.add_problem(None, message);
            }
        }
        self.summary.checkpoints = valid.len() as u64;
        valid
    }

    fn check_log(&mut self, checkpoints: &[&SignedCheckpoint]) -> io::Result<()> {
        let chains = find_chains(self.log)?;
        let tips: Vec<(Timestamp, &CheckpointTip)> = checkpoints
            .iter()
            .flat_map(|signed| {
                let time = signed.checkpoint.time;
                signed.checkpoint.chains.iter().map(move |tip| (time, tip))
            })
            .filter(|(_, tip)| chains.contains(&tip.chain))
            .collect();
        if tips.is_empty() {
            let message = match chains.as_slice() {
                [] => "the log has no lines that a checkpoint could name".to_owned(),
                chains => format!("no valid checkpoint names chain {}", chains.join(" or ")),
            };
            if !checkpoints.is_empty() {
                self.add_problem(None, message);
            }
        }
        let mut proven: Option<&CheckpointTip> = None;
        let mut matched_before = 0;
        for (time, tip) in &tips {
            match self.compare_tip(tip)? {
                TipMatch::Same => {
                    matched_before = tip.seq;
                    if tip.seq >= self.summary.proven_through {
                        self.summary.proven_through = tip.seq;
                        self.summary.proven_at = Some(*time);
                        proven = Some(tip);
                    }
                }
                TipMatch::Removed => {}
                TipMatch::Different(why) => {
                    let (first, last) = (matched_before + 1, tip.seq);
                    let message = format!(
                        "seq {first} to {last} were rewritten or removed after the checkpoint of {time:.0}: {why}"
                    );
                    self.add_problem(Some(first), message);
                }
            }
        }
        if let Some(tip) = proven {
            self.check_earlier_files(tip)?;
        }
        self.add_limit();
        Ok(())
    }

    /// Compares the file of a checkpoint with it.
    fn compare_tip(&self, tip: &CheckpointTip) -> io::Result<TipMatch> {
        let current = list_closed(self.log)?.last().map_or(1, |last| last + 1);
        let path = file_path(self.log, tip.file, current);
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let is_recorded = self.report.removed_through >= tip.seq;
                return Ok(match is_recorded {
                    true => TipMatch::Removed,
                    false => TipMatch::Different(format!("file {} is missing", tip.file)),
                });
            }
            file => file?,
        };
        let length = file.metadata()?.len();
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
        let current = list_closed(self.log)?.last().map_or(1, |last| last + 1);
        let mut number = tip.file;
        while number > 1 {
            let file = File::open(file_path(self.log, number, current))?;
            let length = file.metadata()?.len();
            let Some(previous) =
                read_line_at(&file, 0, length)?.and_then(|it| previous_of(&it.entry))
            else {
                break;
            };
            number -= 1;
            let file = match File::open(closed_path(self.log, number)) {
                // Verification of the chain reports it unless its removal is recorded.
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                file => file?,
            };
            let length = file.metadata()?.len();
            if length != previous.bytes || hash_file(file, length)? != previous.sha256 {
                let message = format!("file {number} was rewritten after it was closed");
                self.add_problem(Some(previous.seq), message);
                break;
            }
        }
        Ok(())
    }

    /// Says from which line on nothing is proven.
    fn add_limit(&mut self) {
        let (proven, last) = (self.summary.proven_through, self.report.last_seq);
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
        let count = last.saturating_sub(proven);
        self.report.add_finding(VerificationFinding {
            kind: VerificationFindingKind::Unproven,
            file: None,
            line: None,
            seq: Some(proven + 1),
            count,
            message,
        });
    }

    fn add_problem(&mut self, seq: Option<u64>, message: String) {
        self.report.add_finding(VerificationFinding {
            kind: VerificationFindingKind::Checkpoint,
            file: None,
            line: None,
            seq,
            count: 1,
            message,
        });
    }
}

enum TipMatch {
    Same,
    /// The file was removed as configured.
    Removed,
    Different(String),
}

fn file_path(log: &Path, number: u32, current: u32) -> PathBuf {
    if number == current { log.to_owned() } else { closed_path(log, number) }
}

/// Returns the ids of the chains that the files of a log name.
fn find_chains(log: &Path) -> io::Result<Vec<String>> {
    let mut chains = vec![];
    for path in list_files(log)? {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let chain = read_line_at(&file, 0, length)?.and_then(|first| chain_of(&first));
        chains.extend(chain.filter(|chain| !chains.contains(chain)));
    }
    Ok(chains)
}

fn previous_of(entry: &AuditEntry) -> Option<PreviousFile> {
    match entry {
        AuditEntry::Event { event: AuditLogEvent::File { previous, .. }, .. } => {
            Some(previous.clone())
        }
        AuditEntry::Event { event: AuditLogEvent::Chain { previous, .. }, .. } => previous.clone(),
        _ => None,
    }
}

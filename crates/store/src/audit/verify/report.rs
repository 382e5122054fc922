//! The result of a verification, as messages for people and as JSON.

use serde::Serialize;

use crate::audit::checkpoint::CheckpointSummary;

/// Maximum number of listed findings. It bounds the memory for a log that was rewritten completely.
const MAX_LISTED: usize = 1_000;

/// The result of verifying an audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationReport {
    /// True if no line was changed, removed, inserted or moved.
    pub ok: bool,
    /// Id of the chain, if its keys were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// Number of files.
    pub files: u64,
    /// Number of complete lines in all files.
    pub lines: u64,
    /// Number of intents without an outcome.
    pub unknown: u64,
    pub last_seq: u64,
    /// Hash of the last line. A copy in another location later proves that the log still begins with these lines.
    pub last_hash: String,
    /// Evidence of tampering, in the order of the lines.
    pub problems: Vec<VerificationFinding>,
    /// Effects of crashes and full disks, and limits of the verification.
    pub notes: Vec<VerificationFinding>,
    /// What checkpoints prove, if the log was compared with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<CheckpointSummary>,
    /// Last sequence number whose removal is recorded.
    #[serde(skip)]
    pub(in crate::audit) removed_through: u64,
    /// Number of findings that are not listed.
    pub unlisted: u64,
}

/// A problem or a note about one or more lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerificationFinding {
    pub kind: VerificationFindingKind,
    /// Name of the file, unless it is the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line number of the first affected line in its file, from 1. For missing lines, the line that follows the gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Sequence number of that line, or of the first missing line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Number of affected lines or records.
    pub count: u64,
    pub message: String,
}

/// The kind of a finding. All but the ones marked as notes are problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum VerificationFindingKind {
    Changed,
    Missing,
    Inserted,
    Reordered,
    /// A writer detected and recorded that lines had been removed or changed.
    Tampered,
    /// Note: a crash left an incomplete line.
    Torn,
    /// Note: an incomplete line was removed.
    Repaired,
    /// Note: damaged lines that had not been synced were set aside.
    Discarded,
    /// Note: records were dropped while the log could not be written.
    Lost,
    /// The head is missing or was changed.
    HeadMissing,
    /// The copy of the head in the key folder is missing or was changed.
    MarkMissing,
    /// The key of lines is missing, so they cannot be verified.
    KeyMissing,
    /// Lines differ from a checkpoint, or a checkpoint is not valid.
    Checkpoint,
    /// Note: no checkpoint covers lines.
    Unproven,
    /// Note: lines are gone that had not been synced.
    Unsynced,
    /// Note: lines of an earlier version have no key.
    Unkeyed,
    /// Note: a new chain began because the key of the one before was lost.
    ChainStarted,
    /// Note: old files were removed as configured.
    Removed,
    /// Note: an intent has no outcome. The process ended during the call, or the call still runs.
    Unknown,
}

impl VerificationFindingKind {
    fn is_problem(self) -> bool {
        match self {
            Self::Changed
            | Self::Missing
            | Self::Inserted
            | Self::Reordered
            | Self::Tampered
            | Self::HeadMissing
            | Self::MarkMissing
            | Self::KeyMissing
            | Self::Checkpoint => true,
            Self::Torn
            | Self::Repaired
            | Self::Discarded
            | Self::Lost
            | Self::Unproven
            | Self::Unsynced
            | Self::Unkeyed
            | Self::ChainStarted
            | Self::Removed
            | Self::Unknown => false,
        }
    }
}

impl VerificationReport {
    /// Adds the finding to the problems or notes, or counts it as unlisted.
    pub(in crate::audit) fn add_finding(&mut self, finding: VerificationFinding) {
        let problem = finding.kind.is_problem();
        self.ok &= !problem;
        let list = if problem { &mut self.problems } else { &mut self.notes };
        if list.len() < MAX_LISTED {
            list.push(finding);
        } else {
            self.unlisted += 1;
        }
    }

    /// Returns true if one more possible finding may be stored until the end. Otherwise, counts it as unlisted.
    pub(super) fn has_room(&mut self, stored: usize) -> bool {
        let room = stored < MAX_LISTED;
        if !room {
            self.ok = false;
            self.unlisted += 1;
        }
        room
    }
}

//! The result of a verification, as messages for people and as JSON.

use serde::Serialize;

/// Maximum number of listed findings. It bounds the memory for a log that was rewritten completely.
const MAX_LISTED: usize = 1_000;

/// The result of verifying an audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationReport {
    /// True if no line was changed, removed, inserted or moved.
    pub ok: bool,
    /// Number of complete lines in the file.
    pub lines: u64,
    pub last_seq: u64,
    /// Hash of the last line. A copy in another location later proves that the log still begins with these lines.
    pub last_hash: String,
    /// Evidence of tampering, in the order of the lines.
    pub problems: Vec<VerificationFinding>,
    /// Effects of crashes and full disks, and limits of the verification.
    pub notes: Vec<VerificationFinding>,
    /// Number of findings that are not listed.
    pub unlisted: u64,
}

/// A problem or a note about one or more lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerificationFinding {
    pub kind: VerificationFindingKind,
    /// Line number of the first affected line, from 1. For missing lines, the line that follows the gap.
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
    /// Note: records were dropped while the log could not be written.
    Lost,
    /// Note: the head is missing, so removed last lines cannot be detected.
    HeadMissing,
}

impl VerificationFindingKind {
    fn is_problem(self) -> bool {
        match self {
            Self::Changed | Self::Missing | Self::Inserted | Self::Reordered | Self::Tampered => {
                true
            }
            Self::Torn | Self::Repaired | Self::Lost | Self::HeadMissing => false,
        }
    }
}

impl VerificationReport {
    /// Adds the finding to the problems or notes, or counts it as unlisted.
    pub(super) fn add_finding(&mut self, finding: VerificationFinding) {
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

//! What a check found, for people and as JSON.

use serde::Serialize;

/// So many findings are listed; a log that was rewritten throughout would otherwise fill the memory.
const LISTED: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Nobody changed, removed, inserted or moved a line.
    pub ok: bool,
    /// Complete lines in the file.
    pub lines: u64,
    pub last_seq: u64,
    /// Kept elsewhere, this proves later that the log still begins with these lines.
    pub last_hash: String,
    /// What somebody did to the log, in the order of its lines.
    pub problems: Vec<Finding>,
    /// What crashes and full disks did, and what cannot be known.
    pub notes: Vec<Finding>,
    /// Findings beyond those listed.
    pub unlisted: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: Kind,
    /// The first line concerned, counted from 1. For missing lines: the one they are missing before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The number that line has, or the first missing one had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// How many lines, or records, are concerned.
    pub count: u64,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    Changed,
    Missing,
    Inserted,
    Reordered,
    /// A writer found, and put on record, that the log had been cut or changed.
    Tampered,
    /// Note: a crash left an incomplete line.
    Torn,
    /// Note: such a line was cut.
    Repaired,
    /// Note: records were dropped while the log could not be written.
    Lost,
    /// Note: without the head nobody can tell whether the last lines are missing.
    HeadMissing,
}

impl Kind {
    fn is_problem(self) -> bool {
        match self {
            Self::Changed | Self::Missing | Self::Inserted | Self::Reordered | Self::Tampered => {
                true
            }
            Self::Torn | Self::Repaired | Self::Lost | Self::HeadMissing => false,
        }
    }
}

impl Report {
    pub(super) fn add(&mut self, finding: Finding) {
        let problem = finding.kind.is_problem();
        self.ok &= !problem;
        let list = if problem { &mut self.problems } else { &mut self.notes };
        if list.len() < LISTED {
            list.push(finding);
        } else {
            self.unlisted += 1;
        }
    }

    /// For what is judged only at the end: true while there is room to remember one more.
    pub(super) fn has_room(&mut self, remembered: usize) -> bool {
        let room = remembered < LISTED;
        if !room {
            self.ok = false;
            self.unlisted += 1;
        }
        room
    }
}

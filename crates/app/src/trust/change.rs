//! The difference between a folder and its trust record.

use std::fmt;

use contract::text::one_line;

use super::power::{FolderPower, format_powers};

/// Maximum lines of each list in a message.
const MAX_LINES: usize = 40;

/// What changed in a folder since its user trusted it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustChange {
    /// True if another folder is at the path now.
    pub is_replaced: bool,
    /// Files that differ, each with `appeared`, `changed` or `vanished`.
    pub files: Vec<(String, &'static str)>,
    /// Powers that the folder did not have.
    pub gained: Vec<FolderPower>,
    /// Powers that the folder no longer asks for.
    pub lost: Vec<FolderPower>,
}

impl TrustChange {
    /// Compares the powers of a record with those that the folder asks for now.
    pub(super) fn with_powers(mut self, before: &[FolderPower], now: &[FolderPower]) -> Self {
        let missing_in = |all: &[FolderPower], power: &&FolderPower| !all.contains(power);
        self.gained = now.iter().filter(|power| missing_in(before, power)).cloned().collect();
        self.lost = before.iter().filter(|power| missing_in(now, power)).cloned().collect();
        self
    }
}

impl fmt::Display for TrustChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_replaced {
            writeln!(f, "  another folder is at this path now")?;
        }
        for (path, what) in self.files.iter().take(MAX_LINES) {
            writeln!(f, "  {what:<9} {}", one_line(path))?;
        }
        if self.files.len() > MAX_LINES {
            writeln!(f, "  … and {} more files", self.files.len() - MAX_LINES)?;
        }
        for (title, powers) in [("new:", &self.gained), ("no longer:", &self.lost)] {
            if !powers.is_empty() {
                writeln!(f, "{title}\n{}", format_powers(powers, MAX_LINES))?;
            }
        }
        Ok(())
    }
}

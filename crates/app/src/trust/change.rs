//! The difference between a folder and its trust record.

use std::fmt;

use contract::text::one_line;

use super::power::{FolderPower, format_all_powers, format_powers};

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

/// Formats the change with lists of limited length. With `{:#}` nothing is cut.
impl fmt::Display for TrustChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = if f.alternate() { usize::MAX } else { MAX_LINES };
        if self.is_replaced {
            writeln!(f, "  another folder is at this path now")?;
        }
        for (path, what) in self.files.iter().take(limit) {
            writeln!(f, "  {what:<9} {}", one_line(path))?;
        }
        if self.files.len() > limit {
            writeln!(f, "  … and {} more files", self.files.len() - limit)?;
        }
        for (title, powers) in [("new:", &self.gained), ("no longer:", &self.lost)] {
            let list = match f.alternate() {
                true => format_all_powers(powers),
                false => format_powers(powers, limit),
            };
            if !powers.is_empty() {
                writeln!(f, "{title}\n{list}")?;
            }
        }
        Ok(())
    }
}

//! Passed, failed and skipped tests, as the runners of the end-to-end tests print them.

use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Count {
    /// Takes over the number of a closing line: `ℹ pass 12`, `# fail 0`; any other line says nothing.
    pub fn read(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) else {
            return;
        };
        match rest.split_once(' ').map(|(word, number)| (word, number.parse())) {
            Some(("pass", Ok(number))) => self.passed = number,
            Some(("skipped", Ok(number))) => self.skipped = number,
            // Node counts what it stopped (a time limit, a broken parent) apart from what failed.
            Some(("fail" | "cancelled", Ok(number))) => self.failed += number,
            _ => {}
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        // What could not be checked is not to be overlooked; where there is nothing, nothing is said.
        if self.skipped > 0 { write!(f, ", {} SKIPPED", self.skipped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_closing_lines_of_both_runners() {
        let mut count = Count::default();
        for line in [
            "✔ lists the tools (4 ms)",
            "ℹ tests 13",
            "ℹ pass 10",
            "ℹ fail 1",
            "ℹ cancelled 2",
            "ℹ skipped 0",
        ] {
            count.read(line);
        }
        assert_eq!(count, Count { passed: 10, failed: 3, skipped: 0 });
        let mut total = count;
        let mut python = Count::default();
        for line in ["# pass 4", "# fail 0", "# pass the salt"] {
            python.read(line);
        }
        total += python;
        assert_eq!(total.to_string(), "14 passed, 3 failed");
        total.read("ℹ skipped 1");
        assert_eq!(total.to_string(), "14 passed, 3 failed, 1 SKIPPED");
    }
}

//! Counts of passed, failed and skipped tests, parsed from the output of the end-to-end test runners.

use std::fmt;
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCount {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl TestCount {
    /// Adds the number of a summary line such as `ℹ pass 12` or `# fail 0`; ignores any other line.
    pub fn parse_line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) else {
            return;
        };
        match rest.split_once(' ').map(|(word, number)| (word, number.parse())) {
            Some(("pass", Ok(number))) => self.passed = number,
            Some(("skipped", Ok(number))) => self.skipped = number,
            // Node counts tests that it stopped (a time limit, a failed parent) separately from failures.
            Some(("fail" | "cancelled", Ok(number))) => self.failed += number,
            _ => {}
        }
    }
}

impl AddAssign for TestCount {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for TestCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        // Upper case, because a skipped test is easily overlooked.
        if self.skipped > 0 { write!(f, ", {} SKIPPED", self.skipped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_summary_lines_of_node_and_python_runners() {
        let mut count = TestCount::default();
        for line in [
            "✔ lists the tools (4 ms)",
            "ℹ tests 13",
            "ℹ pass 10",
            "ℹ fail 1",
            "ℹ cancelled 2",
            "ℹ skipped 0",
        ] {
            count.parse_line(line);
        }
        assert_eq!(count, TestCount { passed: 10, failed: 3, skipped: 0 });
        let mut total = count;
        let mut python = TestCount::default();
        for line in ["# pass 4", "# fail 0", "# pass the salt"] {
            python.parse_line(line);
        }
        total += python;
        assert_eq!(total.to_string(), "14 passed, 3 failed");
        total.parse_line("ℹ skipped 1");
        assert_eq!(total.to_string(), "14 passed, 3 failed, 1 SKIPPED");
    }
}

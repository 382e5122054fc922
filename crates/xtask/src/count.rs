//! Counts of passed, failed and skipped tests, parsed from the output of the test runners.

use std::fmt;
use std::ops::AddAssign;

/// Markers of skipped and unfinished tests in the output of Node's runner and of `run_python.py`.
const SKIP_MARKERS: [&str; 2] = [" # SKIP", " # TODO"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCount {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Names of the skipped tests.
    pub skips: Vec<String>,
}

impl TestCount {
    /// Returns the number of tests that ran.
    pub fn ran(&self) -> u64 {
        self.passed + self.failed
    }

    /// Adds what a line of a runner's output says; ignores lines that say nothing about tests.
    pub fn parse_line(&mut self, line: &str) {
        if let Some(summary) = line.strip_prefix("test result: ") {
            self.parse_libtest_summary(summary);
        } else if let Some(rest) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) {
            self.parse_summary(rest);
        } else if let Some(name) = parse_skipped_name(line) {
            self.skips.push(name);
        }
    }

    /// Adds the numbers of a line such as `ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out`.
    fn parse_libtest_summary(&mut self, summary: &str) {
        for part in summary.split([';', '.']) {
            match part.trim().split_once(' ').map(|(number, word)| (number.parse(), word)) {
                Some((Ok(number), "passed")) => self.passed += number,
                Some((Ok(number), "failed")) => self.failed += number,
                Some((Ok::<u64, _>(number), "ignored")) => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Adds the number of a line such as `pass 12` or `fail 0`.
    fn parse_summary(&mut self, summary: &str) {
        match summary.split_once(' ').map(|(word, number)| (word, number.parse::<u64>())) {
            Some(("pass", Ok(number))) => self.passed += number,
            // Node counts tests that it stopped (a time limit, a failed parent) separately from failures.
            Some(("fail" | "cancelled", Ok(number))) => self.failed += number,
            Some(("skipped" | "todo", Ok(number))) => self.skipped += number,
            _ => {}
        }
    }
}

/// Returns the name of the skipped test that a line announces.
///
/// The forms are `test NAME ... ignored, REASON` of Rust and `﹣ NAME (0.1ms) # SKIP` of Node. A marker in the middle of
/// other output has no such beginning.
fn parse_skipped_name(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("test ") {
        let (name, outcome) = rest.split_once(" ... ")?;
        return outcome.starts_with("ignored").then(|| name.to_owned());
    }
    let (head, _) = SKIP_MARKERS.iter().find_map(|marker| line.split_once(marker))?;
    let name = head.trim_start().strip_prefix(['﹣', '⚠', '✔', '✖'])?.trim();
    Some(name.rsplit_once(" (").map_or(name, |(name, _)| name).to_owned())
}

impl AddAssign for TestCount {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.skips.extend(other.skips);
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

    fn parse(lines: &[&str]) -> TestCount {
        let mut count = TestCount::default();
        lines.iter().for_each(|line| count.parse_line(line));
        count
    }

    #[test]
    fn parses_summary_lines_of_node_and_python_runners() {
        let mut total = parse(&[
            "✔ lists the tools (4 ms)",
            "ℹ tests 13",
            "ℹ pass 10",
            "ℹ fail 1",
            "ℹ cancelled 2",
            "ℹ skipped 0",
        ]);
        assert_eq!((total.ran(), total.failed), (13, 3));
        total += parse(&["# pass 4", "# fail 0", "# pass the salt"]);
        assert_eq!(total.to_string(), "14 passed, 3 failed");
        total.parse_line("ℹ skipped 1");
        assert_eq!(total.to_string(), "14 passed, 3 failed, 1 SKIPPED");
    }

    #[test]
    fn adds_the_summaries_of_all_rust_test_programs() {
        let count = parse(&[
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        ]);
        assert_eq!((count.passed, count.failed, count.skipped), (15, 2, 1));
    }

    #[test]
    fn names_skipped_and_unfinished_tests() {
        let count = parse(&[
            "﹣ lcov accepts (the) reports (0.5ms) # SKIP NOT CHECKED",
            "  ✔ later (1ms) # TODO",
            "ℹ skipped 1",
            "ℹ todo 1",
            "test owner::waits ... ignored, run by another test",
            "test owner::runs ... ok",
            "a line about # SKIP",
            "test result: ok. 1 passed; 0 failed; 1 ignored",
        ]);
        assert_eq!(count.skips, ["lcov accepts (the) reports", "later", "owner::waits"]);
        assert_eq!(count.skipped, 3);
    }
}

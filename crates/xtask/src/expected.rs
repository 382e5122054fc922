//! The recorded number of tests per part, and the tests that may be skipped, in `expected-tests.json`.
//!
//! A part that runs fewer tests than recorded fails: tests that are no longer found look like success otherwise. A skipped
//! test fails its part unless the file lists it with a reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::command::root;
use crate::count::TestCount;

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedTests {
    /// Number of tests by part.
    counts: BTreeMap<String, u64>,
    skips: Vec<ExpectedSkip>,
}

/// A test that may be skipped.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ExpectedSkip {
    part: String,
    /// The name as the test runner prints it.
    test: String,
    reason: String,
    /// Skipped on some machines only, so it may also run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    conditional: bool,
}

impl ExpectedTests {
    /// Reads the committed file.
    pub fn read() -> Result<Self> {
        let path = path();
        let text = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("failed to parse {}", path.display()))
    }

    /// Checks the counts of a part that passed. Returns an error if it ran fewer tests than recorded, skipped a test that
    /// is not listed, or ran a test that is listed as always skipped.
    pub fn check(&self, part: &str, count: &TestCount) -> Result<()> {
        let listed: Vec<&ExpectedSkip> =
            self.skips.iter().filter(|skip| skip.part == part).collect();
        for skip in &listed {
            ensure!(!skip.reason.trim().is_empty(), "the skip of `{}` has no reason", skip.test);
        }
        for name in &count.skips {
            ensure!(
                listed.iter().any(|skip| skip.test == *name),
                "`{name}` was skipped; run it, or list it with a reason in crates/xtask/expected-tests.json"
            );
        }
        ensure!(
            count.skipped == count.skips.len() as u64,
            "{} tests were skipped, but {} of them were named",
            count.skipped,
            count.skips.len()
        );
        let mut stale = listed.iter().filter(|skip| !skip.conditional);
        if let Some(skip) = stale.find(|skip| !count.skips.contains(&skip.test)) {
            anyhow::bail!(
                "`{}` is no longer skipped; remove it from crates/xtask/expected-tests.json",
                skip.test
            );
        }
        let recorded = self.counts.get(part).copied().unwrap_or_default();
        // A conditional skip is recorded as a test that ran on a machine where it can run.
        let may_miss = listed.iter().filter(|skip| skip.conditional);
        let missing = may_miss.filter(|skip| count.skips.contains(&skip.test)).count() as u64;
        let ran = count.ran();
        ensure!(
            ran + missing >= recorded,
            "{ran} tests ran, {recorded} are recorded; if tests were removed on purpose, run `{}`",
            record_command(part)
        );
        Ok(())
    }

    /// Returns a note if a part runs more tests than recorded, so that the loss of some would go unnoticed.
    pub fn note_unrecorded(&self, part: &str, count: &TestCount) -> Option<String> {
        let (ran, recorded) = (count.ran(), self.counts.get(part).copied().unwrap_or_default());
        (ran > recorded).then(|| {
            format!("{ran} tests ran, {recorded} are recorded; run `{}`", record_command(part))
        })
    }

    /// Records the number of tests of a part.
    pub fn record(&mut self, part: &str, count: &TestCount) {
        if count.ran() > 0 {
            self.counts.insert(part.to_owned(), count.ran());
        }
    }

    pub fn write(&self) -> Result<()> {
        let path = path();
        let text = serde_json::to_string_pretty(self).context("failed to format the counts")?;
        fs::write(&path, text + "\n").with_context(|| format!("failed to write {}", path.display()))
    }
}

fn path() -> PathBuf {
    root().join("crates/xtask/expected-tests.json")
}

fn record_command(part: &str) -> String {
    format!("cargo xtask test --only {part} --record")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> ExpectedTests {
        serde_json::from_str(
            r#"{"counts": {"e2e": 10}, "skips": [
                {"part": "e2e", "test": "always", "reason": "run by another test"},
                {"part": "e2e", "test": "elsewhere", "reason": "needs lcov", "conditional": true}
            ]}"#,
        )
        .expect("valid JSON")
    }

    fn message(passed: u64, skips: &[&str]) -> String {
        let skips: Vec<_> = skips.iter().map(|&name| name.to_owned()).collect();
        let count = TestCount { passed, failed: 0, skipped: skips.len() as u64, skips };
        expected().check("e2e", &count).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn part_with_fewer_tests_than_recorded_fails() {
        assert_eq!(message(10, &["always"]), "");
        assert_eq!(message(11, &["always"]), "");
        assert!(message(9, &["always"]).starts_with("9 tests ran, 10 are recorded"));
        assert!(message(0, &["always"]).contains("cargo xtask test --only e2e --record"));
        assert_eq!(message(9, &["always", "elsewhere"]), "", "a listed skip is not a lost test");
    }

    #[test]
    fn skipped_test_fails_unless_listed() {
        assert!(message(10, &["always", "other"]).starts_with("`other` was skipped"));
        assert!(message(10, &[]).starts_with("`always` is no longer skipped"));
        let unnamed = TestCount { passed: 10, skipped: 1, ..TestCount::default() };
        let error = expected().check("e2e", &unnamed).expect_err("an unnamed skip");
        assert_eq!(error.to_string(), "1 tests were skipped, but 0 of them were named");
    }

    #[test]
    fn committed_file_is_valid() {
        let expected = ExpectedTests::read().expect("a valid file");
        assert!(expected.skips.iter().all(|skip| !skip.reason.trim().is_empty()));
    }
}

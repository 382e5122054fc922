//! What is known about a run: its processor time, and when which test failed. Kept in a file, so that a run that was
//! ended continues.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Results of a run on one target with one seed, over all processes that worked on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunRecord {
    /// Processes in order. One that was killed counts with the time that was recorded last.
    pub(super) segments: Vec<RunSegment>,
    /// Seconds of processor time after which each test failed first, by name of the function.
    pub(super) failures: BTreeMap<String, f64>,
    /// Tests that the last process did not exercise, with the reason.
    pub(super) unexercised: BTreeMap<String, String>,
    /// Reason for which the campaign ended by itself, before its time was used up.
    pub(super) end: Option<String>,
}

/// Work of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunSegment {
    /// Seconds of processor time since fuzzing began: loading and deploying are left out.
    pub(super) cpu: f64,
    /// Calls without those for shrinking. `None` if the process was killed before it could tell.
    pub(super) calls: Option<u64>,
}

impl RunRecord {
    /// Reads a record. Returns an empty one if there is none.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            read => read.with_context(|| format!("failed to read {}", path.display()))?,
        };
        serde_json::from_str(&text).with_context(|| {
            format!("invalid run record {}; remove its folder to begin again", path.display())
        })
    }

    /// Replaces the file in one step, so that a kill leaves the old or the new record.
    pub(super) fn save(&self, path: &Path) -> Result<()> {
        let folder = path.parent().context("the record has no folder")?;
        let failed = || format!("failed to write {}", path.display());
        let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes()).with_context(failed)?;
        file.persist(path).with_context(failed)?;
        Ok(())
    }

    /// Returns the processor time of all processes.
    pub(super) fn cpu(&self) -> f64 {
        self.segments.iter().map(|segment| segment.cpu).sum()
    }

    /// Returns calls per second of processor time, over the processes that told their calls.
    pub(super) fn rate(&self) -> Option<f64> {
        let told = self.segments.iter().filter_map(|segment| Some((segment.calls?, segment.cpu)));
        let (calls, cpu) =
            told.fold((0, 0.0), |(calls, cpu), segment| (calls + segment.0, cpu + segment.1));
        (cpu > 0.0).then(|| calls as f64 / cpu)
    }

    /// Notes that a test failed; only the first time counts.
    pub(super) fn note_failure(&mut self, test: &str, cpu: f64) -> bool {
        let is_new = !self.failures.contains_key(test);
        if is_new {
            self.failures.insert(test.to_owned(), cpu);
        }
        is_new
    }

    /// Returns the number of tests that failed within this time, canaries apart.
    pub(super) fn count_failures(&self, seconds: f64) -> FailureCount {
        let within = self.failures.iter().filter(|(_, cpu)| **cpu <= seconds);
        within.fold(FailureCount::default(), |count, (test, _)| match is_canary(test) {
            true => FailureCount { canaries: count.canaries + 1, ..count },
            false => FailureCount { findings: count.findings + 1, ..count },
        })
    }

    /// Takes over the results that the process printed at its end.
    pub(super) fn add_results(&mut self, results: &Value) {
        if let Some(segment) = self.segments.last_mut() {
            segment.calls = results["calls"].as_u64();
        }
        let tests = results["tests"].as_array().into_iter().flatten();
        self.unexercised = tests
            .filter_map(|test| {
                let name = function_name(test["name"].as_str()?).to_owned();
                let reverted = test["reverts"][0]["reason"].as_str().map(ToOwned::to_owned);
                match test["verdict"].as_str()? {
                    "only-reverted" => {
                        let calls = test["calls"].as_u64().unwrap_or_default();
                        let reason = reverted.unwrap_or_else(|| "no reason".to_owned());
                        Some((name, format!("only reverted in {calls} calls: {reason}")))
                    }
                    "never-called" => Some((name, "never called".to_owned())),
                    "not-run" => {
                        let reason = test["notRun"].as_str().unwrap_or("no reason");
                        Some((name, format!("not run: {reason}")))
                    }
                    _ => None,
                }
            })
            .collect();
    }
}

/// Number of tests that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FailureCount {
    pub(super) findings: u32,
    pub(super) canaries: u32,
}

/// Returns true for the two tests of each harness that are made to fail.
pub(super) fn is_canary(test: &str) -> bool {
    test == "invariant_canary" || test.starts_with("assert_canary")
}

/// Returns the name of a function without its parameters. scfuzzbench counts functions.
pub(super) fn function_name(signature: &str) -> &str {
    signature.split('(').next().unwrap_or(signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_survives_and_counts_canaries_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let mut record = RunRecord::load(&path).unwrap();
        assert_eq!(record, RunRecord::default());
        record.segments.push(RunSegment { cpu: 40.0, calls: None });
        record.segments.push(RunSegment { cpu: 20.0, calls: Some(6_000) });
        assert!(record.note_failure("invariant_canary", 0.5));
        assert!(record.note_failure("assert_canary_ASSERTION_CANARY", 3.0));
        assert!(record.note_failure("testTransfer", 45.0));
        assert!(!record.note_failure("testTransfer", 50.0));
        record.save(&path).unwrap();
        let loaded = RunRecord::load(&path).unwrap();
        assert_eq!(loaded, record);
        assert_eq!((loaded.cpu(), loaded.rate()), (60.0, Some(300.0)));
        assert_eq!(loaded.count_failures(44.0), FailureCount { findings: 0, canaries: 2 });
        assert_eq!(loaded.count_failures(45.0), FailureCount { findings: 1, canaries: 2 });
    }

    #[test]
    fn rejects_damaged_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        fs::write(&path, "{\"segments\":").unwrap();
        let error = RunRecord::load(&path).unwrap_err().to_string();
        assert!(error.contains("remove its folder to begin again"), "{error}");
    }

    #[test]
    fn takes_calls_and_unexercised_tests_from_results() {
        let mut record =
            RunRecord { segments: vec![RunSegment::default(); 2], ..RunRecord::default() };
        record.add_results(&serde_json::json!({
            "calls": 90,
            "tests": [
                {"name": "a(uint256)", "verdict": "not-broken"},
                {"name": "b()", "verdict": "never-called"},
                {"name": "c()", "verdict": "only-reverted", "calls": 7,
                 "reverts": [{"reason": "Panic(17)", "calls": 7}]},
                {"name": "d()", "verdict": "not-run", "notRun": "vm.rpc is not supported"},
            ],
        }));
        assert_eq!(record.segments[0].calls, None);
        assert_eq!(record.segments[1].calls, Some(90));
        let expected = [
            ("b", "never called"),
            ("c", "only reverted in 7 calls: Panic(17)"),
            ("d", "not run: vm.rpc is not supported"),
        ];
        let expected = expected.map(|(name, why)| (name.to_owned(), why.to_owned()));
        assert_eq!(record.unexercised, expected.into_iter().collect());
    }
}

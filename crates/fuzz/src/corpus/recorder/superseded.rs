//! The files of each finding, so that those of a superseded sequence can be removed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use alloy_primitives::I256;

use crate::call::SequenceCall;
use crate::campaign::FailureSite;
use crate::corpus::SavedFile;

/// What a reproducer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FindingKey {
    /// A test that failed at a location.
    Failure(usize, FailureSite),
    /// The maximum of an optimization test.
    Maximum(usize),
}

/// The reproducer of a finding.
#[derive(Debug)]
struct WrittenFinding {
    value: Option<I256>,
    calls: Vec<SequenceCall>,
    files: Vec<PathBuf>,
}

/// The reproducers that are on disk.
#[derive(Debug, Default)]
pub(super) struct FindingFiles {
    findings: HashMap<FindingKey, WrittenFinding>,
    /// Files that did not exist before this campaign wrote them.
    created: HashSet<PathBuf>,
}

impl FindingFiles {
    /// Returns true if a better reproducer of the finding is already on disk: one with a larger value, or fewer or
    /// simpler calls. Workers may report in any order.
    pub(super) fn is_superseded(
        &self,
        key: FindingKey,
        value: Option<I256>,
        calls: &[SequenceCall],
    ) -> bool {
        self.findings.get(&key).is_some_and(|known| {
            known.value > value
                || known.value == value
                    && (known.calls.len(), &known.calls[..]) < (calls.len(), calls)
        })
    }

    /// Replaces the files of a finding, and removes the earlier ones that this campaign created and no other finding uses.
    pub(super) fn replace_files(
        &mut self,
        key: FindingKey,
        value: Option<I256>,
        calls: &[SequenceCall],
        saved: Vec<SavedFile>,
    ) {
        self.created.extend(saved.iter().filter(|file| file.is_new).map(|file| file.path.clone()));
        let mut files: Vec<PathBuf> = saved.into_iter().map(|file| file.path).collect();
        let earlier = self.findings.remove(&key).map(|finding| finding.files).unwrap_or_default();
        if !files.iter().any(|path| is_foundry_test(path)) {
            // The new test could not be written. The earlier one still shows the failure.
            files.extend(earlier.iter().filter(|path| is_foundry_test(path)).cloned());
        }
        self.findings.insert(key, WrittenFinding { value, calls: calls.to_vec(), files });
        for path in earlier {
            let is_used = self.findings.values().any(|finding| finding.files.contains(&path));
            if !is_used && self.created.remove(&path) {
                // A leftover only takes space: it still reproduces the failure.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

fn is_foundry_test(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sol")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use alloy_primitives::{Address, U256};

    use super::*;
    use crate::call::CallPayload;

    const FIRST: FindingKey = FindingKey::Failure(0, (0, 0));
    const SECOND: FindingKey = FindingKey::Failure(1, (0, 0));

    fn calls(count: usize) -> Vec<SequenceCall> {
        let call = SequenceCall {
            payload: CallPayload::WaitOnly,
            from: Address::ZERO,
            to: Address::ZERO,
            value: U256::ZERO,
            gas_price: 0,
            delay: Default::default(),
        };
        vec![call; count]
    }

    /// Writes files, unless they exist, and returns them as saved.
    fn save_files(folder: &Path, names: &[&str]) -> Vec<SavedFile> {
        let save = |name: &&str| {
            let path = folder.join(name);
            let is_new = !path.exists();
            fs::write(&path, name).unwrap();
            SavedFile { path, is_new }
        };
        names.iter().map(save).collect()
    }

    fn list_names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn smaller_reproducer_replaces_the_files_of_the_larger() {
        let folder = tempfile::tempdir().unwrap();
        let mut written = FindingFiles::default();
        let save = |names: &[&str]| save_files(folder.path(), names);
        written.replace_files(FIRST, None, &calls(3), save(&["3.txt", "3.t.sol"]));
        assert!(!written.is_superseded(FIRST, None, &calls(2)));
        written.replace_files(FIRST, None, &calls(2), save(&["2.txt", "2.t.sol"]));
        assert_eq!(list_names(folder.path()), ["2.t.sol", "2.txt"]);
        // Workers may report in any order.
        assert!(written.is_superseded(FIRST, None, &calls(3)));
        assert!(!written.is_superseded(SECOND, None, &calls(3)));
    }

    #[test]
    fn larger_maximum_replaces_the_smaller() {
        let value = |number: i64| Some(I256::try_from(number).unwrap());
        let key = FindingKey::Maximum(0);
        let mut written = FindingFiles::default();
        written.replace_files(key, value(5), &calls(1), Vec::new());
        assert!(!written.is_superseded(key, value(6), &calls(9)));
        assert!(written.is_superseded(key, value(4), &calls(1)));
        assert!(written.is_superseded(key, value(5), &calls(2)));
    }

    #[test]
    fn keeps_files_of_earlier_runs_and_of_other_findings() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("earlier.txt"), "earlier.txt").unwrap();
        let mut written = FindingFiles::default();
        let save = |names: &[&str]| save_files(folder.path(), names);
        written.replace_files(FIRST, None, &calls(3), save(&["earlier.txt", "shared.txt"]));
        written.replace_files(SECOND, None, &calls(3), save(&["shared.txt"]));
        written.replace_files(FIRST, None, &calls(2), save(&["2.txt"]));
        assert_eq!(list_names(folder.path()), ["2.txt", "earlier.txt", "shared.txt"]);
        written.replace_files(SECOND, None, &calls(2), save(&["2.txt"]));
        assert_eq!(list_names(folder.path()), ["2.txt", "earlier.txt"]);
    }

    #[test]
    fn foundry_test_is_kept_until_the_next_one_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut written = FindingFiles::default();
        let save = |names: &[&str]| save_files(folder.path(), names);
        written.replace_files(FIRST, None, &calls(3), save(&["3.txt", "3.t.sol"]));
        written.replace_files(FIRST, None, &calls(2), save(&["2.txt"]));
        assert_eq!(list_names(folder.path()), ["2.txt", "3.t.sol"]);
        written.replace_files(FIRST, None, &calls(1), save(&["1.txt", "1.t.sol"]));
        assert_eq!(list_names(folder.path()), ["1.t.sol", "1.txt"]);
    }
}

//! Runs every target on the committed seeds and on the inputs that fuzzing once found to be wrong.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::{Path, PathBuf};

fn list_inputs(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(target);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn targets_accept_all_committed_inputs() {
    for target in parser_fuzz::TARGETS {
        let seeds = list_inputs("seeds", target.name);
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for path in seeds.into_iter().chain(list_inputs("regressions", target.name)) {
            let data = std::fs::read(&path).unwrap();
            let run = std::panic::AssertUnwindSafe(|| (target.run)(&data));
            assert!(std::panic::catch_unwind(run).is_ok(), "{}", path.display());
            // Every prefix of a short input, because truncation is the most common damage.
            for end in 0..data.len().min(200) {
                (target.run)(&data[..end]);
            }
        }
    }
}

#[test]
fn every_folder_of_inputs_belongs_to_a_target() {
    for kind in ["seeds", "regressions"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_known = parser_fuzz::find_target(name).is_some();
            assert!(is_known || name == "README.md", "{}", path.display());
        }
    }
}

//! Which mutants are tried, and which tests may catch them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use xtask::command::root;

/// Crates with mutants, and the crates besides their own whose tests may catch them.
pub(crate) const CRATES: [(&str, &[&str]); 11] = [
    ("guard", &["pack-repo"]),
    ("runtime", &["gateway"]),
    ("store", &["runtime"]),
    ("admit", &["gateway"]),
    ("rules", &["gateway"]),
    ("gateway", &[]),
    ("pack-repo", &[]),
    ("contract", &["admit", "lint", "runtime"]),
    ("host", &[]),
    ("pack-context", &[]),
    ("pack-campaign", &[]),
];

/// The files whose mutants are tried.
pub(crate) struct Selection {
    pub(crate) crates: BTreeSet<String>,
    /// Parts of paths, one of which a file must contain. Empty for all files.
    texts: Vec<String>,
}

impl Selection {
    pub(crate) fn new(
        crates: &[String],
        texts: &[String],
        changed: Option<&str>,
        seed: u64,
    ) -> Result<Self> {
        let known = || CRATES.iter().map(|(name, _)| (*name).to_owned());
        for name in crates {
            ensure!(known().any(|known| known == *name), "crate {name} has no mutants");
        }
        let mut texts = texts.to_vec();
        let mut selected: BTreeSet<String> = crates.iter().cloned().collect();
        if let Some(base) = changed {
            match changed_files(base) {
                Some(files) => texts.extend(files),
                None => {
                    // Another crate for each seed, as all of them would take too long to compile.
                    selected.extend(known().nth(seed as usize % CRATES.len()));
                }
            }
            if selected.is_empty() && texts.is_empty() {
                return Ok(Self { crates: selected, texts });
            }
        }
        if selected.is_empty() && !texts.is_empty() {
            let has_file = |name: &String| {
                let folder = format!("crates/{name}/src/");
                texts.iter().any(|text| {
                    text.starts_with(&folder) || (changed.is_none() && contains_file(&folder, text))
                })
            };
            selected = known().filter(has_file).collect();
        } else if selected.is_empty() {
            selected = known().collect();
        }
        Ok(Self { crates: selected, texts })
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.texts.is_empty() || self.texts.iter().any(|text| path.contains(text.as_str()))
    }
}

/// Returns the crates whose tests run for the mutants of some crates.
pub(crate) fn tested_crates(crates: &BTreeSet<String>) -> BTreeSet<String> {
    let mut tested = crates.clone();
    for (name, others) in CRATES {
        if crates.contains(name) {
            tested.extend(others.iter().map(|other| (*other).to_owned()));
        }
    }
    tested
}

/// Returns the source files that differ from a commit, or `None` if there is no such commit.
fn changed_files(base: &str) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["diff", "--name-only", base, "--", "crates/*/src/*.rs"]).current_dir(root());
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().filter(|path| root().join(path).is_file()).map(str::to_owned).collect())
}

/// Returns whether a file below a folder of the workspace has a path that contains the text.
fn contains_file(folder: &str, text: &str) -> bool {
    fn search(root: &Path, folder: &Path, text: &str) -> bool {
        std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            let path = entry.path();
            let relative = path.strip_prefix(root).unwrap_or(&path);
            if path.is_dir() {
                search(root, &path, text)
            } else {
                relative.to_string_lossy().contains(text)
            }
        })
    }
    search(&root(), &root().join(folder), text)
}

/// Shuffles a list the same way for the same seed.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    // SplitMix64: good enough to choose mutants, and the same on every machine.
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    for last in (1..items.len()).rev() {
        items.swap(last, (random() % (last as u64 + 1)) as usize);
    }
}

//! The folder `build-info` of a project: which of its files still count, and whether they are all there is.
//!
//! Builds add files and leave old ones lying about, so a file that does not fit the sources is no error by itself. A
//! file counts if every source in it is as on disk. What is wrong then shows in what is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::fresh::{self, Disk, own_path};
use crate::{Build, LoadError, Stale, StaleFile, Why, format, merge, read};

/// A project that was built is not asked for more files than this.
const MAX_FILES: usize = 10_000;
const DEEPEST_FOLDER: usize = 32;

/// Where a project keeps what was built.
pub(super) struct Artefacts {
    pub root: PathBuf,
    pub folder: PathBuf,
    /// Folders of sources, relative to the root.
    pub source_folders: Vec<String>,
    pub expected: Expected,
    /// What builds anew.
    pub command: &'static str,
}

/// Which sources must be in what was built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// All in the project's folders.
    All,
    /// Those that some build had.
    BuiltBefore,
    /// Whatever there is, because it was built just now.
    Any,
}

/// The build-info files that can be read, sorted out.
#[derive(Default)]
struct Sorted {
    fresh: Vec<Build>,
    /// Newest first.
    stale: Vec<(Build, Vec<StaleFile>)>,
    error: Option<LoadError>,
}

impl Artefacts {
    pub(super) fn exist(&self) -> bool {
        !self.newest_first().is_empty()
    }

    /// The build, if it is of the sources as they are now.
    pub(super) fn load(&self) -> Result<Build, LoadError> {
        let sorted = self.sorted();
        let missing = self.missing(&sorted);
        match missing.is_empty() && !sorted.fresh.is_empty() {
            true => Ok(merge::merge(sorted.fresh)),
            false => Err(self.problem(sorted, missing)),
        }
    }

    /// Why there is no build, given the sources that are missing in it.
    fn problem(&self, sorted: Sorted, mut missing: Vec<String>) -> LoadError {
        if let Some(error) = sorted.error {
            return error;
        }
        let mut files = Vec::new();
        if let Some((unit, changed)) = sorted.stale.into_iter().next() {
            // What that build had is missing only because of what changed.
            missing.retain(|path| unit.sources.iter().all(|source| own_path(&source.path) != path));
            files = changed;
        } else if sorted.fresh.is_empty() {
            let (project, folder) = (self.root.clone(), self.folder.clone());
            return LoadError::NotBuilt { project, folder, command: self.command };
        }
        files.extend(missing.into_iter().map(|path| StaleFile { path, why: Why::NotBuilt }));
        files.sort();
        Stale { artefact: self.folder.clone(), files, command: Some(self.command) }.into()
    }

    fn sorted(&self) -> Sorted {
        let disk = Disk::new([self.root.as_path()]);
        let mut sorted = Sorted::default();
        for (built, path) in self.newest_first() {
            let units = match format::read(&path) {
                Ok(units) => units,
                // Foundry writes such a file where nobody asked for the code.
                Err(LoadError::UnknownJson { .. }) => continue,
                Err(error) => {
                    sorted.error.get_or_insert(error);
                    continue;
                }
            };
            for mut unit in units {
                let changed = fresh::changed(&unit, &disk, built, &self.source_folders);
                if changed.is_empty() {
                    fresh::fill_texts(&mut unit, &disk);
                    sorted.fresh.push(unit);
                } else {
                    sorted.stale.push((unit, changed));
                }
            }
        }
        sorted
    }

    /// Sources that define contracts, should have been built, and are in no build that counts.
    fn missing(&self, sorted: &Sorted) -> Vec<String> {
        let before = sorted.stale.iter().flat_map(|(unit, _)| paths(unit));
        let mut expected: BTreeSet<String> = match self.expected {
            Expected::All => self.sources().into_iter().collect(),
            Expected::BuiltBefore => before.map(str::to_owned).collect(),
            Expected::Any => BTreeSet::new(),
        };
        for path in sorted.fresh.iter().flat_map(paths) {
            expected.remove(path);
        }
        expected.retain(|path| defines_contracts(&self.root.join(path)));
        expected.into_iter().collect()
    }

    fn newest_first(&self) -> Vec<(SystemTime, PathBuf)> {
        let entries = self.folder.read_dir().into_iter().flatten().filter_map(Result::ok);
        let is_build_info = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // Hardhat 3 has the output in a file beside, which is read with the first.
            name.ends_with(".json") && !name.ends_with(".output.json")
        };
        let paths = entries.map(|entry| entry.path()).filter(is_build_info).take(MAX_FILES);
        let mut files: Vec<_> = paths.map(|path| (fresh::modified(&path), path)).collect();
        files.sort_by(|one, other| other.cmp(one));
        files
    }

    /// The paths of all Solidity files in the project's folders.
    fn sources(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for folder in &self.source_folders {
            collect(&self.root, folder, DEEPEST_FOLDER, &mut paths);
        }
        paths
    }
}

/// The sources whose contracts a build has.
fn paths(unit: &Build) -> impl Iterator<Item = &str> {
    unit.contracts.iter().map(|contract| own_path(&contract.source))
}

fn collect(root: &Path, folder: &str, depth: usize, paths: &mut Vec<String>) {
    for entry in root.join(folder).read_dir().into_iter().flatten().filter_map(Result::ok) {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        // Links are not followed: they may lead round in a circle.
        let Ok(kind) = entry.file_type() else { continue };
        let path = format!("{folder}/{name}");
        if kind.is_dir() && depth > 0 {
            collect(root, &path, depth - 1, paths);
        } else if kind.is_file() && name.ends_with(".sol") && paths.len() < MAX_FILES {
            paths.push(path);
        }
    }
}

/// Whether a line begins as a definition does. Files of free functions, errors and constants leave no contract behind.
fn defines_contracts(path: &Path) -> bool {
    const BEGINNINGS: [&str; 4] = ["contract ", "abstract contract ", "library ", "interface "];
    let text = read::text(path, read::MAX_SOURCE).unwrap_or_default();
    text.lines().any(|line| BEGINNINGS.iter().any(|word| line.trim_start().starts_with(word)))
}

//! The `build-info` folder of a project: selects up-to-date files and checks that they cover all sources.
//!
//! Builds add files without removing old ones, so a stale file is not an error by itself. A file is fresh if every
//! source in it matches the disk. Sources that no fresh file covers are reported.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::BuildTarget;
use crate::load::LoadedBuild;
use crate::staleness::{self, SourceRoots, strip_project_prefix};
use crate::{
    LoadError, SolidityBuild, StaleBuild, StaleFile, StaleReason, bounded_file, format, merge,
};

/// Maximum number of build-info files, and of source files, considered.
const MAX_FILES: usize = 10_000;
/// Maximum depth of nested source folders.
const MAX_FOLDER_DEPTH: usize = 32;

/// Location of the build artifacts of a project.
pub(super) struct BuildArtifacts {
    pub root: PathBuf,
    pub folder: PathBuf,
    /// Source folders, relative to the root.
    pub source_folders: Vec<String>,
    pub expected: ExpectedSources,
    /// True if sources outside the project are not read.
    pub is_contained: bool,
    /// Command that rebuilds the project.
    pub command: &'static str,
}

/// Sources that the artifacts must cover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedSources {
    /// All sources in the source folders.
    All,
    /// Sources that any previous build covered.
    BuiltBefore,
    /// No particular sources, because the project was just built.
    Any,
}

/// Compilation units of all readable build-info files, by staleness.
#[derive(Default)]
struct SortedUnits {
    fresh: Vec<SolidityBuild>,
    /// Stale units with their changed sources, newest first.
    stale: Vec<(SolidityBuild, Vec<StaleFile>)>,
    /// First error of reading a file.
    error: Option<LoadError>,
}

impl BuildArtifacts {
    pub(super) fn has_build_info(&self) -> bool {
        !self.list_newest_first().is_empty()
    }

    /// Loads the build. Errors if it does not match the current sources.
    ///
    /// Of a build that covers only a part of the sources, that part is used if it contains the target.
    pub(super) fn load(&self, target: BuildTarget<'_>) -> Result<LoadedBuild, LoadError> {
        let mut sorted = self.sort_units();
        let missing = self.find_missing_sources(&sorted);
        if missing.is_empty() && !sorted.fresh.is_empty() {
            return Ok(merge::merge_units(sorted.fresh).into());
        }
        match self.load_part(&mut sorted, &missing, target) {
            Some(loaded) => Ok(loaded),
            None => Err(self.explain_failure(sorted, missing)),
        }
    }

    /// Returns the part of the build that is up to date, if it contains the target.
    fn load_part(
        &self,
        sorted: &mut SortedUnits,
        missing: &[String],
        target: BuildTarget<'_>,
    ) -> Option<LoadedBuild> {
        if target.contract.is_none() && target.source.is_none() {
            return None;
        }
        let changed = sorted.stale.iter().map(|(_, files)| files.len()).sum::<usize>();
        let fresh = sorted.fresh.iter().cloned();
        let parts = sorted.stale.iter().filter_map(|(unit, files)| keep_fresh_part(unit, files));
        let build = merge::merge_units(fresh.chain(parts).collect());
        let is_found = match (target.contract, target.source) {
            // An unbuilt source may define another contract of this name.
            (Some(name), _) => {
                let built: HashSet<_> = contract_paths(&build).collect();
                let mut unbuilt = missing.iter().filter(|path| !built.contains(path.as_str()));
                build.find_contract(name).is_ok_and(|it| it.is_deployable())
                    && !unbuilt.any(|path| target.is_defined_in(&self.root, path))
            }
            (None, Some(path)) => contract_paths(&build).any(|own| own == path),
            (None, None) => false,
        };
        let note = format!(
            "{} does not match all sources ({} not built, {changed} changed), but those of the target",
            self.folder.display(),
            missing.len(),
        );
        is_found.then(|| LoadedBuild { build, notes: vec![note] })
    }

    /// Returns the reason for a missing build, given the sources that it does not cover.
    fn explain_failure(&self, sorted: SortedUnits, mut missing: Vec<String>) -> LoadError {
        if let Some(error) = sorted.error {
            return error;
        }
        let mut files = Vec::new();
        if let Some((unit, changed)) = sorted.stale.into_iter().next() {
            // Sources of the stale build are missing only because others changed.
            let built: HashSet<_> =
                unit.sources.iter().map(|source| strip_project_prefix(&source.path)).collect();
            missing.retain(|path| !built.contains(path.as_str()));
            files = changed;
        } else if sorted.fresh.is_empty() {
            let (project, folder) = (self.root.clone(), self.folder.clone());
            return LoadError::NotBuilt { project, folder, command: self.command };
        }
        files.extend(
            missing.into_iter().map(|path| StaleFile { path, reason: StaleReason::NotBuilt }),
        );
        files.sort();
        StaleBuild { artifact: self.folder.clone(), files, command: Some(self.command) }.into()
    }

    fn sort_units(&self) -> SortedUnits {
        let disk = SourceRoots::new([self.root.as_path()]).with_containment(self.is_contained);
        let mut sorted = SortedUnits::default();
        for (built, path) in self.list_newest_first() {
            // A link could make this process read any file, and messages may quote it.
            let allowed = match self.is_contained {
                true => bounded_file::check_contained(&self.root, &path),
                false => Ok(()),
            };
            let units = match allowed.and_then(|()| format::read_output(&path)) {
                Ok(units) => units,
                // Foundry writes such a file without `--build-info`.
                Err(LoadError::UnknownJson { .. }) => continue,
                Err(error) => {
                    sorted.error.get_or_insert(error);
                    continue;
                }
            };
            for mut unit in units {
                let changed =
                    staleness::find_stale_sources(&unit, &disk, built, &self.source_folders);
                if changed.is_empty() {
                    staleness::fill_source_texts(&mut unit, &disk);
                    sorted.fresh.push(unit);
                } else {
                    sorted.stale.push((unit, changed));
                }
            }
        }
        sorted
    }

    /// Returns expected sources that define contracts but are not in a fresh build.
    fn find_missing_sources(&self, sorted: &SortedUnits) -> Vec<String> {
        let before = sorted.stale.iter().flat_map(|(unit, _)| contract_paths(unit));
        let mut expected: BTreeSet<String> = match self.expected {
            ExpectedSources::All => {
                list_sources(&self.root, &self.source_folders, !self.is_contained)
                    .into_iter()
                    .collect()
            }
            ExpectedSources::BuiltBefore => before.map(str::to_owned).collect(),
            ExpectedSources::Any => BTreeSet::new(),
        };
        for path in sorted.fresh.iter().flat_map(contract_paths) {
            expected.remove(path);
        }
        expected.retain(|path| defines_contracts(&self.root.join(path)));
        expected.into_iter().collect()
    }

    fn list_newest_first(&self) -> Vec<(SystemTime, PathBuf)> {
        let entries = self.folder.read_dir().into_iter().flatten().filter_map(Result::ok);
        let is_build_info = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // Hardhat 3 stores the output in a separate file, which is read with the input file.
            name.ends_with(".json") && !name.ends_with(".output.json")
        };
        let paths = entries.map(|entry| entry.path()).filter(is_build_info).take(MAX_FILES);
        let mut files: Vec<_> = paths.map(|path| (staleness::modified_time(&path), path)).collect();
        files.sort_by(|one, other| other.cmp(one));
        files
    }
}

/// Returns the paths of all Solidity files in source folders of a project. A folder outside of the project, also behind a
/// link, counts only if the project `may_leave` its own.
pub(super) fn list_sources(root: &Path, folders: &[String], may_leave: bool) -> Vec<String> {
    let is_inside = |folder: &str| {
        let real = root.join(folder).canonicalize().ok().zip(root.canonicalize().ok());
        real.is_some_and(|(folder, root)| folder.starts_with(root))
    };
    let mut paths = Vec::new();
    for folder in folders.iter().filter(|folder| may_leave || is_inside(folder)) {
        let folder = if folder == "." { "" } else { folder };
        collect_sources(root, folder, MAX_FOLDER_DEPTH, &mut paths);
    }
    paths
}

/// Returns the part of a unit that does not depend on changed sources. Without ASTs, the imports are unknown.
fn keep_fresh_part(unit: &SolidityBuild, changed: &[StaleFile]) -> Option<SolidityBuild> {
    let mut importers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in &unit.sources {
        let nodes = source.ast.as_ref()?.get("nodes")?.as_array()?;
        for node in nodes.iter().filter(|node| node["nodeType"] == "ImportDirective") {
            let imported = node["absolutePath"].as_str()?;
            importers.entry(imported).or_default().push(&source.path);
        }
    }
    let changed: HashSet<_> = changed.iter().map(|file| file.path.as_str()).collect();
    let is_changed = |path: &str| changed.contains(strip_project_prefix(path));
    let mut open: Vec<&str> =
        unit.sources.iter().map(|it| it.path.as_str()).filter(|path| is_changed(path)).collect();
    let mut affected = BTreeSet::new();
    while let Some(path) = open.pop() {
        if affected.insert(path) {
            open.extend(importers.get(path).into_iter().flatten());
        }
    }
    let mut part = unit.clone();
    part.sources.retain(|source| !affected.contains(source.path.as_str()));
    part.contracts.retain(|contract| !affected.contains(contract.source.as_str()));
    Some(part)
}

/// Returns the source paths of the contracts in a build.
fn contract_paths(unit: &SolidityBuild) -> impl Iterator<Item = &str> {
    unit.contracts.iter().map(|contract| strip_project_prefix(&contract.source))
}

fn collect_sources(root: &Path, folder: &str, depth: usize, paths: &mut Vec<String>) {
    for entry in root.join(folder).read_dir().into_iter().flatten().filter_map(Result::ok) {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        // Symbolic links are not followed, because they may form a cycle.
        let Ok(kind) = entry.file_type() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if kind.is_dir() && depth > 0 {
            collect_sources(root, &path, depth - 1, paths);
        } else if kind.is_file() && name.ends_with(".sol") && paths.len() < MAX_FILES {
            paths.push(path);
        }
    }
}

/// Returns true if a line begins like a contract definition. Files with only free functions, errors and constants
/// produce no contract.
fn defines_contracts(path: &Path) -> bool {
    const BEGINNINGS: [&str; 4] = ["contract ", "abstract contract ", "library ", "interface "];
    let text = bounded_file::read_text(path, bounded_file::MAX_SOURCE).unwrap_or_default();
    text.lines().any(|line| BEGINNINGS.iter().any(|word| line.trim_start().starts_with(word)))
}

//! Compiles the sources of a project with the built-in driver.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use globset::GlobSet;

use super::artifacts::list_sources;
use super::{BuildTarget, FoundryConfig};
use crate::driver::{
    self, CompileRequest, FoundFiles, FoundSource, ImportResolver, LibraryIndex, SolcSettings,
};
use crate::load::LoadedBuild;
use crate::remappings::{RemappingTable, load_remappings};
use crate::{LoadError, Toolchain};

/// Folders of the sources of a Hardhat project.
pub(super) const HARDHAT_FOLDERS: [&str; 2] = ["contracts", "test"];

/// Compiles a project: the sources that define the wanted contract, otherwise all.
pub(super) fn compile_project(
    root: &Path,
    config: Option<&FoundryConfig>,
    target: BuildTarget<'_>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    let real = root
        .canonicalize()
        .map_err(|source| LoadError::Unreadable { path: root.to_owned(), source })?;
    let resolver = create_resolver(&real, None, config, toolchain)?;
    let folders = match config {
        Some(config) => vec![config.src.clone(), config.test.clone()],
        None => HARDHAT_FOLDERS.map(str::to_owned).to_vec(),
    };
    let skipped = config.map_or_else(|| Ok(GlobSet::empty()), FoundryConfig::skip_patterns)?;
    let may_leave = toolchain.project.allows_settings(root);
    let mut names = list_sources(&real, &folders, may_leave);
    names.sort();
    names.dedup();
    // A folder above may be a source folder too, so that libraries are below it.
    let libs = config.map(|config| config.libs.as_slice()).unwrap_or_default();
    let libs: HashSet<_> = libs.iter().map(Path::new).collect();
    let is_library = |name: &str| Path::new(name).ancestors().any(|folder| libs.contains(folder));
    let is_left_out = |name: &str| {
        skipped.is_match(name) || is_library(name) || name.starts_with("node_modules/")
    };
    names.retain(|name| !is_left_out(name));
    names = select_entries(&real, names, config, target, may_leave);
    let entries = names.into_iter().filter_map(|name| {
        let path = resolver.find_file(&name)?;
        Some(FoundSource { name, path })
    });
    let request = CompileRequest {
        path: root,
        entries: entries.collect(),
        resolver,
        settings: SolcSettings::new(config, &toolchain.options),
        pinned: config.and_then(FoundryConfig::pinned_version),
    };
    Ok(driver::compile_sources(request, toolchain)?.into())
}

/// Returns the sources that define the wanted contract. If none does, every source is compiled, so that the error can
/// name similar contracts.
fn select_entries(
    root: &Path,
    names: Vec<String>,
    config: Option<&FoundryConfig>,
    target: BuildTarget<'_>,
    may_leave: bool,
) -> Vec<String> {
    if target.contract.is_none() {
        return names;
    }
    let is_wanted = |name: &&String| target.is_defined_in(root, name);
    // A script may be fuzzed if it is named, but is not compiled otherwise.
    let scripts =
        config.map(|config| list_sources(root, std::slice::from_ref(&config.script), may_leave));
    let found: Vec<_> = names.iter().filter(is_wanted).cloned().collect();
    let found = if found.is_empty() {
        scripts.into_iter().flatten().filter(|name| is_wanted(&name)).collect()
    } else {
        found
    };
    if found.is_empty() { names } else { found }
}

/// Creates the resolver of the imports of a project. `root` is canonical, and `own` a folder that is searched too.
pub(crate) fn create_resolver(
    root: &Path,
    own: Option<&Path>,
    config: Option<&FoundryConfig>,
    toolchain: &Toolchain,
) -> Result<ImportResolver, LoadError> {
    // Only a trusted project may name folders outside of it.
    let may_leave = toolchain.project.allows_settings(root);
    let given = load_remappings(root, &toolchain.options.remappings, config, may_leave)?;
    // A compiler may read every folder in the list, also where a link leads out of the project.
    let is_inside = |folder: &PathBuf| {
        folder.is_dir() && folder.canonicalize().is_ok_and(|real| real.starts_with(root))
    };
    let modules = Some(root.join("node_modules")).filter(is_inside);
    let includes = config.map(|config| config.include_paths.as_slice()).unwrap_or_default();
    let includes = includes.iter().map(|folder| root.join(folder)).filter(is_inside);
    let mut resolver = ImportResolver {
        root: root.to_owned(),
        include_folders: own
            .map(Path::to_owned)
            .into_iter()
            .chain(includes)
            .chain(modules)
            .collect(),
        allowed: Vec::new(),
        remappings: RemappingTable::new(given.remappings),
        libraries: LibraryIndex::new(given.libraries),
        known: FoundFiles::default(),
    };
    if let Some(config) = config.filter(|_| may_leave) {
        let targets =
            resolver.remappings.iter().filter(|it| it.context.is_empty()).map(|it| &it.target);
        let named = config.libs.iter().chain(&config.allow_paths).chain(&config.include_paths);
        let folders =
            named.chain(targets).filter_map(|folder| root.join(folder).canonicalize().ok());
        resolver.allowed =
            folders.filter(|folder| folder.is_dir() && folder.parent().is_some()).collect();
    }
    Ok(resolver)
}

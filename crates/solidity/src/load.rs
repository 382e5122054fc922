//! Entry point: determines the kind of a path and loads it.

use std::path::{Path, PathBuf};

use crate::driver::{self, CompileRequest, FoundSource, SolcSettings};
use crate::project::{BuildTarget, FoundryConfig, ProjectKind};
use crate::staleness::{self, SourceRoots};
use crate::{
    LoadError, SolidityBuild, StaleBuild, Toolchain, bounded_file, format, merge, project,
};

/// A build, with remarks on how it was made.
#[derive(Clone, Debug, Default)]
pub struct LoadedBuild {
    pub build: SolidityBuild,
    /// Remarks for the user, such as settings that have no effect.
    pub notes: Vec<String>,
}

impl From<SolidityBuild> for LoadedBuild {
    fn from(build: SolidityBuild) -> Self {
        Self { build, notes: Vec::new() }
    }
}

/// Loads a build from `path`: a `.sol` file (which is compiled), a Foundry or Hardhat project, or compiler output.
///
/// Stale artifacts are never used. If `forge` is available, it rebuilds them; otherwise the sources are compiled with the
/// compilers that they need. Errors if that is not possible, and if the build has no contracts.
pub fn load_build(path: &Path, toolchain: &Toolchain) -> Result<SolidityBuild, LoadError> {
    load_contract_build(path, None, toolchain).map(|loaded| loaded.build)
}

/// Loads a build as [`load_build`] does, of which only the contract called `contract` (or `path:Name`) is needed. What
/// that contract does not import may be missing.
pub fn load_contract_build(
    path: &Path,
    contract: Option<&str>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    let metadata = path.metadata().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound(path.to_owned()),
        _ => LoadError::Unreadable { path: path.to_owned(), source },
    })?;
    let loaded = match (metadata.is_dir(), file_extension(path)) {
        (true, _) => load_folder(path, contract, toolchain)?,
        (false, Some("sol")) => load_source(path, toolchain)?,
        (false, Some("json")) => load_output(path, toolchain)?.into(),
        (false, _) => return Err(LoadError::UnknownFile(path.to_owned())),
    };
    match loaded.build.contracts.is_empty() {
        true => Err(LoadError::NoContract(path.to_owned())),
        false => Ok(loaded),
    }
}

fn file_extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// Loads a project, or an export folder of crytic-compile.
fn load_folder(
    path: &Path,
    contract: Option<&str>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    let export = path.join("combined_solc.json");
    match ProjectKind::detect(path) {
        Some(kind) => project::load_project(kind, path, BuildTarget::contract(contract), toolchain),
        None if export.is_file() => {
            if !toolchain.project.allows_settings(path) {
                bounded_file::check_contained(path, &export)?;
            }
            load_output(&export, toolchain).map(LoadedBuild::from)
        }
        None => Err(LoadError::UnknownFolder(path.to_owned())),
    }
}

/// Compiles a source file. If no compiler suits, the artifacts of its project are used, or `forge` builds it.
fn load_source(path: &Path, toolchain: &Toolchain) -> Result<LoadedBuild, LoadError> {
    let limit = toolchain.limit.as_deref();
    let base = toolchain.options.base_path.clone();
    let root = base.unwrap_or_else(|| project::find_project_root(path, limit));
    let real = |path: &Path| -> Result<PathBuf, LoadError> {
        path.canonicalize()
            .map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })
    };
    let (whole, root) = (real(path)?, real(&root)?);
    let config = FoundryConfig::read(&root, toolchain.profile.as_deref())?;
    let name = source_name(&whole, &root);
    let error = match compile_file(path, &whole, &name, &root, config.as_ref(), toolchain) {
        Ok(loaded) => return Ok(loaded),
        Err(error) => error,
    };
    match (error.missing_compiler(), config) {
        (Some(_), Some(_)) => {
            let target = BuildTarget { contract: None, source: Some(&name) };
            match project::load_built_project(&root, target, toolchain) {
                Some(Err(LoadError::NotBuilt { .. } | LoadError::Stale(_))) | None => Err(error),
                Some(built) => built,
            }
        }
        _ => Err(error),
    }
}

fn compile_file(
    path: &Path,
    whole: &Path,
    name: &str,
    root: &Path,
    config: Option<&FoundryConfig>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    // Sources often import neighbors without `./`, which the compiler resolves from the root.
    let own = whole.parent().filter(|folder| *folder != root && folder.starts_with(root));
    let resolver = project::create_resolver(root, own, config, toolchain)?;
    let request = CompileRequest {
        path,
        entries: vec![FoundSource { name: name.to_owned(), path: whole.to_owned() }],
        resolver,
        settings: SolcSettings::new(config, &toolchain.options),
        pinned: config.and_then(FoundryConfig::pinned_version),
    };
    let notes = config.map(FoundryConfig::list_ineffective).unwrap_or_default();
    Ok(LoadedBuild { build: driver::compile_sources(request, toolchain)?, notes })
}

/// Returns the path of the file for the compiler, from which relative imports are resolved.
fn source_name(file: &Path, root: &Path) -> String {
    match file.strip_prefix(root) {
        Ok(below) => {
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            parts.join("/")
        }
        Err(_) => file.to_string_lossy().into_owned(),
    }
}

/// Loads compiler output. Its sources are searched in the folder of the file and two levels above, as for
/// `out/build-info`.
fn load_output(path: &Path, toolchain: &Toolchain) -> Result<SolidityBuild, LoadError> {
    let whole = path
        .canonicalize()
        .map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
    let is_inside =
        |folder: &&Path| toolchain.limit.as_ref().is_none_or(|limit| folder.starts_with(limit));
    let folders: Vec<_> = whole.ancestors().skip(1).take(3).take_while(is_inside).collect();
    let is_trusted = folders.iter().any(|folder| toolchain.project.allows_settings(folder));
    let disk = SourceRoots::new(folders).with_containment(!is_trusted);
    let mut units = format::read_output(path)?;
    for unit in &mut units {
        let files = staleness::find_stale_sources(unit, &disk, staleness::modified_time(path), &[]);
        if !files.is_empty() {
            return Err(StaleBuild { artifact: path.to_owned(), files, command: None }.into());
        }
        staleness::fill_source_texts(unit, &disk);
    }
    Ok(merge::merge_units(units))
}

//! Entry point: determines the kind of a path and loads it.

use std::path::Path;

use crate::staleness::{self, SourceRoots};
use crate::{
    LoadError, SolidityBuild, StaleBuild, Toolchain, bounded_file, compile, format, merge, project,
};

/// Loads a build from `path`: a `.sol` file (which is compiled), a Foundry or Hardhat project, or compiler output.
///
/// Stale artifacts are never used. If `forge` is available, it rebuilds them; otherwise the error lists the files and
/// the command. Errors if the build has no contracts.
pub fn load_build(path: &Path, toolchain: &Toolchain) -> Result<SolidityBuild, LoadError> {
    let metadata = path.metadata().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound(path.to_owned()),
        _ => LoadError::Unreadable { path: path.to_owned(), source },
    })?;
    let build = match (metadata.is_dir(), file_extension(path)) {
        (true, _) => load_folder(path, toolchain)?,
        (false, Some("sol")) => load_source(path, toolchain)?,
        (false, Some("json")) => load_output(path, toolchain)?,
        (false, _) => return Err(LoadError::UnknownFile(path.to_owned())),
    };
    match build.contracts.is_empty() {
        true => Err(LoadError::NoContract(path.to_owned())),
        false => Ok(build),
    }
}

fn file_extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// Loads a project, or an export folder of crytic-compile.
fn load_folder(path: &Path, toolchain: &Toolchain) -> Result<SolidityBuild, LoadError> {
    let export = path.join("combined_solc.json");
    match project::ProjectKind::detect(path) {
        Some(kind) => project::load_project(kind, path, toolchain),
        None if export.is_file() => {
            if !toolchain.project.allows_settings(path) {
                bounded_file::check_contained(path, &export)?;
            }
            load_output(&export, toolchain)
        }
        None => Err(LoadError::UnknownFolder(path.to_owned())),
    }
}

/// Compiles a source file. If no compiler is found, `forge` builds the whole Foundry project of the file.
fn load_source(path: &Path, toolchain: &Toolchain) -> Result<SolidityBuild, LoadError> {
    let limit = toolchain.limit.as_deref();
    let base = toolchain.options.base_path.clone();
    let root = base.unwrap_or_else(|| project::find_project_root(path, limit));
    match toolchain.find_compiler(&root) {
        Ok(compiler) => compile::compile_file(path, &root, &compiler, toolchain),
        Err(error) if error.is_missing_compiler() && root.join("foundry.toml").is_file() => {
            match toolchain.find_forge(&root) {
                Some(_) => project::load_project(project::ProjectKind::Foundry, &root, toolchain),
                None => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
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

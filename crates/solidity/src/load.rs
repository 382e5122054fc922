//! What a path is, and who reads it.

use std::path::Path;

use crate::fresh::{self, Disk};
use crate::{Build, LoadError, Stale, Toolchain, compile, format, merge, project};

/// Gives what was compiled from `path`: a `.sol` file (which is compiled now), a Foundry or Hardhat project, or the
/// output of a compiler.
///
/// Artefacts that are older than their sources are never used: where `forge` is there it builds anew, else the error
/// names the files and the command.
pub fn load(path: &Path, toolchain: &Toolchain) -> Result<Build, LoadError> {
    let metadata = path.metadata().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => LoadError::Missing(path.to_owned()),
        _ => LoadError::Unreadable { path: path.to_owned(), source },
    })?;
    let build = match (metadata.is_dir(), extension(path)) {
        (true, _) => folder(path, toolchain)?,
        (false, Some("sol")) => source(path, toolchain)?,
        (false, Some("json")) => output(path)?,
        (false, _) => return Err(LoadError::UnknownFile(path.to_owned())),
    };
    match build.contracts.is_empty() {
        true => Err(LoadError::NoContract(path.to_owned())),
        false => Ok(build),
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// A project, or the folder to which crytic-compile exports.
fn folder(path: &Path, toolchain: &Toolchain) -> Result<Build, LoadError> {
    let export = path.join("combined_solc.json");
    match project::Kind::of(path) {
        Some(kind) => project::load(kind, path, toolchain),
        None if export.is_file() => output(&export),
        None => Err(LoadError::UnknownFolder(path.to_owned())),
    }
}

/// Without a compiler of its own, a file of a Foundry project can still be built by `forge`, with all the others.
fn source(path: &Path, toolchain: &Toolchain) -> Result<Build, LoadError> {
    let root = toolchain.options.base_path.clone().unwrap_or_else(|| project::root_of(path));
    match toolchain.compiler(&root) {
        Ok(compiler) => compile::file(path, &root, &compiler, &toolchain.options),
        Err(error) if error.is_absence() && root.join("foundry.toml").is_file() => {
            match toolchain.forge() {
                Some(_) => project::load(project::Kind::Foundry, &root, toolchain),
                None => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// A compiler's output. Its sources are looked for beside it, and up to where `out/build-info` belongs.
fn output(path: &Path) -> Result<Build, LoadError> {
    let whole = std::path::absolute(path)
        .map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
    let disk = Disk::new(whole.ancestors().skip(1).take(3));
    let mut units = format::read(path)?;
    for unit in &mut units {
        let files = fresh::changed(unit, &disk, fresh::modified(path), &[]);
        if !files.is_empty() {
            return Err(Stale { artefact: path.to_owned(), files, command: None }.into());
        }
        fresh::fill_texts(unit, &disk);
    }
    Ok(merge::merge(units))
}

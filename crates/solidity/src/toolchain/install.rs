//! Installing the npm package `solc` into the user's cache.
//!
//! ```text
//! <cache>/solc/0.8.37/node_modules/solc/   complete, or not there
//! <cache>/solc/.installing-XXXXXX/         in the making; renamed when complete
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::{ToolError, is_package, run};
use crate::read;

/// The version that is installed where nobody names one.
pub const DEFAULT_SOLC: &str = "0.8.37";

/// npm says little on its standard output.
const MAX_OUTPUT: u64 = 1 << 20;

/// Why a compiler was not installed. Nothing is left of it then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    #[error("`{0}` is not a version of solc; expected three numbers, such as `{DEFAULT_SOLC}`")]
    NotAVersion(String),
    #[error("cannot write to the cache `{}`", .folder.display())]
    Cache { folder: PathBuf, source: io::Error },
    #[error("npm did not install solc {version}")]
    Npm { version: String, source: ToolError },
    #[error("npm installed something else than solc {version}")]
    NotThere { version: String },
}

/// Installs a version with `npm`, and gives the folder of the package. One that is there already is left as it is.
pub fn install(version: &str, cache: &Path, npm: &Path) -> Result<PathBuf, InstallError> {
    if numbers(version).is_none() {
        return Err(InstallError::NotAVersion(version.to_owned()));
    }
    let versions = versions_folder(cache);
    let target = versions.join(version);
    let package = package_in(&target);
    if is_version(&package, version) {
        return Ok(package);
    }
    let unwritable = |source| InstallError::Cache { folder: versions.clone(), source };
    std::fs::create_dir_all(&versions).map_err(unwritable)?;
    let making = tempfile::Builder::new()
        .prefix(".installing-")
        .tempdir_in(&versions)
        .map_err(unwritable)?;
    run_npm(npm, making.path(), version)?;
    if !is_version(&package_in(making.path()), version) {
        return Err(InstallError::NotThere { version: version.to_owned() });
    }
    match std::fs::rename(making.path(), &target) {
        // There is nothing at the old place any more that the guard could remove.
        Ok(()) => drop(making.keep()),
        // Another process was faster, which comes to the same.
        Err(_) if is_version(&package, version) => {}
        Err(source) => return Err(unwritable(source)),
    }
    Ok(package)
}

/// The folder that has one folder for each version.
pub(super) fn versions_folder(cache: &Path) -> PathBuf {
    cache.join("solc")
}

fn package_in(folder: &Path) -> PathBuf {
    folder.join("node_modules").join("solc")
}

/// `0.8.37` as numbers, by which versions are ordered.
pub(super) fn numbers(version: &str) -> Option<[u32; 3]> {
    let parts: Vec<_> = version.split('.').map(number).collect::<Option<_>>()?;
    parts.try_into().ok()
}

fn number(digits: &str) -> Option<u32> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn run_npm(npm: &Path, folder: &Path, version: &str) -> Result<(), InstallError> {
    let failed = |source| InstallError::Npm { version: version.to_owned(), source };
    let mut command = Command::new(npm);
    command
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .arg(format!("solc@{version}"))
        .current_dir(folder);
    let finished = run(command, &[], MAX_OUTPUT).map_err(failed)?;
    match finished.status.success() {
        true => Ok(()),
        false => Err(failed(ToolError::Failed {
            program: npm.to_owned(),
            status: finished.status.to_string(),
            said: finished.said(),
        })),
    }
}

fn is_version(package: &Path, version: &str) -> bool {
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    let text = read::text(&package.join("package.json"), read::MAX_CONFIG).unwrap_or_default();
    let told = serde_json::from_str::<Package>(&text);
    is_package(package) && told.is_ok_and(|told| told.version == version)
}

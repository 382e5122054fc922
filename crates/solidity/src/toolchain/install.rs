//! Installs the npm package `solc` into the user's cache.
//!
//! ```text
//! <cache>/solc/0.8.37/node_modules/solc/   complete if present
//! <cache>/solc/.installing-XXXXXX/         in progress; renamed when complete
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::{ProgramLimits, ToolchainError, is_package, run_program};
use crate::{SolcVersion, bounded_file};

/// Version that is installed by default.
pub const DEFAULT_SOLC: &str = "0.8.37";

/// Maximum bytes of npm's standard output, which is short.
const MAX_OUTPUT: u64 = 1 << 20;
/// Time for npm, which downloads about 10 MB.
const INSTALL_TIME: Duration = Duration::from_secs(15 * 60);

/// Error of [`install_solc`]. A failed installation leaves no files behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    #[error("invalid solc version `{0}`: expected three numbers, such as `{DEFAULT_SOLC}`")]
    InvalidVersion(String),
    #[error("failed to write to the cache `{}`", .folder.display())]
    CacheUnwritable { folder: PathBuf, source: io::Error },
    #[error("npm failed to install solc {version}")]
    NpmFailed { version: String, source: ToolchainError },
    #[error("npm installed a package other than solc {version}")]
    WrongPackage { version: String },
}

/// Installs a version with `npm`, unless it is already installed. `path` are the folders of `$PATH`. Returns the package
/// folder.
pub fn install_solc(
    version: &str,
    cache: &Path,
    npm: &Path,
    path: &[PathBuf],
) -> Result<PathBuf, InstallError> {
    if parse_version(version).is_none() {
        return Err(InstallError::InvalidVersion(version.to_owned()));
    }
    let versions = versions_folder(cache);
    let target = versions.join(version);
    let package = package_in(&target);
    if is_installed(&package, version) {
        return Ok(package);
    }
    let unwritable = |source| InstallError::CacheUnwritable { folder: versions.clone(), source };
    std::fs::create_dir_all(&versions).map_err(unwritable)?;
    let temporary = tempfile::Builder::new()
        .prefix(".installing-")
        .tempdir_in(&versions)
        .map_err(unwritable)?;
    run_npm(npm, temporary.path(), version, path)?;
    if !is_installed(&package_in(temporary.path()), version) {
        return Err(InstallError::WrongPackage { version: version.to_owned() });
    }
    if is_broken(&package, version) {
        std::fs::remove_dir_all(&target).map_err(unwritable)?;
    }
    match std::fs::rename(temporary.path(), &target) {
        // The temporary folder was moved, so its guard must not remove it.
        Ok(()) => drop(temporary.keep()),
        // Another process installed the same version first.
        Err(_) if is_installed(&package, version) => {}
        Err(source) => return Err(unwritable(source)),
    }
    Ok(package)
}

/// Returns the cache folder with one subfolder per version.
pub(super) fn versions_folder(cache: &Path) -> PathBuf {
    cache.join("solc")
}

fn package_in(folder: &Path) -> PathBuf {
    folder.join("node_modules").join("solc")
}

/// Returns the version of the npm package that contains this compiler.
///
/// The package 0.8.7 contains the compiler 0.7.5, and 0.8.14 lacks a file. Both were published again.
pub(super) fn npm_version(version: &str) -> &str {
    match version {
        "0.8.7" => "0.8.7-fixed",
        "0.8.14" => "0.8.14-fixed",
        other => other,
    }
}

/// Parses a version such as `0.8.37` into numbers, which can be ordered.
pub(super) fn parse_version(version: &str) -> Option<[u32; 3]> {
    let parts: Vec<_> = version.split('.').map(parse_version_part).collect::<Option<_>>()?;
    parts.try_into().ok()
}

fn parse_version_part(digits: &str) -> Option<u32> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn run_npm(npm: &Path, folder: &Path, version: &str, path: &[PathBuf]) -> Result<(), InstallError> {
    let failed = |source| InstallError::NpmFailed { version: version.to_owned(), source };
    let mut command = Command::new(npm);
    command
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .arg(format!("solc@{}", npm_version(version)))
        .current_dir(folder);
    let limits = ProgramLimits { output: MAX_OUTPUT, time: INSTALL_TIME };
    let finished = run_program(command, path, &Arc::from(""), limits).map_err(failed)?;
    match finished.status.success() {
        true => Ok(()),
        false => Err(failed(ToolchainError::Failed {
            program: npm.to_owned(),
            status: finished.status.to_string(),
            output: finished.summary(),
        })),
    }
}

/// Returns true if a folder has the package that does not contain the compiler of its version.
pub(super) fn is_broken(package: &Path, version: &str) -> bool {
    npm_version(version) != version && package.exists() && !is_installed(package, version)
}

/// Returns true if a folder is the npm package that contains this compiler.
fn is_installed(package: &Path, version: &str) -> bool {
    is_package(package)
        && read_manifest(package).is_some_and(|manifest| manifest.version == npm_version(version))
}

/// Returns the version of the compiler in a package.
pub(super) fn read_package_version(package: &Path) -> Option<SolcVersion> {
    SolcVersion::parse(&read_manifest(package)?.version)
}

#[derive(Deserialize)]
struct NpmManifest {
    version: String,
}

fn read_manifest(package: &Path) -> Option<NpmManifest> {
    let text = bounded_file::read_text(&package.join("package.json"), bounded_file::MAX_CONFIG);
    serde_json::from_str(&text.ok()?).ok()
}

//! Locations of Solidity compilers, from the environment, and their installation.

use std::path::{Path, PathBuf};

use solidity::{InstallError, Toolchain};

use crate::env::{EnvVar, Environment};
use crate::failure::{Failure, FailureKind, Result};

/// Installs compilers with npm into the user's cache. Nothing else downloads one.
#[derive(Clone, Debug)]
pub struct SolcInstaller {
    pub npm: PathBuf,
    pub cache: PathBuf,
    path: Vec<PathBuf>,
}

impl SolcInstaller {
    /// Errors if there is no cache folder or no npm.
    pub fn from_environment(environment: &Environment) -> Result<Self> {
        let cache = cache_folder(environment).ok_or_else(|| {
            Failure::new("no cache folder: neither HOME nor XDG_CACHE_HOME is set")
                .with_hint("set it: XDG_CACHE_HOME=/tmp/cache vouch solc install")
        })?;
        let path = search_path(environment);
        let toolchain = Toolchain { path, ..Toolchain::default() };
        let npm = toolchain.find_program("npm").ok_or_else(|| {
            Failure::new("`npm` not found on the PATH")
                .with_hint("install Node.js, or use an installed compiler: vouch fuzz --solc PATH")
        })?;
        Ok(Self { npm, cache, path: toolchain.path })
    }

    /// Installs a version, unless it is already installed. Returns its folder.
    pub fn install(&self, version: &str) -> Result<PathBuf> {
        solidity::install_solc(version, &self.cache, &self.npm, &self.path).map_err(install_failure)
    }

    /// Returns the command that installs a version, for display.
    pub fn describe_command(&self, version: &str) -> String {
        let npm = Path::new(&self.npm).display();
        format!("{npm} install --ignore-scripts --no-audit --no-fund solc@{version}")
    }
}

fn install_failure(error: InstallError) -> Failure {
    let (kind, hint) = match &error {
        InstallError::InvalidVersion(_) => {
            (FailureKind::Usage, "pass a version: `vouch solc install 0.8.37`")
        }
        InstallError::CacheUnwritable { .. } => {
            (FailureKind::Operation, "set XDG_CACHE_HOME to another folder")
        }
        _ => (
            FailureKind::Operation,
            "run `npm view solc versions` to check the version and the network",
        ),
    };
    Failure::from(error).with_hint(hint).with_kind(kind)
}

/// Returns the cache folder for installed compilers; `None` if no home folder is set.
pub fn cache_folder(environment: &Environment) -> Option<PathBuf> {
    // The XDG specification ignores relative paths.
    let named = environment.get(EnvVar::CacheHome).map(PathBuf::from).filter(|it| it.is_absolute());
    let home = || environment.get(EnvVar::Home).map(|home| PathBuf::from(home).join(".cache"));
    Some(named.or_else(home)?.join("vouch"))
}

/// Search path of programs if the user's has no usable folder. An empty one would mean the current folder.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns `PATH` without relative folders, for programs that are started.
pub(crate) fn program_path(environment: &Environment) -> String {
    let joined = std::env::join_paths(search_path(environment)).unwrap_or_default();
    let joined = joined.into_string().ok().filter(|joined| !joined.is_empty());
    joined.unwrap_or_else(|| DEFAULT_PATH.to_owned())
}

/// Returns the folders of `PATH`. Relative ones are left out: they would name programs of the current folder, which may be
/// a project that must not run any.
pub fn search_path(environment: &Environment) -> Vec<PathBuf> {
    environment
        .get(EnvVar::Path)
        .map(|path| std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect())
        .unwrap_or_default()
}

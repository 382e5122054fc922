//! Locations of Solidity compilers, from the environment.

use std::path::PathBuf;

use crate::env::{EnvVar, Environment};

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

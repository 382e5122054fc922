//! The locations of Solidity compilers according to the environment.

use std::path::PathBuf;

use crate::env::{Environment, Var};

/// The folder below which compilers are kept.
pub fn cache(environment: &Environment) -> Option<PathBuf> {
    // A relative path is none, says the XDG specification.
    let named = environment.get(Var::CacheHome).map(PathBuf::from).filter(|it| it.is_absolute());
    let home = || environment.get(Var::Home).map(|home| PathBuf::from(home).join(".cache"));
    Some(named.or_else(home)?.join("vouch"))
}

/// The folders in which programs are looked for.
pub fn search_path(environment: &Environment) -> Vec<PathBuf> {
    environment.get(Var::Path).map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
}

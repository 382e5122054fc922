//! Go: packages of the file's module, of local replacements, and of the workspace.

mod manifest;

pub(crate) use self::manifest::GoMod;
use self::manifest::{GoWork, Replaced};
use super::Resolution;
use super::files::{Files, below, folders_above, join, parent};
use crate::import::Import;

/// A module of the project: its name, and where it is.
type Local = (String, String);

pub(super) fn resolve(files: &Files, from: &str, import: &Import) -> Resolution {
    let path = import.specifier.as_str();
    if path.starts_with("./") || path.starts_with("../") {
        return package(files, join(parent(from), path));
    }
    let own = folders_above(from).find_map(|folder| Some((module(files, folder)?, folder)));
    let Some((own, own_folder)) = own else { return external(path, &[]) };
    let workspace = folders_above(from)
        .find_map(|folder| Some(GoWork::parse(folder, &files.read(&below(folder, "go.work"))?)));
    let workspace = workspace.unwrap_or_default();
    let replaced = own.replaced.into_iter().chain(workspace.replaced);
    let replaced = replaced.filter(|replaced| module(files, &replaced.folder).is_some());
    let used = workspace.used.into_iter();
    let used = used.filter_map(|folder| Some((module(files, &folder)?.name, folder)));
    // Of the same name the last counts: modules of the workspace before what replaces them.
    let modules: Vec<Local> = replaced
        .map(|Replaced { name, folder }| (name, folder))
        .chain(used)
        .chain([(own.name, own_folder.to_owned())])
        .collect();
    // The longest name that fits: modules can be nested.
    let fitting = modules
        .iter()
        .filter_map(|(name, folder)| Some((name, folder, rest_of(path, name)?)))
        .max_by_key(|(name, ..)| name.len());
    match fitting {
        Some((_, folder, rest)) => package(files, join(folder, rest)),
        None => external(path, &own.required),
    }
}

fn module(files: &Files, folder: &str) -> Option<GoMod> {
    GoMod::parse(folder, &files.read(&below(folder, "go.mod"))?)
}

fn rest_of<'path>(path: &'path str, module: &str) -> Option<&'path str> {
    let rest = path.strip_prefix(module)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// All sources of a package, without its tests.
fn package(files: &Files, folder: Option<String>) -> Resolution {
    let Some(folder) = folder else { return Resolution::Missing };
    let names = files.list(&folder);
    let sources = names.iter().filter(|name| name.ends_with(".go") && !name.ends_with("_test.go"));
    Resolution::files(sources.filter_map(|name| files.file(&below(&folder, name))).collect())
}

/// A module as `go.mod` requires it; the standard library has no dot in its first name.
fn external(path: &str, required: &[String]) -> Resolution {
    let module = required
        .iter()
        .filter(|module| rest_of(path, module).is_some())
        .max_by_key(|module| module.len());
    Resolution::External(module.map_or(path, String::as_str).to_owned())
}

//! Go resolution: packages of the enclosing module, of local replacements, and of the workspace.

mod go_mod;

pub(crate) use self::go_mod::GoMod;
use self::go_mod::{GoWork, LocalReplacement};
use super::ImportResolution;
use super::project_files::{ProjectFiles, ancestor_folders, child_path, join_path, parent_folder};
use crate::import::Import;

/// Name and folder of a module in the project.
type LocalModule = (String, String);

pub(super) fn resolve_import(
    files: &ProjectFiles,
    from: &str,
    import: &Import,
) -> ImportResolution {
    let path = import.specifier.as_str();
    if path.starts_with("./") || path.starts_with("../") {
        return resolve_package(files, join_path(parent_folder(from), path));
    }
    let own = ancestor_folders(from).find_map(|folder| Some((read_go_mod(files, folder)?, folder)));
    let Some((own, own_folder)) = own else { return resolve_external(path, &[]) };
    let workspace = ancestor_folders(from).find_map(|folder| {
        Some(GoWork::parse(folder, &files.read_text(&child_path(folder, "go.work"))?))
    });
    let workspace = workspace.unwrap_or_default();
    let replaced = own.replaced.into_iter().chain(workspace.replaced);
    let replaced = replaced.filter(|replaced| read_go_mod(files, &replaced.folder).is_some());
    let used = workspace.used.into_iter();
    let used = used.filter_map(|folder| Some((read_go_mod(files, &folder)?.name, folder)));
    // For equal names the last entry wins, so workspace modules take precedence over replacements.
    let modules: Vec<LocalModule> = replaced
        .map(|LocalReplacement { name, folder }| (name, folder))
        .chain(used)
        .chain([(own.name, own_folder.to_owned())])
        .collect();
    // Modules can be nested, so the longest matching name wins.
    let matching = modules
        .iter()
        .filter_map(|(name, folder)| Some((name, folder, strip_module_path(path, name)?)))
        .max_by_key(|(name, ..)| name.len());
    match matching {
        Some((_, folder, rest)) => resolve_package(files, join_path(folder, rest)),
        None => resolve_external(path, &own.required),
    }
}

fn read_go_mod(files: &ProjectFiles, folder: &str) -> Option<GoMod> {
    GoMod::parse(folder, &files.read_text(&child_path(folder, "go.mod"))?)
}

fn strip_module_path<'path>(path: &'path str, module: &str) -> Option<&'path str> {
    let rest = path.strip_prefix(module)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Returns all source files of a package, excluding tests.
fn resolve_package(files: &ProjectFiles, folder: Option<String>) -> ImportResolution {
    let Some(folder) = folder else { return ImportResolution::Missing };
    let names = files.list_folder(&folder);
    let sources = names.iter().filter(|name| name.ends_with(".go") && !name.ends_with("_test.go"));
    ImportResolution::from_files(
        sources.filter_map(|name| files.find_file(&child_path(&folder, name))).collect(),
    )
}

/// Returns the external module of an import path: the longest match in `go.mod`, else the path itself.
fn resolve_external(path: &str, required: &[String]) -> ImportResolution {
    let module = required
        .iter()
        .filter(|module| strip_module_path(path, module).is_some())
        .max_by_key(|module| module.len());
    ImportResolution::External(module.map_or(path, String::as_str).to_owned())
}

//! C and C++ resolution: next to the including file, then in conventional include folders.

use super::ImportResolution;
use super::project_files::{ProjectFiles, ancestor_folders, child_path, join_path, parent_folder};
use crate::import::Import;

const INCLUDE_FOLDERS: [&str; 6] = ["", "include", "src", "inc", "lib", "source"];
/// Maximum number of top-level folders searched for an `include` folder.
const MAX_NEIGHBORS: usize = 200;

pub(super) fn resolve_import(
    files: &ProjectFiles,
    from: &str,
    import: &Import,
) -> ImportResolution {
    let specifier = import.specifier.as_str();
    let system = specifier.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'));
    let name = system.unwrap_or(specifier);
    // An absolute path, or `#include_next`.
    if name.starts_with(['/', '#']) {
        return ImportResolution::Missing;
    }
    if system.is_none()
        && let Some(path) =
            join_path(parent_folder(from), name).and_then(|path| files.find_file(&path))
    {
        return ImportResolution::Files(vec![path]);
    }
    // A `<…>` name without a folder is a system header, even if the project has a file of that name nearby.
    let folders = if system.is_some() && !name.contains('/') {
        &INCLUDE_FOLDERS[1..2]
    } else {
        &INCLUDE_FOLDERS[..]
    };
    for folder in ancestor_folders(from) {
        for include in folders {
            if let Some(path) = join_path(&child_path(folder, include), name)
                .and_then(|path| files.find_file(&path))
            {
                return ImportResolution::Files(vec![path]);
            }
        }
    }
    for neighbor in files.list_folder("").iter().take(MAX_NEIGHBORS) {
        let include = format!("{neighbor}/include");
        if let Some(path) = join_path(&include, name).and_then(|path| files.find_file(&path)) {
            return ImportResolution::Files(vec![path]);
        }
    }
    match system {
        Some(name) => ImportResolution::External(name.to_owned()),
        None => ImportResolution::Missing,
    }
}

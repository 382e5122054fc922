//! C and C++: beside the including file, then in the folders that builds usually name.

use super::Resolution;
use super::files::{Files, below, folders_above, join, parent};
use crate::import::Import;

const INCLUDE_FOLDERS: [&str; 6] = ["", "include", "src", "inc", "lib", "source"];
/// Folders of the root whose own `include` is looked at.
const MAX_NEIGHBOURS: usize = 200;

pub(super) fn resolve(files: &Files, from: &str, import: &Import) -> Resolution {
    let specifier = import.specifier.as_str();
    let system = specifier.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'));
    let name = system.unwrap_or(specifier);
    // A path of this machine, or `#include_next`.
    if name.starts_with(['/', '#']) {
        return Resolution::Missing;
    }
    if system.is_none()
        && let Some(path) = join(parent(from), name).and_then(|path| files.file(&path))
    {
        return Resolution::Files(vec![path]);
    }
    // A name without a folder in `<…>` is the system's, whatever the project has of the same name beside it.
    let folders = if system.is_some() && !name.contains('/') {
        &INCLUDE_FOLDERS[1..2]
    } else {
        &INCLUDE_FOLDERS[..]
    };
    for folder in folders_above(from) {
        for include in folders {
            if let Some(path) =
                join(&below(folder, include), name).and_then(|path| files.file(&path))
            {
                return Resolution::Files(vec![path]);
            }
        }
    }
    for neighbour in files.list("").iter().take(MAX_NEIGHBOURS) {
        let include = format!("{neighbour}/include");
        if let Some(path) = join(&include, name).and_then(|path| files.file(&path)) {
            return Resolution::Files(vec![path]);
        }
    }
    match system {
        Some(name) => Resolution::External(name.to_owned()),
        None => Resolution::Missing,
    }
}

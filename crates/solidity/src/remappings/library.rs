//! Libraries of a Foundry project: the folders in `lib/`, and in the `lib/` of each of them.

use std::collections::BTreeSet;
use std::path::Path;

use super::{ImportRemapping, is_plain_path, normalize_path, read_remappings_file};
use crate::project::FoundryConfig;

/// Maximum number of libraries, and depth of libraries in libraries. Real projects have a few dozen in four levels.
const MAX_LIBRARIES: usize = 2_000;
const MAX_NESTING: usize = 8;
/// Maximum number of folders in which a source is searched to recognize a source folder.
const MAX_SEARCHED: usize = 200;
/// Folders of the sources of a library, in the order of preference.
const SOURCE_FOLDERS: [&str; 2] = ["src", "contracts"];

/// A folder that contains a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LibraryFolder {
    pub(crate) name: String,
    /// Path from the project.
    pub(crate) path: String,
    /// Path of its sources from the project.
    sources: String,
}

/// Returns the libraries in `folders` of the project at `root`. If several have the same name, those nearest to the root
/// come first.
///
/// npm packages are resolved by their own names. A link that leaves the project is not followed, and a folder outside is
/// not searched unless the project `may_leave` its own.
pub(crate) fn find_libraries(
    root: &Path,
    folders: &[String],
    may_leave: bool,
) -> Vec<LibraryFolder> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut level: Vec<_> =
        folders.iter().filter(|it| !it.ends_with("node_modules")).cloned().collect();
    for _ in 0..MAX_NESTING {
        let mut next = Vec::new();
        for folder in level {
            for library in list_libraries(root, &folder, may_leave) {
                let real = root.join(&library.path).canonicalize().unwrap_or_default();
                // A library that links to a folder above would be its own library.
                if found.len() >= MAX_LIBRARIES || !seen.insert(real) {
                    continue;
                }
                next.push(format!("{}/lib", library.path));
                found.push(library);
            }
        }
        level = next;
    }
    found
}

fn list_libraries(root: &Path, folder: &str, may_leave: bool) -> Vec<LibraryFolder> {
    let folder = folder.trim_end_matches('/');
    let whole = root.join(folder);
    // A folder that the user trusts may be outside. What is in it must be below it.
    let Ok(base) = whole.canonicalize() else { return Vec::new() };
    let Ok(root_real) = root.canonicalize() else { return Vec::new() };
    if !may_leave && !base.starts_with(&root_real) {
        return Vec::new();
    }
    let is_inside = |path: &Path| {
        path.canonicalize()
            .is_ok_and(|it| it.is_dir() && (it.starts_with(&root_real) || it.starts_with(&base)))
    };
    let entries = whole.read_dir().into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter(|entry| is_inside(&entry.path()));
    let mut names: Vec<_> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    let library = |name: String| {
        let path = format!("{folder}/{name}");
        let has_sources = |inner: &&&str| {
            let folder = root.join(&path).join(inner);
            is_inside(&folder) && contains_source(&folder)
        };
        let sources = match SOURCE_FOLDERS.iter().find(has_sources) {
            Some(inner) => format!("{path}/{inner}"),
            None => path.clone(),
        };
        LibraryFolder { name, path, sources }
    };
    names.into_iter().take(MAX_LIBRARIES).map(library).collect()
}

/// Returns true if there is a Solidity file below a folder. Links are not followed.
fn contains_source(folder: &Path) -> bool {
    let mut open = vec![folder.to_owned()];
    for _ in 0..MAX_SEARCHED {
        let Some(folder) = open.pop() else { return false };
        for entry in folder.read_dir().into_iter().flatten().filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() && entry.path().extension().is_some_and(|it| it == "sol") {
                return true;
            }
        }
    }
    false
}

impl LibraryFolder {
    /// Returns the remapping of its name to its sources.
    pub(super) fn remapping(&self) -> ImportRemapping {
        let (prefix, target) = (format!("{}/", self.name), format!("{}/", self.sources));
        ImportRemapping { context: String::new(), prefix, target }
    }

    /// Returns the remappings that the library declares, relative to the project. An unreadable file declares none.
    pub(super) fn read_remappings(&self, root: &Path) -> Vec<ImportRemapping> {
        let folder = root.join(&self.path);
        let mut own = read_remappings_file(&folder).unwrap_or_default();
        if let Ok(Some(config)) = FoundryConfig::read(&folder, None) {
            own.extend(config.remappings.iter().filter_map(|text| ImportRemapping::parse(text)));
        }
        let relative =
            own.into_iter().filter(|it| it.context.is_empty() && is_plain_path(&it.target));
        let below = relative.map(|it| {
            let slash = if it.target.ends_with('/') { "/" } else { "" };
            let target =
                format!("{}{slash}", normalize_path(&format!("{}/{}", self.path, it.target)));
            ImportRemapping { target, ..it }
        });
        // Of a library that is not checked out, only the declaration is there.
        below.filter(|it| root.join(&it.target).exists()).collect()
    }

    /// Returns the paths at which a source of the library may be, given its path after the name of the library.
    pub(crate) fn candidates(&self, rest: &str) -> Vec<String> {
        let inner = SOURCE_FOLDERS.iter().map(|inner| format!("{}/{inner}/{rest}", self.path));
        [format!("{}/{rest}", self.path)].into_iter().chain(inner).collect()
    }
}

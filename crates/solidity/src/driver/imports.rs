//! Finds the file of an import, as solc and Foundry do.
//!
//! An import that the remappings resolve to no file is searched among the libraries and in `node_modules` of the folders
//! above its importer. What is found that way is passed to the compiler as a remapping of that import alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::remappings::{ImportRemapping, LibraryFolder, RemappingTable, normalize_path};

/// Maximum places in which imports are searched. The largest public projects need some 50,000.
const MAX_LOOKUPS: usize = 1_000_000;

/// Finds the files of imports.
#[derive(Debug)]
pub(crate) struct ImportResolver {
    /// Canonical path of the project.
    pub(crate) root: PathBuf,
    /// Further folders in which imports are searched, in this order.
    pub(crate) include_folders: Vec<PathBuf>,
    /// Canonical folders outside of the project whose sources may be read.
    pub(crate) allowed: Vec<PathBuf>,
    pub(crate) remappings: RemappingTable,
    pub(crate) libraries: LibraryIndex,
    /// Files by the name of their source.
    pub(crate) known: FoundFiles,
}

/// Libraries by name, in their order.
#[derive(Debug, Default)]
pub(crate) struct LibraryIndex(HashMap<String, Vec<LibraryFolder>>);

impl LibraryIndex {
    pub(crate) fn new(libraries: Vec<LibraryFolder>) -> Self {
        let mut index = Self::default();
        for library in libraries {
            index.0.entry(library.name.clone()).or_default().push(library);
        }
        index
    }
}

/// What was searched, so that nothing is searched twice.
#[derive(Debug, Default)]
pub(crate) struct FoundFiles {
    files: HashMap<String, Option<PathBuf>>,
    lookups: usize,
}

/// A source that was found: its name for the compiler, and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSource {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl ImportResolver {
    /// Returns the source that an import refers to. `None` leaves the import to the compiler, which reports it.
    pub(crate) fn resolve_import(&mut self, importer: &str, import: &str) -> Option<FoundSource> {
        let written = absolute_import(importer, import);
        let name = self.remappings.apply(importer, &written);
        if let Some(path) = self.look_up(&name) {
            return Some(FoundSource { name, path });
        }
        let found = self.search(importer, &written).or_else(|| {
            // solc keeps the extra `..` of a name such as `lib/../../x.sol`, and finds the file nevertheless.
            let normal = normalize_path(&name);
            let path = (normal != name).then(|| self.look_up(&normal)).flatten()?;
            Some(FoundSource { name: normal, path })
        })?;
        let [context, prefix] = [importer, &*written].map(str::to_owned);
        self.remappings.push(ImportRemapping { context, prefix, target: found.name.clone() });
        Some(found)
    }

    /// Searches an import among the libraries, the nearest first, and in `node_modules`.
    fn search(&mut self, importer: &str, import: &str) -> Option<FoundSource> {
        let (library, rest) = import.split_once('/')?;
        let mut named: Vec<_> = self.libraries.0.get(library).into_iter().flatten().collect();
        self.known.lookups += named.len();
        // A library inside the importer's own comes first; otherwise the order stays.
        named.sort_by_key(|it| {
            let holder = it.path.rsplit_once("/lib/").map_or("", |(holder, _)| holder);
            !(holder.contains('/') && importer.starts_with(holder))
        });
        let in_libraries: Vec<_> = named.into_iter().flat_map(|it| it.candidates(rest)).collect();
        let folders = Path::new(importer).ancestors().skip(1);
        let in_modules = folders.map(|it| match it.to_str() {
            Some("") | None => format!("node_modules/{import}"),
            Some(folder) => format!("{folder}/node_modules/{import}"),
        });
        in_libraries.into_iter().chain(in_modules).find_map(|name| {
            let path = self.look_up(&name)?;
            Some(FoundSource { name, path })
        })
    }

    /// Returns true if too many places were searched. Nothing is found from then on.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.known.lookups > MAX_LOOKUPS
    }

    /// Returns what [`Self::find_file`] returns, which it remembers.
    fn look_up(&mut self, name: &str) -> Option<PathBuf> {
        if let Some(known) = self.known.files.get(name) {
            return known.clone();
        }
        self.known.lookups += 1;
        if self.is_exhausted() {
            return None;
        }
        let found = self.find_file(name);
        self.known.files.insert(name.to_owned(), found.clone());
        found
    }

    /// Returns the canonical path of the source with this name, if it exists and may be read.
    pub(crate) fn find_file(&self, name: &str) -> Option<PathBuf> {
        // Only sources are opened: messages of compilers quote them.
        if ![".sol", ".yul"].iter().any(|ending| name.ends_with(ending)) {
            return None;
        }
        let folders = [&self.root].into_iter().chain(&self.include_folders);
        let found = folders.filter_map(|folder| folder.join(name).canonicalize().ok());
        found.filter(|path| path.is_file()).find(|path| self.may_read(path))
    }

    fn may_read(&self, path: &Path) -> bool {
        [&self.root].into_iter().chain(&self.allowed).any(|folder| path.starts_with(folder))
    }
}

/// Returns an import as a name from the root of the project, before remapping.
fn absolute_import(importer: &str, import: &str) -> String {
    if !["./", "../"].iter().any(|beginning| import.starts_with(beginning)) {
        return import.to_owned();
    }
    let folder = importer.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<_> = folder.split('/').collect();
    let mut rest = import;
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            // As in solc, nothing is above the root.
            parts.pop();
            rest = after;
        } else {
            break;
        }
        rest = rest.trim_start_matches('/');
    }
    let is_absolute = importer.starts_with('/');
    let folder = parts.join("/");
    match (folder.as_str(), is_absolute) {
        ("", false) => normalize_path(rest),
        _ => normalize_path(&format!("{folder}/{rest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_imports_begin_at_the_folder_of_their_importer() {
        let cases = [
            ("src/A.sol", "./B.sol", "src/B.sol"),
            ("src/A.sol", "../lib/B.sol", "lib/B.sol"),
            ("src/deep/A.sol", "./../x/../B.sol", "src/B.sol"),
            ("A.sol", "./B.sol", "B.sol"),
            ("A.sol", "../../B.sol", "B.sol"),
            ("/abs/src/A.sol", "../B.sol", "/abs/B.sol"),
            ("src/A.sol", "lib/../B.sol", "lib/../B.sol"),
            ("src/A.sol", "/etc/B.sol", "/etc/B.sol"),
        ];
        for (importer, import, name) in cases {
            assert_eq!(absolute_import(importer, import), name, "{import} in {importer}");
        }
    }
}

//! Assignment of files to the modules of a project, from `project.yaml` or from package manifests.
//!
//! `project.yaml` declares modules and their folders in any of these forms:
//!
//! ```yaml
//! modules:
//!   - name: auth
//!     path: src/server/auth      # or paths: [src/auth, src/login]
//!   - api                        # the folder of that name: api, src/api, packages/api …
//! modules:
//!   auth: src/server/auth        # or a list, or a map with path or paths
//! ```
//!
//! Without `project.yaml`, each package of a workspace is a module. In a project with a single package, each top-level
//! source folder is a module.

use std::collections::BTreeMap;
use std::sync::Arc;

use guard::Guard;
use serde_json::Value;

use crate::resolve::project_files::{ProjectFiles, child_path, join_path};
use crate::resolve::{GoMod, PackageJson};
use crate::yaml::{self, scalar_text, scalar_texts};

/// Accepted locations of `project.yaml`.
const PROJECT_FILES: [&str; 2] = ["project.yaml", "project.yml"];
/// Manifest names that make a folder a package.
const MANIFESTS: [&str; 6] =
    ["Cargo.toml", "package.json", "go.mod", "pyproject.toml", "setup.cfg", "pom.xml"];
/// Maximum folder depth of the search for packages.
const MAX_DEPTH: usize = 4;
/// Maximum number of folders visited by the search for packages.
const MAX_FOLDERS: usize = 3000;
/// Folders that contain dependencies or build output.
const EXCLUDED_FOLDERS: [&str; 9] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "vendor",
    "third_party",
    "venv",
    "site-packages",
    "__pycache__",
];
/// Folders that describe the source layout and therefore never name a module.
const LAYOUT_FOLDERS: [&str; 14] = [
    "src", "lib", "source", "sources", "python", "main", "java", "kotlin", "internal", "pkg",
    "cmd", "app", "packages", "crates",
];

/// The modules of a project, keyed by folder.
#[derive(Clone, Debug, Default)]
pub struct ModuleMap {
    /// Folder and name of each module in `project.yaml`. If not empty, `packages` is not used.
    declared: Vec<(String, String)>,
    /// Name of each package by folder; the root package has the empty folder.
    packages: BTreeMap<String, String>,
}

impl ModuleMap {
    /// Reads `project.yaml` and the package manifests. Unreadable files are ignored.
    pub fn load(guard: &Arc<Guard>) -> Self {
        let files = ProjectFiles::new(Arc::clone(guard));
        let project =
            PROJECT_FILES.iter().find_map(|path| yaml::parse_document(&files.read_text(path)?));
        let declared = project
            .as_ref()
            .and_then(|project| project.get("modules"))
            .map(|modules| parse_declared_modules(&files, modules));
        match declared {
            Some(declared) if !declared.is_empty() => Self { declared, packages: BTreeMap::new() },
            _ => Self { declared: Vec::new(), packages: find_packages(&files) },
        }
    }

    /// Returns `true` if a change to this file can change the result of [`ModuleMap::load`].
    pub fn depends_on(path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        PROJECT_FILES.contains(&path) || MANIFESTS.contains(&name)
    }

    /// Returns the sorted names of declared modules and packages. Modules named after source folders are not included.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .declared
            .iter()
            .map(|(_, name)| name)
            .chain(self.packages.values())
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the name of the module that a file belongs to.
    pub fn find_module(&self, path: &str) -> Option<String> {
        if !self.declared.is_empty() {
            let matching = self.declared.iter().filter(|(folder, _)| is_in_folder(path, folder));
            return matching.max_by_key(|(folder, _)| folder.len()).map(|(_, name)| name.clone());
        }
        let package = self.packages.iter().filter(|(folder, _)| is_in_folder(path, folder));
        let package = package.max_by_key(|(folder, _)| folder.len());
        match package {
            Some((folder, name)) if !folder.is_empty() => Some(name.clone()),
            root => {
                let own = root.map(|(_, name)| name.as_str());
                module_from_folder(path, own).or(own).map(str::to_owned)
            }
        }
    }
}

fn is_in_folder(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the first folder of a path that is neither hidden, a layout folder, nor named after the package.
fn module_from_folder<'path>(path: &'path str, package: Option<&str>) -> Option<&'path str> {
    let (folders, _) = path.rsplit_once('/')?;
    let package = package.map(|name| name.replace('-', "_"));
    folders.split('/').find(|folder| {
        !LAYOUT_FOLDERS.contains(folder)
            && !folder.starts_with('.')
            && package.as_deref() != Some(&folder.replace('-', "_"))
    })
}

/// Parses the `modules:` key in any of its forms into folder and name pairs.
fn parse_declared_modules(files: &ProjectFiles, modules: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |name: &str, paths: Vec<String>| {
        let without_path = paths.is_empty();
        let prefixes = ["", "src/", "packages/", "crates/", "apps/", "libs/", "modules/"];
        let guessed = prefixes.map(|prefix| format!("{prefix}{name}"));
        let guessed = guessed.into_iter().find(|path| files.is_folder(path));
        for path in paths.into_iter().chain(guessed.filter(|_| without_path)) {
            let path = path.trim_end_matches(['*', '/']);
            if let Some(folder) = join_path("", path) {
                found.push((folder, name.to_owned()));
            }
        }
    };
    let paths = |value: &Value| -> Vec<String> {
        ["path", "paths", "folder", "folders", "dir", "root"]
            .iter()
            .filter_map(|key| value.get(key))
            .flat_map(scalar_texts)
            .collect()
    };
    match modules {
        Value::Array(items) => {
            for item in items {
                match item.get("name").and_then(scalar_text) {
                    Some(name) => add(&name, paths(item)),
                    None => scalar_text(item).iter().for_each(|name| add(name, Vec::new())),
                }
            }
        }
        Value::Object(entries) => {
            for (name, value) in entries {
                add(name, scalar_texts(value).into_iter().chain(paths(value)).collect());
            }
        }
        _ => {}
    }
    found
}

/// Returns the package name of every folder that contains a manifest.
fn find_packages(files: &ProjectFiles) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), 0)];
    let mut visited = 0;
    while let Some((folder, depth)) = open.pop() {
        visited += 1;
        if visited > MAX_FOLDERS {
            break;
        }
        let names = files.list_folder(&folder);
        let manifest = MANIFESTS.iter().find(|manifest| names.iter().any(|name| name == *manifest));
        if let Some(manifest) = manifest {
            let name = read_package_name(files, &folder, manifest);
            let last = folder.rsplit('/').next().filter(|name| !name.is_empty());
            if let Some(name) = name.or(last.map(str::to_owned)) {
                found.insert(folder.clone(), name);
            }
        }
        if depth < MAX_DEPTH {
            let inside = names.iter().filter(|name| {
                // Names with a dot are almost always files or hidden folders; skipping them saves a stat call each.
                !name.contains('.') && !EXCLUDED_FOLDERS.contains(&name.as_str())
            });
            let inside = inside.map(|name| child_path(&folder, name));
            open.extend(inside.filter(|path| files.is_folder(path)).map(|path| (path, depth + 1)));
        }
    }
    found
}

/// Returns the package name in a manifest, without its scope or host prefix.
fn read_package_name(files: &ProjectFiles, folder: &str, manifest: &str) -> Option<String> {
    let text = files.read_text(&child_path(folder, manifest))?;
    let name = match manifest {
        "package.json" => PackageJson::parse(&text).name?,
        "go.mod" => strip_version_suffix(GoMod::parse(folder, &text)?.name),
        "Cargo.toml" | "pyproject.toml" => {
            let toml: toml::Table = toml::from_str(&text).ok()?;
            let table = toml
                .get("package")
                .or_else(|| toml.get("project"))
                .or_else(|| toml.get("tool")?.get("poetry"))?;
            table.get("name")?.as_str()?.to_owned()
        }
        _ => return None,
    };
    name.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Removes a trailing major version: `example.com/shop/v2` becomes `example.com/shop`.
fn strip_version_suffix(name: String) -> String {
    let is_version = |last: &str| {
        last.strip_prefix('v')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    match name.rsplit_once('/') {
        Some((shorter, last)) if is_version(last) => shorter.to_owned(),
        _ => name,
    }
}

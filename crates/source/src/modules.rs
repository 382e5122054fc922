//! Which module of the project a file belongs to: as `project.yaml` says, else as its packages lie.
//!
//! `project.yaml` names modules and their folders, in any of these ways:
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
//! Without it a package of a workspace is a module, and in a project of one package the first folder of its sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use guard::Guard;
use serde_json::Value;

use crate::resolve::files::{Files, below, join};
use crate::resolve::{GoMod, PackageJson};
use crate::yaml::{self, scalar_text, scalar_texts};

/// Where `project.yaml` may be.
const PROJECT_FILES: [&str; 3] = ["project.yaml", "project.yml", ".vouch/project.yaml"];
/// Names of manifests that make a folder a package.
const MANIFESTS: [&str; 6] =
    ["Cargo.toml", "package.json", "go.mod", "pyproject.toml", "setup.cfg", "pom.xml"];
/// Packages lie this deep at most, and in this many folders.
const MAX_DEPTH: usize = 4;
const MAX_FOLDERS: usize = 3000;
/// Folders that hold nothing of the project's own.
const FOREIGN: [&str; 9] = [
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
/// Folders that say how sources are kept, not what they are about.
const LAYOUT: [&str; 14] = [
    "src", "lib", "source", "sources", "python", "main", "java", "kotlin", "internal", "pkg",
    "cmd", "app", "packages", "crates",
];

/// The modules of a project, by folder.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    /// From `project.yaml`; then nothing else counts.
    declared: Vec<(String, String)>,
    /// Folder and name of each package, the root's under the empty folder.
    packages: BTreeMap<String, String>,
}

impl Modules {
    /// Reads what there is to know about the project's modules; files that cannot be read say nothing.
    pub fn read(guard: &Arc<Guard>) -> Self {
        let files = Files::new(Arc::clone(guard));
        let project =
            PROJECT_FILES.iter().find_map(|path| yaml::parse_document(&files.read(path)?));
        let declared = project
            .as_ref()
            .and_then(|project| project.get("modules"))
            .map(|modules| declared(&files, modules));
        match declared {
            Some(declared) if !declared.is_empty() => Self { declared, packages: BTreeMap::new() },
            _ => Self { declared: Vec::new(), packages: packages(&files) },
        }
    }

    /// Whether a change of this file can change what [`Modules::read`] finds.
    pub fn depend_on(path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        PROJECT_FILES.contains(&path) || MANIFESTS.contains(&name)
    }

    /// All names, in order, so far as they do not depend on folders.
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

    pub fn of(&self, path: &str) -> Option<String> {
        if !self.declared.is_empty() {
            let fitting = self.declared.iter().filter(|(folder, _)| is_below(path, folder));
            return fitting.max_by_key(|(folder, _)| folder.len()).map(|(_, name)| name.clone());
        }
        let package = self.packages.iter().filter(|(folder, _)| is_below(path, folder));
        let package = package.max_by_key(|(folder, _)| folder.len());
        match package {
            Some((folder, name)) if !folder.is_empty() => Some(name.clone()),
            root => {
                let own = root.map(|(_, name)| name.as_str());
                folder_module(path, own).or(own).map(str::to_owned)
            }
        }
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The first folder that is about something.
fn folder_module<'path>(path: &'path str, package: Option<&str>) -> Option<&'path str> {
    let (folders, _) = path.rsplit_once('/')?;
    let package = package.map(|name| name.replace('-', "_"));
    folders.split('/').find(|folder| {
        !LAYOUT.contains(folder)
            && !folder.starts_with('.')
            && package.as_deref() != Some(&folder.replace('-', "_"))
    })
}

/// What `modules:` says, in any of its forms.
fn declared(files: &Files, modules: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |name: &str, paths: Vec<String>| {
        let named = paths.is_empty();
        let places = ["", "src/", "packages/", "crates/", "apps/", "libs/", "modules/"];
        let guessed = places.map(|place| format!("{place}{name}"));
        let guessed = guessed.into_iter().find(|path| files.is_folder(path));
        for path in paths.into_iter().chain(guessed.filter(|_| named)) {
            let path = path.trim_end_matches(['*', '/']);
            if let Some(folder) = join("", path) {
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

/// Every folder with a manifest, and what the manifest calls it.
fn packages(files: &Files) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = open.pop() {
        looked += 1;
        if looked > MAX_FOLDERS {
            break;
        }
        let names = files.list(&folder);
        let manifest = MANIFESTS.iter().find(|manifest| names.iter().any(|name| name == *manifest));
        if let Some(manifest) = manifest {
            let name = name_in(files, &folder, manifest);
            let last = folder.rsplit('/').next().filter(|name| !name.is_empty());
            if let Some(name) = name.or(last.map(str::to_owned)) {
                found.insert(folder.clone(), name);
            }
        }
        if depth < MAX_DEPTH {
            let inside = names.iter().filter(|name| {
                // A dot elsewhere than in front is a file's ending nearly always; asking would cost one call each.
                !name.contains('.') && !FOREIGN.contains(&name.as_str())
            });
            let inside = inside.map(|name| below(&folder, name));
            open.extend(inside.filter(|path| files.is_folder(path)).map(|path| (path, depth + 1)));
        }
    }
    found
}

/// The package's own name, without the scope or host before it.
fn name_in(files: &Files, folder: &str, manifest: &str) -> Option<String> {
    let text = files.read(&below(folder, manifest))?;
    let name = match manifest {
        "package.json" => PackageJson::parse(&text).name?,
        "go.mod" => without_version(GoMod::parse(folder, &text)?.name),
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

/// `example.com/shop` for `example.com/shop/v2`.
fn without_version(name: String) -> String {
    let is_version = |last: &str| {
        last.strip_prefix('v')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    match name.rsplit_once('/') {
        Some((shorter, last)) if is_version(last) => shorter.to_owned(),
        _ => name,
    }
}

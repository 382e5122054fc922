//! Java: classes to files, in the source folders of this and the other modules of the build.

use std::collections::HashSet;
use std::sync::Arc;

use super::Resolution;
use super::files::{Files, Memory, below, folders_above};
use crate::import::Import;

const SOURCE_FOLDERS: [&str; 8] = [
    "src/main/java",
    "src/test/java",
    "src/main/kotlin",
    "src",
    "java",
    "src/java",
    "app/src/main/java",
    "",
];
/// What makes a folder a module, or the root of a build.
const BUILD_FILES: [&str; 5] =
    ["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
/// Folders that hold no module.
const NO_MODULES: [&str; 5] = ["src", "build", "target", "out", "node_modules"];
/// How deep modules lie below the root of the build, and in how many folders they are looked for.
const MAX_DEPTH: usize = 4;
const MAX_FOLDERS: usize = 2000;
/// A name of more parts is none.
const MAX_PARTS: usize = 64;
/// So many names of a package are somebody's own: `org.apache` is not, `org.apache.kafka` is.
const OWN_NAMES: usize = 3;

#[derive(Default)]
pub(super) struct Java {
    /// By the root of the build: the source folders of all its modules.
    modules: Memory<Arc<[String]>>,
}

impl Java {
    pub(super) fn resolve(&self, files: &Files, from: &str, import: &Import) -> Resolution {
        let parts: Vec<&str> = import.specifier.split('.').collect();
        let (whole, parts) = match parts.split_last() {
            Some((&"*", above)) => (true, above),
            _ => (false, &parts[..]),
        };
        if parts.len() > MAX_PARTS {
            return Resolution::Missing;
        }
        let roots = self.roots(files, from);
        for root in &roots {
            if let Some(path) = class(files, root, parts) {
                return Resolution::Files(vec![path]);
            }
            let found = if whole { package(files, root, parts) } else { Vec::new() };
            if !found.is_empty() {
                return Resolution::files(found);
            }
        }
        let names: Vec<&str> = parts
            .iter()
            .copied()
            .take_while(|part| !part.starts_with(|c: char| c.is_ascii_uppercase()))
            .collect();
        if names.is_empty() || roots.iter().any(|root| is_own(files, root, &names)) {
            return Resolution::Missing;
        }
        Resolution::External(names.join("."))
    }

    /// Where packages may begin: around the file, then in the other modules.
    fn roots(&self, files: &Files, from: &str) -> Vec<String> {
        let mut roots: Vec<String> = folders_above(from).map(str::to_owned).collect();
        for folder in folders_above(from) {
            roots.extend(SOURCE_FOLDERS.iter().map(|source| below(folder, source)));
        }
        if let Some(build) = folders_above(from).filter(|folder| is_built(files, folder)).last() {
            let modules = self.modules.get_or(build, || modules(files, build).into());
            roots.extend(modules.iter().cloned());
        }
        let mut seen = HashSet::new();
        roots.retain(|root| seen.insert(root.clone()) && files.is_folder(root));
        roots
    }
}

fn is_built(files: &Files, folder: &str) -> bool {
    BUILD_FILES.iter().any(|name| files.file(&below(folder, name)).is_some())
}

/// The source folders of the modules below the root of a build. A folder between two modules need not be one.
fn modules(files: &Files, build: &str) -> Vec<String> {
    let mut sources = Vec::new();
    let mut level = vec![build.to_owned()];
    let mut looked = 0;
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for folder in level {
            for name in files.list(&folder).iter() {
                // A dot is a file's ending nearly always; asking would cost one call each.
                if name.contains('.') || NO_MODULES.contains(&name.as_str()) {
                    continue;
                }
                let inside = below(&folder, name);
                looked += 1;
                if looked > MAX_FOLDERS {
                    return sources;
                }
                if !files.is_folder(&inside) {
                    continue;
                }
                if is_built(files, &inside) {
                    let places = SOURCE_FOLDERS[..3].iter().map(|source| below(&inside, source));
                    sources.extend(places.filter(|place| files.is_folder(place)));
                }
                next.push(inside);
            }
        }
        level = next;
    }
    sources
}

/// The file of a class. `a.b.C.D` may be a class in a class, or a member: the longest path that is a file.
fn class(files: &Files, root: &str, parts: &[&str]) -> Option<String> {
    let mut folder = root.to_owned();
    let mut found = None;
    for part in parts {
        let stem = below(&folder, part);
        found = files.file(&format!("{stem}.java")).or(found);
        if !files.is_folder(&stem) {
            break;
        }
        folder = stem;
    }
    found
}

/// All classes of a package.
fn package(files: &Files, root: &str, parts: &[&str]) -> Vec<String> {
    let folder = below(root, &parts.join("/"));
    let names = files.list(&folder);
    let sources = names.iter().filter(|name| name.ends_with(".java"));
    sources.filter_map(|name| files.file(&below(&folder, name))).collect()
}

/// Whether a package is the project's although the class is not there, as one that is generated: its folder is there, or
/// that of a package it is part of.
fn is_own(files: &Files, root: &str, names: &[&str]) -> bool {
    if matches!(names[0], "java" | "javax") {
        return false;
    }
    let mut folder = root.to_owned();
    for (above, name) in names.iter().enumerate() {
        folder = below(&folder, name);
        if !files.is_folder(&folder) {
            return false;
        }
        let has_classes = || files.list(&folder).iter().any(|name| name.ends_with(".java"));
        // One name alone, as `com` or `org`, is nobody's, whatever lies there.
        if above + 1 >= OWN_NAMES || above > 0 && has_classes() {
            return true;
        }
    }
    true
}

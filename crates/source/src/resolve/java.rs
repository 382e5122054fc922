//! Java: classes to files, in the source folders of this and the neighbouring modules.

use super::Resolution;
use super::files::{Files, below, folders_above};
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

/// A name of more parts is none; each part is looked for in each source folder.
const MAX_PARTS: usize = 64;

pub(super) fn resolve(files: &Files, from: &str, import: &Import) -> Resolution {
    let parts: Vec<&str> = import.specifier.split('.').collect();
    if parts.len() > MAX_PARTS {
        return Resolution::Missing;
    }
    let roots = roots(files, from);
    let (whole, parts) = match parts.split_last() {
        Some((&"*", above)) => (true, above),
        _ => (false, &parts[..]),
    };
    for root in &roots {
        // `a.b.C.D` may be a class in a class, or a member: the longest path that is a file.
        for length in (1..=parts.len()).rev() {
            let stem = below(root, &parts[..length].join("/"));
            if let Some(path) = files.file(&format!("{stem}.java")) {
                return Resolution::Files(vec![path]);
            }
        }
        if whole {
            let folder = below(root, &parts.join("/"));
            let names = files.list(&folder);
            let sources = names.iter().filter(|name| name.ends_with(".java"));
            let found: Vec<String> =
                sources.filter_map(|name| files.file(&below(&folder, name))).collect();
            if !found.is_empty() {
                return Resolution::files(found);
            }
        }
    }
    // A package of the project that lacks the class is not somebody else's.
    let package: Vec<&str> = parts
        .iter()
        .copied()
        .take_while(|part| !part.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect();
    let folder = package.join("/");
    let own =
        !package.is_empty() && roots.iter().any(|root| files.is_folder(&below(root, &folder)));
    if own { Resolution::Missing } else { Resolution::External(package.join(".")) }
}

/// Where packages may begin: around the file, then in the modules beside.
fn roots(files: &Files, from: &str) -> Vec<String> {
    let mut roots: Vec<String> = folders_above(from).map(str::to_owned).collect();
    for folder in folders_above(from) {
        roots.extend(SOURCE_FOLDERS.iter().map(|source| below(folder, source)));
    }
    let built = |folder: &str| {
        ["pom.xml", "build.gradle", "build.gradle.kts"]
            .iter()
            .any(|name| files.file(&below(folder, name)).is_some())
    };
    for folder in folders_above(from).filter(|folder| built(folder)) {
        for name in files.list(folder).iter() {
            let module = below(folder, name);
            if !name.starts_with('.') && files.is_folder(&module) && built(&module) {
                roots.extend(SOURCE_FOLDERS[..3].iter().map(|source| below(&module, source)));
            }
        }
    }
    let mut seen = std::collections::HashSet::new();
    roots.retain(|root| seen.insert(root.clone()));
    roots
}

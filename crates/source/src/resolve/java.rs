//! Java resolution: classes and packages in the source folders of all modules of the build.

use std::collections::HashSet;
use std::sync::Arc;

use super::ImportResolution;
use super::project_files::{MemoMap, ProjectFiles, ancestor_folders, child_path};
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
/// Files that make a folder a build module or the root of a build.
const BUILD_FILES: [&str; 5] =
    ["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
/// Folders that are not searched for modules.
const EXCLUDED_FOLDERS: [&str; 5] = ["src", "build", "target", "out", "node_modules"];
/// Maximum depth of modules below the root of the build.
const MAX_DEPTH: usize = 4;
/// Maximum number of folders searched for modules.
const MAX_FOLDERS: usize = 2000;
/// Maximum number of parts in an import; longer ones are missing.
const MAX_PARTS: usize = 64;
/// Number of package name parts that identify one owner: `org.apache.kafka` does, `org.apache` does not.
const OWNER_PARTS: usize = 3;

/// Resolves Java imports.
#[derive(Default)]
pub(super) struct JavaResolver {
    /// Source folders of all modules, keyed by the root of the build.
    modules: MemoMap<Arc<[String]>>,
}

impl JavaResolver {
    pub(super) fn resolve(
        &self,
        files: &ProjectFiles,
        from: &str,
        import: &Import,
    ) -> ImportResolution {
        let parts: Vec<&str> = import.specifier.split('.').collect();
        let (wildcard, parts) = match parts.split_last() {
            Some((&"*", above)) => (true, above),
            _ => (false, &parts[..]),
        };
        if parts.len() > MAX_PARTS {
            return ImportResolution::Missing;
        }
        let roots = self.source_roots(files, from);
        for root in &roots {
            if let Some(path) = find_class(files, root, parts) {
                return ImportResolution::Files(vec![path]);
            }
            let found = if wildcard { list_package(files, root, parts) } else { Vec::new() };
            if !found.is_empty() {
                return ImportResolution::from_files(found);
            }
        }
        let names: Vec<&str> = parts
            .iter()
            .copied()
            .take_while(|part| !part.starts_with(|c: char| c.is_ascii_uppercase()))
            .collect();
        if names.is_empty() || roots.iter().any(|root| is_project_package(files, root, &names)) {
            return ImportResolution::Missing;
        }
        ImportResolution::External(names.join("."))
    }

    /// Returns the folders that may contain the top-level package: those around the file, then those of other modules.
    fn source_roots(&self, files: &ProjectFiles, from: &str) -> Vec<String> {
        let mut roots: Vec<String> = ancestor_folders(from).map(str::to_owned).collect();
        for folder in ancestor_folders(from) {
            roots.extend(SOURCE_FOLDERS.iter().map(|source| child_path(folder, source)));
        }
        if let Some(build) =
            ancestor_folders(from).filter(|folder| has_build_file(files, folder)).last()
        {
            let modules =
                self.modules.get_or_compute(build, || find_module_sources(files, build).into());
            roots.extend(modules.iter().cloned());
        }
        let mut seen = HashSet::new();
        roots.retain(|root| seen.insert(root.clone()) && files.is_folder(root));
        roots
    }
}

fn has_build_file(files: &ProjectFiles, folder: &str) -> bool {
    BUILD_FILES.iter().any(|name| files.find_file(&child_path(folder, name)).is_some())
}

/// Returns the source folders of the modules below the root of a build. Folders between modules need no build file.
fn find_module_sources(files: &ProjectFiles, build: &str) -> Vec<String> {
    let mut sources = Vec::new();
    let mut level = vec![build.to_owned()];
    let mut visited = 0;
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for folder in level {
            for name in files.list_folder(&folder).iter() {
                // Names with a dot are almost always files; skipping them saves a stat call each.
                if name.contains('.') || EXCLUDED_FOLDERS.contains(&name.as_str()) {
                    continue;
                }
                let inside = child_path(&folder, name);
                visited += 1;
                if visited > MAX_FOLDERS {
                    return sources;
                }
                if !files.is_folder(&inside) {
                    continue;
                }
                if has_build_file(files, &inside) {
                    let folders =
                        SOURCE_FOLDERS[..3].iter().map(|source| child_path(&inside, source));
                    sources.extend(folders.filter(|folder| files.is_folder(folder)));
                }
                next.push(inside);
            }
        }
        level = next;
    }
    sources
}

/// Returns the file of a class. `a.b.C.D` may be a nested class or a member, so the longest path that is a file wins.
fn find_class(files: &ProjectFiles, root: &str, parts: &[&str]) -> Option<String> {
    let mut folder = root.to_owned();
    let mut found = None;
    for part in parts {
        let stem = child_path(&folder, part);
        found = files.find_file(&format!("{stem}.java")).or(found);
        if !files.is_folder(&stem) {
            break;
        }
        folder = stem;
    }
    found
}

/// Returns the files of all classes in a package.
fn list_package(files: &ProjectFiles, root: &str, parts: &[&str]) -> Vec<String> {
    let folder = child_path(root, &parts.join("/"));
    let names = files.list_folder(&folder);
    let sources = names.iter().filter(|name| name.ends_with(".java"));
    sources.filter_map(|name| files.find_file(&child_path(&folder, name))).collect()
}

/// Returns `true` if a package belongs to the project although the class is missing, for example a generated class.
///
/// This is the case if the folder of the package, or of a parent package, exists.
fn is_project_package(files: &ProjectFiles, root: &str, names: &[&str]) -> bool {
    if matches!(names[0], "java" | "javax") {
        return false;
    }
    let mut folder = root.to_owned();
    for (above, name) in names.iter().enumerate() {
        folder = child_path(&folder, name);
        if !files.is_folder(&folder) {
            return false;
        }
        let has_classes = || files.list_folder(&folder).iter().any(|name| name.ends_with(".java"));
        // A single name such as `com` or `org` has no owner, even if its folder contains classes.
        if above + 1 >= OWNER_PARTS || above > 0 && has_classes() {
            return true;
        }
    }
    true
}

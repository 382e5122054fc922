//! Python resolution: packages, namespace packages, modules and stubs.
//!
//! Absolute imports start at the folders that contain top-level packages.

use std::collections::HashSet;
use std::sync::Arc;

use super::ImportResolution;
use super::project_files::{MemoMap, ProjectFiles, ancestor_folders, child_path, parent_folder};
use super::stdlib;
use crate::import::Import;

/// Subfolders of a project that may contain its packages.
const SOURCE_FOLDERS: [&str; 4] = ["src", "lib", "python", "source"];
/// Files that declare dependencies.
const REQUIREMENTS: [&str; 6] =
    ["pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "Pipfile", "environment.yml"];
/// Maximum number of subfolders of a namespace package searched for modules.
const MAX_SUBFOLDERS: usize = 100;
/// Maximum number of folders searched for other Python projects.
const MAX_PROJECTS: usize = 200;

/// Resolves Python imports.
#[derive(Default)]
pub(super) struct PythonResolver {
    projects: MemoMap<Arc<[String]>>,
    required: MemoMap<Arc<HashSet<String>>>,
}

/// The target of a dotted name.
enum PythonTarget {
    /// A package; `init` is `None` for a namespace package.
    Package {
        folder: String,
        init: Option<String>,
    },
    Module(String),
    /// A compiled extension module of the project, without source text.
    Extension,
}

impl PythonResolver {
    pub(super) fn resolve(
        &self,
        files: &ProjectFiles,
        from: &str,
        import: &Import,
    ) -> ImportResolution {
        let specifier = import.specifier.as_str();
        let dots = specifier.bytes().take_while(|byte| *byte == b'.').count();
        let names: Vec<&str> =
            specifier[dots..].split('.').filter(|name| !name.is_empty()).collect();
        if dots > 0 {
            let Some(folder) = ancestor_folders(from).nth(dots - 1) else {
                return ImportResolution::Missing;
            };
            return resolve_from_root(files, from, folder, &names, import);
        }
        let Some(top) = names.first().copied() else { return ImportResolution::Missing };
        let standard = stdlib::PYTHON.contains(&top);
        let mut namespace = None;
        let mut own = false;
        for root in self.import_roots(files, from) {
            match find_target(files, from, &root.folder, &[top]) {
                None => {}
                // A folder without `__init__` is used only if no regular module is found in another root.
                Some(PythonTarget::Package { init: None, .. }) => {
                    let found = resolve_from_root(files, from, &root.folder, &names, import);
                    own |= contains_python(files, &child_path(&root.folder, top));
                    if found != ImportResolution::Missing {
                        namespace = namespace.or(Some(found));
                    }
                }
                Some(_) if standard && root.guessed => {}
                Some(_) => return resolve_from_root(files, from, &root.folder, &names, import),
            }
        }
        match namespace {
            Some(found) if !standard => found,
            // A project folder may have the name of an external package, for example `alembic`.
            None if own && !standard && !self.is_required(files, from, top) => {
                ImportResolution::Missing
            }
            _ => ImportResolution::External(top.to_owned()),
        }
    }

    /// Returns `true` if a manifest in an ancestor folder mentions a package.
    fn is_required(&self, files: &ProjectFiles, from: &str, package: &str) -> bool {
        let package = normalize_name(package);
        ancestor_folders(from).any(|folder| {
            let words = self
                .required
                .get_or_compute(folder, || Arc::new(read_manifest_words(files, folder)));
            words.contains(&package)
        })
    }

    /// Returns the folders where absolute imports of a file may start, most likely first.
    fn import_roots(&self, files: &ProjectFiles, from: &str) -> Vec<ImportRoot> {
        let has_init = |folder: &str| {
            files.find_file(&child_path(folder, "__init__.py")).is_some()
                || files.find_file(&child_path(folder, "__init__.pyi")).is_some()
        };
        let mut roots: Vec<ImportRoot> = Vec::new();
        let mut push = |folder: String, guessed: bool| {
            if !roots.iter().any(|root| root.folder == folder) {
                roots.push(ImportRoot { folder, guessed });
            }
        };
        let outside =
            ancestor_folders(from).skip_while(|folder| has_init(folder) && !folder.is_empty());
        for (distance, folder) in outside.enumerate() {
            // The folder is not a package, so the file may be a script that imports its siblings.
            let script = distance == 0 && folder == parent_folder(from) && !folder.is_empty();
            push(folder.to_owned(), script);
            for name in SOURCE_FOLDERS {
                let folder = child_path(folder, name);
                if files.is_folder(&folder) && !has_init(&folder) {
                    push(folder, false);
                }
            }
        }
        for folder in self.find_projects(files).iter() {
            push(folder.clone(), false);
            push(child_path(folder, "src"), false);
        }
        roots
    }

    /// Returns the other Python projects of the repository, up to two folders deep.
    fn find_projects(&self, files: &ProjectFiles) -> Arc<[String]> {
        self.projects.get_or_compute("", || {
            let mut found = Vec::new();
            let mut open = vec![(String::new(), 0)];
            let mut visited = 0;
            while let Some((folder, depth)) = open.pop() {
                for name in files.list_folder(&folder).iter() {
                    let path = child_path(&folder, name);
                    let skipped = name.starts_with('.') || name == "node_modules";
                    if skipped || visited >= MAX_PROJECTS || !files.is_folder(&path) {
                        continue;
                    }
                    visited += 1;
                    let manifests = ["pyproject.toml", "setup.py", "setup.cfg"];
                    if manifests
                        .iter()
                        .any(|name| files.find_file(&child_path(&path, name)).is_some())
                    {
                        found.push(path.clone());
                    }
                    if depth < 1 {
                        open.push((path, depth + 1));
                    }
                }
            }
            found.sort();
            found.into()
        })
    }
}

/// Returns `true` if a folder or one of its subfolders contains Python files.
fn contains_python(files: &ProjectFiles, folder: &str) -> bool {
    let modules = |folder: &str| {
        let names = files.list_folder(folder);
        names.iter().any(|name| name.ends_with(".py") || name.ends_with(".pyi"))
    };
    let names = files.list_folder(folder);
    let inside = names.iter().filter(|name| !name.contains('.')).take(MAX_SUBFOLDERS);
    modules(folder) || inside.map(|name| child_path(folder, name)).any(|inside| modules(&inside))
}

/// Returns all words in the manifests of a folder, normalized by [`normalize_name`].
fn read_manifest_words(files: &ProjectFiles, folder: &str) -> HashSet<String> {
    let texts = REQUIREMENTS.iter().filter_map(|name| files.read_text(&child_path(folder, name)));
    let split = |text: Arc<str>| -> Vec<String> {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c);
        text.split(is_end).map(normalize_name).collect()
    };
    texts.flat_map(split).collect()
}

/// Normalizes a package name, in which case is ignored and `-` equals `_`.
fn normalize_name(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// A folder where absolute imports may start.
struct ImportRoot {
    folder: String,
    /// `true` if the root applies only when the file is run as a script.
    guessed: bool,
}

/// Resolves `from names import import.names` or `import names`, starting at a folder.
fn resolve_from_root(
    files: &ProjectFiles,
    from: &str,
    root: &str,
    names: &[&str],
    import: &Import,
) -> ImportResolution {
    let (folder, init) = match find_target(files, from, root, names) {
        None => return ImportResolution::Missing,
        Some(PythonTarget::Extension) => return ImportResolution::Missing,
        Some(PythonTarget::Module(path)) => return ImportResolution::Files(vec![path]),
        Some(PythonTarget::Package { folder, init }) => (folder, init),
    };
    let mut found: Vec<String> = Vec::new();
    let mut own = import.names.is_empty();
    for name in &import.names {
        let path = match find_target(files, from, &folder, &[name]) {
            Some(PythonTarget::Module(path)) => Some(path),
            Some(PythonTarget::Package { init, .. }) => init,
            Some(PythonTarget::Extension) => continue,
            None => None,
        };
        // A name that is not a module is defined in the package itself.
        own |= path.is_none();
        found.extend(path);
    }
    found.extend(init.filter(|_| own));
    let mut seen = HashSet::new();
    found.retain(|path| seen.insert(path.clone()));
    ImportResolution::from_files(found)
}

/// Follows dotted names down from a folder. Without names, returns the folder itself as a package.
fn find_target(
    files: &ProjectFiles,
    from: &str,
    root: &str,
    names: &[&str],
) -> Option<PythonTarget> {
    let endings = if from.ends_with(".pyi") { [".pyi", ".py"] } else { [".py", ".pyi"] };
    let file = |stem: &str| endings.iter().find_map(|end| files.find_file(&format!("{stem}{end}")));
    let package = |folder: String| {
        let init = file(&child_path(&folder, "__init__"));
        PythonTarget::Package { folder, init }
    };
    let Some((last, above)) = names.split_last() else {
        return files.is_folder(root).then(|| package(root.to_owned()));
    };
    let mut folder = root.to_owned();
    for name in above {
        folder = child_path(&folder, name);
        if !files.is_folder(&folder) {
            return None;
        }
    }
    let path = child_path(&folder, last);
    let init = file(&child_path(&path, "__init__"));
    if init.is_some() {
        return Some(PythonTarget::Package { folder: path, init });
    }
    if let Some(module) = file(&path) {
        return Some(PythonTarget::Module(module));
    }
    if has_extension_module(files, &folder, last) {
        return Some(PythonTarget::Extension);
    }
    files.is_folder(&path).then(|| package(path))
}

/// Returns `true` if a folder has a compiled module such as `name.cpython-312-x86_64-linux-gnu.so`.
fn has_extension_module(files: &ProjectFiles, folder: &str, name: &str) -> bool {
    files.list_folder(folder).iter().any(|entry| {
        entry.strip_prefix(name).is_some_and(|rest| {
            rest.starts_with('.') && (rest.ends_with(".so") || rest.ends_with(".pyd"))
        })
    })
}

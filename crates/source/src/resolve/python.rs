//! Python: packages, namespace packages, modules and stubs; absolute imports start at the folders that hold packages.

use std::collections::HashSet;
use std::sync::Arc;

use super::Resolution;
use super::files::{Files, Memory, below, folders_above, parent};
use super::stdlib;
use crate::import::Import;

/// Beside a project's folder, where its packages may be.
const SOURCE_FOLDERS: [&str; 4] = ["src", "lib", "python", "source"];
/// Where a project says what it needs.
const REQUIREMENTS: [&str; 6] =
    ["pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "Pipfile", "environment.yml"];
/// Folders of a namespace that are looked into for modules.
const MAX_LOOKED: usize = 100;
/// Folders that are looked at for further projects.
const MAX_PROJECTS: usize = 200;

#[derive(Default)]
pub(super) struct Python {
    projects: Memory<Arc<[String]>>,
    required: Memory<Arc<HashSet<String>>>,
}

/// What a dotted name leads to.
enum Found {
    /// A package; its `__init__`, unless it is a namespace.
    Package {
        folder: String,
        init: Option<String>,
    },
    Module(String),
    /// Compiled: the project's, but there is no text.
    Extension,
}

impl Python {
    pub(super) fn resolve(&self, files: &Files, from: &str, import: &Import) -> Resolution {
        let specifier = import.specifier.as_str();
        let dots = specifier.bytes().take_while(|byte| *byte == b'.').count();
        let names: Vec<&str> =
            specifier[dots..].split('.').filter(|name| !name.is_empty()).collect();
        if dots > 0 {
            let Some(folder) = folders_above(from).nth(dots - 1) else {
                return Resolution::Missing;
            };
            return resolve_at(files, from, folder, &names, import);
        }
        let Some(top) = names.first().copied() else { return Resolution::Missing };
        let standard = stdlib::PYTHON.contains(&top);
        let mut namespace = None;
        let mut own = false;
        for root in self.roots(files, from) {
            match find(files, from, &root.folder, &[top]) {
                None => {}
                // A folder without `__init__` counts only where no real module is found elsewhere.
                Some(Found::Package { init: None, .. }) => {
                    let found = resolve_at(files, from, &root.folder, &names, import);
                    own |= holds_python(files, &below(&root.folder, top));
                    if found != Resolution::Missing {
                        namespace = namespace.or(Some(found));
                    }
                }
                Some(_) if standard && root.guessed => {}
                Some(_) => return resolve_at(files, from, &root.folder, &names, import),
            }
        }
        match namespace {
            Some(found) if !standard => found,
            // The folder may share its name with a package: `alembic` keeps its files in one called so.
            None if own && !standard && !self.is_required(files, from, top) => Resolution::Missing,
            _ => Resolution::External(top.to_owned()),
        }
    }

    /// Whether a manifest around a file names a package, in whatever way.
    fn is_required(&self, files: &Files, from: &str, package: &str) -> bool {
        let package = plain(package);
        folders_above(from).any(|folder| {
            let words = self.required.get_or(folder, || Arc::new(words(files, folder)));
            words.contains(&package)
        })
    }

    /// Where absolute imports of a file may start, the likeliest first.
    fn roots(&self, files: &Files, from: &str) -> Vec<Root> {
        let has_init = |folder: &str| {
            files.file(&below(folder, "__init__.py")).is_some()
                || files.file(&below(folder, "__init__.pyi")).is_some()
        };
        let mut roots: Vec<Root> = Vec::new();
        let mut push = |folder: String, guessed: bool| {
            if !roots.iter().any(|root| root.folder == folder) {
                roots.push(Root { folder, guessed });
            }
        };
        let outside =
            folders_above(from).skip_while(|folder| has_init(folder) && !folder.is_empty());
        for (distance, folder) in outside.enumerate() {
            // A folder that is no package: the file may be a script, which sees its neighbours.
            let script = distance == 0 && folder == parent(from) && !folder.is_empty();
            push(folder.to_owned(), script);
            for name in SOURCE_FOLDERS {
                let folder = below(folder, name);
                if files.is_folder(&folder) && !has_init(&folder) {
                    push(folder, false);
                }
            }
        }
        for folder in self.projects(files).iter() {
            push(folder.clone(), false);
            push(below(folder, "src"), false);
        }
        roots
    }

    /// Other Python projects of the same repository, up to two folders down.
    fn projects(&self, files: &Files) -> Arc<[String]> {
        self.projects.get_or("", || {
            let mut found = Vec::new();
            let mut open = vec![(String::new(), 0)];
            let mut looked = 0;
            while let Some((folder, depth)) = open.pop() {
                for name in files.list(&folder).iter() {
                    let path = below(&folder, name);
                    let skipped = name.starts_with('.') || name == "node_modules";
                    if skipped || looked >= MAX_PROJECTS || !files.is_folder(&path) {
                        continue;
                    }
                    looked += 1;
                    let manifests = ["pyproject.toml", "setup.py", "setup.cfg"];
                    if manifests.iter().any(|name| files.file(&below(&path, name)).is_some()) {
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

/// Whether a folder without `__init__` is one of modules: there are some in it, or in one of its own folders.
fn holds_python(files: &Files, folder: &str) -> bool {
    let modules = |folder: &str| {
        let names = files.list(folder);
        names.iter().any(|name| name.ends_with(".py") || name.ends_with(".pyi"))
    };
    let names = files.list(folder);
    let inside = names.iter().filter(|name| !name.contains('.')).take(MAX_LOOKED);
    modules(folder) || inside.map(|name| below(folder, name)).any(|inside| modules(&inside))
}

/// The words of the manifests in a folder, as [`plain`] has them.
fn words(files: &Files, folder: &str) -> HashSet<String> {
    let texts = REQUIREMENTS.iter().filter_map(|name| files.read(&below(folder, name)));
    let split = |text: Arc<str>| -> Vec<String> {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c);
        text.split(is_end).map(plain).collect()
    };
    texts.flat_map(split).collect()
}

/// In the name of a package, case and the kind of line do not count.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

struct Root {
    folder: String,
    /// Only right if the file is run as a script.
    guessed: bool,
}

/// `from names import import.names`, or `import names`, starting at a folder.
fn resolve_at(
    files: &Files,
    from: &str,
    root: &str,
    names: &[&str],
    import: &Import,
) -> Resolution {
    let (folder, init) = match find(files, from, root, names) {
        None => return Resolution::Missing,
        Some(Found::Extension) => return Resolution::Missing,
        Some(Found::Module(path)) => return Resolution::Files(vec![path]),
        Some(Found::Package { folder, init }) => (folder, init),
    };
    let mut found: Vec<String> = Vec::new();
    let mut own = import.names.is_empty();
    for name in &import.names {
        let path = match find(files, from, &folder, &[name]) {
            Some(Found::Module(path)) => Some(path),
            Some(Found::Package { init, .. }) => init,
            Some(Found::Extension) => continue,
            None => None,
        };
        // What is no module is defined in the package itself.
        own |= path.is_none();
        found.extend(path);
    }
    found.extend(init.filter(|_| own));
    let mut seen = HashSet::new();
    found.retain(|path| seen.insert(path.clone()));
    Resolution::files(found)
}

/// Follows dotted names down from a folder. No names: the folder itself, as a package.
fn find(files: &Files, from: &str, root: &str, names: &[&str]) -> Option<Found> {
    let endings = if from.ends_with(".pyi") { [".pyi", ".py"] } else { [".py", ".pyi"] };
    let file = |stem: &str| endings.iter().find_map(|end| files.file(&format!("{stem}{end}")));
    let package = |folder: String| {
        let init = file(&below(&folder, "__init__"));
        Found::Package { folder, init }
    };
    let Some((last, above)) = names.split_last() else {
        return files.is_folder(root).then(|| package(root.to_owned()));
    };
    let mut folder = root.to_owned();
    for name in above {
        folder = below(&folder, name);
        if !files.is_folder(&folder) {
            return None;
        }
    }
    let path = below(&folder, last);
    let init = file(&below(&path, "__init__"));
    if init.is_some() {
        return Some(Found::Package { folder: path, init });
    }
    if let Some(module) = file(&path) {
        return Some(Found::Module(module));
    }
    if is_extension(files, &folder, last) {
        return Some(Found::Extension);
    }
    files.is_folder(&path).then(|| package(path))
}

/// `name.cpython-312-x86_64-linux-gnu.so` and the like.
fn is_extension(files: &Files, folder: &str, name: &str) -> bool {
    files.list(folder).iter().any(|entry| {
        entry.strip_prefix(name).is_some_and(|rest| {
            rest.starts_with('.') && (rest.ends_with(".so") || rest.ends_with(".pyd"))
        })
    })
}

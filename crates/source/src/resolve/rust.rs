//! Rust resolution: the module tree of each crate, and paths through it.
//!
//! As in the compiler, modules are found by their declarations: `mod a;` makes `a.rs` or `a/mod.rs` a module, and an
//! undeclared file is not a module. A path resolves to the last module it goes through; the remaining names are items
//! of that module. `cargo.rs` provides packages, crate roots and dependencies.

mod cargo;

use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use self::cargo::CargoManifest;
use self::cargo::{CargoPackage, CargoPackages};
use super::ImportResolution;
use super::project_files::{MemoMap, ProjectFiles, child_path, join_path, parent_folder};
use super::stdlib;
use crate::import::{Import, ImportKind};
use crate::language::Language;
use crate::outline::Outline;
use crate::parse_cache::ParseCache;

/// Maximum number of files per crate read to find a module at an unconventional path.
const MAX_SEARCHED: usize = 3000;
/// Maximum number of names in a path; the rest is ignored.
const MAX_STEPS: usize = 64;
/// Maximum number of `use` declarations followed within a file. `use a::b; use b::a;` is a cycle.
const MAX_HOPS: usize = 8;

/// Resolves Rust imports.
pub(super) struct RustResolver {
    parsed: Arc<ParseCache>,
    packages: CargoPackages,
    imports: MemoMap<Arc<Outline>>,
    locations: MemoMap<Option<ModuleLocation>>,
}

/// The crate from which a module is accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModuleAccess {
    SameCrate,
    OtherCrate,
}

/// The location of a module: its file, and the inline modules inside that file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModuleLocation {
    /// Root file of the crate.
    root: String,
    /// Module path from the root.
    path: Vec<String>,
    file: String,
    /// Folder that contains the modules declared in the file.
    folder: String,
    /// Inline modules inside the file.
    within: Vec<String>,
}

impl RustResolver {
    pub(super) fn new(parsed: Arc<ParseCache>) -> Self {
        let packages = CargoPackages::new(Arc::clone(&parsed));
        Self { parsed, packages, imports: MemoMap::default(), locations: MemoMap::default() }
    }

    pub(super) fn resolve(
        &self,
        files: &ProjectFiles,
        from: &str,
        import: &Import,
    ) -> ImportResolution {
        match import.kind {
            ImportKind::Module => {
                ImportResolution::from_file(self.resolve_declaration(files, from, import))
            }
            ImportKind::Include => {
                let path = join_path(parent_folder(from), &import.specifier);
                ImportResolution::from_file(path.and_then(|path| files.find_file(&path)))
            }
            _ => self.resolve_path(files, from, import, MAX_HOPS),
        }
    }

    /// Returns the file of `mod name;`.
    fn resolve_declaration(
        &self,
        files: &ProjectFiles,
        from: &str,
        import: &Import,
    ) -> Option<String> {
        let location =
            self.locate_file(files, from).unwrap_or_else(|| ModuleLocation::without_crate(from));
        find_module_file(files, &location, import).map(|(file, _)| file)
    }

    /// Resolves a `use` path to the file of its last module.
    fn resolve_path(
        &self,
        files: &ProjectFiles,
        from: &str,
        import: &Import,
        hops: usize,
    ) -> ImportResolution {
        let absolute = import.specifier.strip_prefix("::");
        let path = absolute.unwrap_or(&import.specifier);
        let names: Vec<&str> = path.split("::").take(MAX_STEPS).collect();
        let Some((&first, rest)) = names.split_first() else { return ImportResolution::Missing };
        let package = self.packages.find_package(files, from);
        if import.kind == ImportKind::Crate || absolute.is_some() {
            return match first {
                "self" => ImportResolution::Missing,
                _ => self.resolve_in_crate(files, package.as_deref(), from, first, rest),
            };
        }
        if !matches!(first, "crate" | "self" | "super") && stdlib::RUST.contains(&first) {
            return ImportResolution::External(first.to_owned());
        }
        let Some(location) = self.locate_file(files, from) else {
            // The file is undeclared, or declared inside a macro. Only its path indicates its module.
            let start = match first {
                "crate" => self.find_crate_root(files, package.as_deref(), from, rest),
                "super" => {
                    let levels = names.iter().take_while(|name| **name == "super").count();
                    enclosing_module_file(files, from, levels.saturating_sub(import.within.len()))
                }
                "self" => Some(from.to_owned()),
                _ => return self.resolve_in_crate(files, package.as_deref(), from, first, rest),
            };
            let Some(start) = start else { return ImportResolution::Missing };
            let location = self
                .locate_file(files, &start)
                .unwrap_or_else(|| ModuleLocation::without_crate(&start));
            let rest: Vec<&str> =
                rest.iter().copied().skip_while(|name| *name == "super").collect();
            return ImportResolution::from_file(Some(
                self.follow_names(files, location, &rest).file,
            ));
        };
        let here = self.enter_inline_modules(files, location, &import.within);
        let (start, rest) = match first {
            "crate" => (ModuleLocation::crate_root(&here.root), rest),
            "self" => (here, rest),
            "super" => match self.apply_supers(files, here, &names) {
                Some((location, used)) => (location, &names[used..]),
                None => return ImportResolution::Missing,
            },
            _ => {
                let package = package.as_deref();
                let found = self.resolve_in_scope(files, package, from, &here, &names);
                return found
                    .or_else(|| self.resolve_through_use(files, from, import, &names, hops))
                    .unwrap_or_else(|| resolve_item(package, here, first));
            }
        };
        ImportResolution::from_file(Some(self.follow_names(files, start, rest).file))
    }

    /// Returns the root of the crate that contains a file: the one with the imported module, else the library.
    fn find_crate_root(
        &self,
        files: &ProjectFiles,
        package: Option<&CargoPackage>,
        file: &str,
        path: &[&str],
    ) -> Option<String> {
        let package = package?;
        let has = |root: &String| {
            let root = ModuleLocation::crate_root(root);
            path.first().is_some_and(|name| {
                self.find_submodule(files, &root, name, ModuleAccess::SameCrate).is_some()
            })
        };
        let roots = package.candidate_roots(files, file);
        let inside = |library: &String| file.starts_with(parent_folder(library));
        roots.into_iter().find(has).or_else(|| package.library.clone().filter(inside))
    }

    /// Resolves a path that begins with the name of a module or crate.
    fn resolve_in_scope(
        &self,
        files: &ProjectFiles,
        package: Option<&CargoPackage>,
        from: &str,
        here: &ModuleLocation,
        names: &[&str],
    ) -> Option<ImportResolution> {
        let first = names[0];
        let start = if is_edition_2015(package) {
            ModuleLocation::crate_root(&here.root)
        } else {
            here.clone()
        };
        if self.find_submodule(files, &start, first, ModuleAccess::SameCrate).is_some() {
            return Some(ImportResolution::from_file(Some(
                self.follow_names(files, start, names).file,
            )));
        }
        let found = self.resolve_in_crate(files, package, from, first, &names[1..]);
        (found != ImportResolution::Missing).then_some(found)
    }

    /// Resolves a path that begins with a name imported in the same file: `use a::b; use b::C;`.
    fn resolve_through_use(
        &self,
        files: &ProjectFiles,
        from: &str,
        import: &Import,
        names: &[&str],
        hops: usize,
    ) -> Option<ImportResolution> {
        let hops = hops.checked_sub(1)?;
        let outline = self.read_imports(files, from);
        let imported = outline.imports.iter().find(|other| {
            other.kind == ImportKind::Use
                && *other != import
                && other.specifier.contains("::")
                && other.specifier.rsplit("::").next() == Some(names[0])
        })?;
        let path: Vec<&str> = [&*imported.specifier].iter().chain(&names[1..]).copied().collect();
        let expanded = Import { specifier: path.join("::"), ..imported.clone() };
        Some(self.resolve_path(files, from, &expanded, hops))
    }

    /// Resolves a path that begins with the name of a crate.
    fn resolve_in_crate(
        &self,
        files: &ProjectFiles,
        package: Option<&CargoPackage>,
        from: &str,
        name: &str,
        rest: &[&str],
    ) -> ImportResolution {
        if stdlib::RUST.contains(&name) {
            return ImportResolution::External(name.to_owned());
        }
        let Some(package) = package else { return ImportResolution::External(name.to_owned()) };
        let own = package.library_name() == name && package.library.as_deref() != Some(from);
        let library = if own {
            package.library.clone()
        } else {
            match package.find_dependency(name) {
                None => return ImportResolution::Missing,
                Some(dependency) => {
                    match self.packages.find_local_package(files, package, dependency) {
                        None => return ImportResolution::External(dependency.package.clone()),
                        Some(local) => local.library.clone(),
                    }
                }
            }
        };
        let Some(library) = library else { return ImportResolution::Missing };
        // Only public modules are followed: a private module may have the same name as a public item.
        let mut location = ModuleLocation::crate_root(&library);
        for name in rest {
            match self.find_submodule(files, &location, name, ModuleAccess::OtherCrate) {
                Some(next) => location = next,
                None => break,
            }
        }
        ImportResolution::from_file(Some(location.file))
    }

    /// Follows names as long as they are modules and returns the last module.
    fn follow_names(
        &self,
        files: &ProjectFiles,
        start: ModuleLocation,
        names: &[&str],
    ) -> ModuleLocation {
        let mut location = start;
        for name in names {
            let next = match *name {
                "self" => continue,
                "super" => self
                    .apply_supers(files, location.clone(), &["super"])
                    .map(|(location, _)| location),
                name => self.find_submodule(files, &location, name, ModuleAccess::SameCrate),
            };
            match next {
                Some(next) => location = next,
                None => break,
            }
        }
        location
    }

    /// Returns the module `name` declared in a module.
    fn find_submodule(
        &self,
        files: &ProjectFiles,
        location: &ModuleLocation,
        name: &str,
        access: ModuleAccess,
    ) -> Option<ModuleLocation> {
        let imports = self.read_imports(files, &location.file);
        let imports = &imports.imports;
        let mut path = location.path.clone();
        path.push(name.to_owned());
        let declared = imports
            .iter()
            .filter(|import| import.kind == ImportKind::Module)
            .filter(|import| import.specifier == name && import.within == location.within)
            .filter(|import| import.public || access == ModuleAccess::SameCrate)
            // A module may have one file per platform; the first existing file is used.
            .find_map(|import| find_module_file(files, location, import));
        if let Some((file, folder)) = declared {
            return Some(ModuleLocation {
                root: location.root.clone(),
                path,
                file,
                folder,
                within: Vec::new(),
            });
        }
        let mut within = location.within.clone();
        within.push(name.to_owned());
        let inline = imports.iter().any(|import| import.within.starts_with(&within));
        inline.then(|| ModuleLocation { path, within, ..location.clone() })
    }

    fn enter_inline_modules(
        &self,
        files: &ProjectFiles,
        location: ModuleLocation,
        within: &[String],
    ) -> ModuleLocation {
        let names: Vec<&str> = within.iter().map(String::as_str).collect();
        self.follow_names(files, location, &names)
    }

    /// Applies the leading `super` names of a path and returns the module and their number.
    fn apply_supers(
        &self,
        files: &ProjectFiles,
        location: ModuleLocation,
        names: &[&str],
    ) -> Option<(ModuleLocation, usize)> {
        let used = names.iter().take_while(|name| **name == "super").count();
        let kept = location.path.len().checked_sub(used)?;
        let names: Vec<&str> = location.path[..kept].iter().map(String::as_str).collect();
        Some((self.follow_names(files, ModuleLocation::crate_root(&location.root), &names), used))
    }

    /// Returns the module of a file, or `None` if no crate declares it.
    fn locate_file(&self, files: &ProjectFiles, file: &str) -> Option<ModuleLocation> {
        self.locations.get_or_compute(file, || {
            let package = self.packages.find_package(files, file)?;
            if package.is_crate_root(files, file) {
                return Some(ModuleLocation::crate_root(file));
            }
            let roots = package.candidate_roots(files, file);
            let by_position = roots.iter().find_map(|root| self.locate_by_path(files, root, file));
            by_position
                .or_else(|| roots.iter().find_map(|root| self.locate_by_search(files, root, file)))
        })
    }

    /// Returns the module implied by the path of a file, if the declarations agree.
    fn locate_by_path(
        &self,
        files: &ProjectFiles,
        root: &str,
        file: &str,
    ) -> Option<ModuleLocation> {
        let folder = parent_folder(root);
        let inside = match folder {
            "" => file,
            folder => file.strip_prefix(folder)?.strip_prefix('/')?,
        };
        let stem = inside.strip_suffix(".rs")?;
        let stem = stem.strip_suffix("/mod").unwrap_or(stem);
        let names: Vec<&str> = stem.split('/').collect();
        let location = self.follow_names(files, ModuleLocation::crate_root(root), &names);
        (location.file == file && location.path.len() == names.len()).then_some(location)
    }

    /// Searches all modules of a crate for files at unconventional paths, as with `#[path]` or macros.
    fn locate_by_search(
        &self,
        files: &ProjectFiles,
        root: &str,
        file: &str,
    ) -> Option<ModuleLocation> {
        let mut open = VecDeque::from([ModuleLocation::crate_root(root)]);
        let mut seen = std::collections::HashSet::from([root.to_owned()]);
        while let Some(location) = open.pop_front() {
            for import in self.read_imports(files, &location.file).imports.iter() {
                if import.kind != ImportKind::Module || seen.len() > MAX_SEARCHED {
                    continue;
                }
                let Some((found, folder)) = find_module_file(files, &location, import) else {
                    continue;
                };
                let mut path = location.path.clone();
                path.extend(import.within.iter().cloned());
                path.push(import.specifier.clone());
                let root = root.to_owned();
                let next = ModuleLocation { root, path, file: found, folder, within: Vec::new() };
                if next.file == file {
                    return Some(next);
                }
                if seen.insert(next.file.clone()) {
                    open.push_back(next);
                }
            }
        }
        None
    }

    fn read_imports(&self, files: &ProjectFiles, file: &str) -> Arc<Outline> {
        self.imports.get_or_compute(file, || {
            let text = files.read_text(file).unwrap_or_default();
            self.parsed.extract_imports(Language::Rust, &text)
        })
    }
}

impl ModuleLocation {
    fn crate_root(file: &str) -> Self {
        let folder = parent_folder(file).to_owned();
        let (root, file) = (file.to_owned(), file.to_owned());
        Self { root, path: Vec::new(), file, folder, within: Vec::new() }
    }

    /// Returns the location of a file outside any crate. Its submodules are in the folder of its name.
    fn without_crate(file: &str) -> Self {
        let stem = file.strip_suffix("/mod.rs").or(file.strip_suffix(".rs")).unwrap_or(file);
        Self { folder: stem.to_owned(), ..Self::crate_root(file) }
    }
}

/// Resolves a path that begins with an item of the current module, such as an enum.
fn resolve_item(
    package: Option<&CargoPackage>,
    here: ModuleLocation,
    first: &str,
) -> ImportResolution {
    if is_edition_2015(package) {
        ImportResolution::from_file(Some(here.root))
    } else if first.starts_with(char::is_uppercase) {
        ImportResolution::from_file(Some(here.file))
    } else {
        ImportResolution::Missing
    }
}

/// Returns `true` for edition 2015, in which paths begin at the crate root.
fn is_edition_2015(package: Option<&CargoPackage>) -> bool {
    package.is_some_and(|package| package.edition_2015)
}

/// Returns the file of the module `levels` above, derived from folders alone.
fn enclosing_module_file(files: &ProjectFiles, from: &str, levels: usize) -> Option<String> {
    let mut file = from.to_owned();
    for _ in 0..levels {
        let folder = match file.rsplit_once('/') {
            Some((folder, "mod.rs")) => parent_folder(folder),
            Some((folder, _)) => folder,
            None => return None,
        };
        let names = ["mod.rs", "lib.rs", "main.rs"].map(|name| child_path(folder, name));
        let beside = format!("{folder}.rs");
        file = names.iter().chain([&beside]).find_map(|path| files.find_file(path))?;
    }
    Some(file)
}

/// Returns the file of a declared module and the folder of its submodules.
///
/// Submodules are next to a `mod.rs` or a `#[path]` file, else in the folder named after the module.
fn find_module_file(
    files: &ProjectFiles,
    location: &ModuleLocation,
    import: &Import,
) -> Option<(String, String)> {
    let mut folder = location.folder.clone();
    for name in &import.within {
        folder = child_path(&folder, name);
    }
    if let Some(path) = &import.path {
        // `#[path]` is relative to the folder of the file, or of the inline module that contains it.
        let folder = if import.within.is_empty() { parent_folder(&location.file) } else { &folder };
        let file = files.find_file(&join_path(folder, path)?)?;
        let folder = parent_folder(&file).to_owned();
        return Some((file, folder));
    }
    let stem = child_path(&folder, &import.specifier);
    let file = files
        .find_file(&format!("{stem}.rs"))
        .or_else(|| files.find_file(&format!("{stem}/mod.rs")))?;
    Some((file, stem))
}

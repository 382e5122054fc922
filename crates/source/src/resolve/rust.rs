//! Rust: the module tree from a crate's roots, and paths through it.
//!
//! Modules are followed as the compiler does, by their declarations: `mod a;` in a file makes `a.rs` or `a/mod.rs` a
//! module, a file that nothing declares is none. A path ends at the last module it goes through; what is left of it names
//! an item there. `cargo.rs` knows packages, their roots and what they depend on.

mod cargo;

use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) use self::cargo::Manifest;
use self::cargo::{Package, Packages};
use super::Resolution;
use super::files::{Files, Memory, below, join, parent};
use super::stdlib;
use crate::import::{Import, ImportKind};
use crate::language::Language;
use crate::outline::Outline;
use crate::parsed::Parsed;

/// Files of one crate that are read to find a module that is not where its name says.
const MAX_SEARCHED: usize = 3000;
/// A path of more names is none.
const MAX_STEPS: usize = 64;
/// Names that lead to names of the same file are followed this far: `use a::b; use b::a;` has no end.
const MAX_HOPS: usize = 8;

pub(super) struct Crates {
    parsed: Arc<Parsed>,
    packages: Packages,
    imports: Memory<Arc<Outline>>,
    places: Memory<Option<Place>>,
}

/// Who looks for a module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    FromInside,
    FromOutside,
}

/// A module: a file, and the inline modules in it that lead there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// The crate's root file, and the modules from there.
    root: String,
    path: Vec<String>,
    file: String,
    /// Where the modules are that the file declares.
    folder: String,
    within: Vec<String>,
}

impl Crates {
    pub(super) fn new(parsed: Arc<Parsed>) -> Self {
        let packages = Packages::new(Arc::clone(&parsed));
        Self { parsed, packages, imports: Memory::default(), places: Memory::default() }
    }

    pub(super) fn resolve(&self, files: &Files, from: &str, import: &Import) -> Resolution {
        match import.kind {
            ImportKind::Module => Resolution::file(self.declared(files, from, import)),
            ImportKind::Include => {
                let path = join(parent(from), &import.specifier);
                Resolution::file(path.and_then(|path| files.file(&path)))
            }
            _ => self.resolve_path(files, from, import, MAX_HOPS),
        }
    }

    /// The file of `mod name;`.
    fn declared(&self, files: &Files, from: &str, import: &Import) -> Option<String> {
        let place = self.place(files, from).unwrap_or_else(|| Place::alone(from));
        found(files, &place, import).map(|(file, _)| file)
    }

    /// The file of the last module on a path of `use`.
    fn resolve_path(&self, files: &Files, from: &str, import: &Import, hops: usize) -> Resolution {
        let absolute = import.specifier.strip_prefix("::");
        let path = absolute.unwrap_or(&import.specifier);
        let names: Vec<&str> = path.split("::").take(MAX_STEPS).collect();
        let Some((&first, rest)) = names.split_first() else { return Resolution::Missing };
        let package = self.packages.of(files, from);
        if import.kind == ImportKind::Crate || absolute.is_some() {
            return match first {
                "self" => Resolution::Missing,
                _ => self.through_crate(files, package.as_deref(), from, first, rest),
            };
        }
        if !matches!(first, "crate" | "self" | "super") && stdlib::RUST.contains(&first) {
            return Resolution::External(first.to_owned());
        }
        let Some(place) = self.place(files, from) else {
            // Declared by nobody, or by a macro's inside: where it lies is all there is to go by.
            let start = match first {
                "crate" => self.root_with(files, package.as_deref(), from, rest),
                "super" => {
                    let levels = names.iter().take_while(|name| **name == "super").count();
                    module_around(files, from, levels.saturating_sub(import.within.len()))
                }
                "self" => Some(from.to_owned()),
                _ => return self.through_crate(files, package.as_deref(), from, first, rest),
            };
            let Some(start) = start else { return Resolution::Missing };
            let place = self.place(files, &start).unwrap_or_else(|| Place::alone(&start));
            let rest: Vec<&str> =
                rest.iter().copied().skip_while(|name| *name == "super").collect();
            return Resolution::file(Some(self.follow(files, place, &rest).file));
        };
        let here = self.inside(files, place, &import.within);
        let (start, rest) = match first {
            "crate" => (Place::root(&here.root), rest),
            "self" => (here, rest),
            "super" => match self.above(files, here, &names) {
                Some((place, used)) => (place, &names[used..]),
                None => return Resolution::Missing,
            },
            _ => {
                let package = package.as_deref();
                let found = self.in_scope(files, package, from, &here, &names);
                return found
                    .or_else(|| self.brought(files, from, import, &names, hops))
                    .unwrap_or_else(|| item_of(package, here, first));
            }
        };
        Resolution::file(Some(self.follow(files, start, rest).file))
    }

    /// The root of the crate that a file lies in: the one that has the module it asks for, else the library.
    fn root_with(
        &self,
        files: &Files,
        package: Option<&Package>,
        file: &str,
        path: &[&str],
    ) -> Option<String> {
        let package = package?;
        let has = |root: &String| {
            let root = Place::root(root);
            path.first()
                .is_some_and(|name| self.step(files, &root, name, Seen::FromInside).is_some())
        };
        let roots = package.roots_for(files, file);
        let inside = |library: &String| file.starts_with(parent(library));
        roots.into_iter().find(has).or_else(|| package.library.clone().filter(inside))
    }

    /// A path that begins with the name of a module or of a crate.
    fn in_scope(
        &self,
        files: &Files,
        package: Option<&Package>,
        from: &str,
        here: &Place,
        names: &[&str],
    ) -> Option<Resolution> {
        let first = names[0];
        let start = if is_2015(package) { Place::root(&here.root) } else { here.clone() };
        if self.step(files, &start, first, Seen::FromInside).is_some() {
            return Some(Resolution::file(Some(self.follow(files, start, names).file)));
        }
        let found = self.through_crate(files, package, from, first, &names[1..]);
        (found != Resolution::Missing).then_some(found)
    }

    /// A path that begins with what the same file brings in: `use a::b; use b::C;`.
    fn brought(
        &self,
        files: &Files,
        from: &str,
        import: &Import,
        names: &[&str],
        hops: usize,
    ) -> Option<Resolution> {
        let hops = hops.checked_sub(1)?;
        let outline = self.imports(files, from);
        let brought = outline.imports.iter().find(|other| {
            other.kind == ImportKind::Use
                && *other != import
                && other.specifier.contains("::")
                && other.specifier.rsplit("::").next() == Some(names[0])
        })?;
        let path: Vec<&str> = [&*brought.specifier].iter().chain(&names[1..]).copied().collect();
        let longer = Import { specifier: path.join("::"), ..brought.clone() };
        Some(self.resolve_path(files, from, &longer, hops))
    }

    /// A path that begins with a crate's name.
    fn through_crate(
        &self,
        files: &Files,
        package: Option<&Package>,
        from: &str,
        name: &str,
        rest: &[&str],
    ) -> Resolution {
        if stdlib::RUST.contains(&name) {
            return Resolution::External(name.to_owned());
        }
        let Some(package) = package else { return Resolution::External(name.to_owned()) };
        let own = package.library_name() == name && package.library.as_deref() != Some(from);
        let library = if own {
            package.library.clone()
        } else {
            match package.dependency(name) {
                None => return Resolution::Missing,
                Some(dependency) => match self.packages.local(files, package, dependency) {
                    None => return Resolution::External(dependency.package.clone()),
                    Some(local) => local.library.clone(),
                },
            }
        };
        let Some(library) = library else { return Resolution::Missing };
        // A name that another crate sees is not a private module, though one may be called the same.
        let mut place = Place::root(&library);
        for name in rest {
            match self.step(files, &place, name, Seen::FromOutside) {
                Some(next) => place = next,
                None => break,
            }
        }
        Resolution::file(Some(place.file))
    }

    /// Goes on as long as the names are modules.
    fn follow(&self, files: &Files, start: Place, names: &[&str]) -> Place {
        let mut place = start;
        for name in names {
            let next = match *name {
                "self" => continue,
                "super" => self.above(files, place.clone(), &["super"]).map(|(place, _)| place),
                name => self.step(files, &place, name, Seen::FromInside),
            };
            match next {
                Some(next) => place = next,
                None => break,
            }
        }
        place
    }

    /// The module `name` that a module declares.
    fn step(&self, files: &Files, place: &Place, name: &str, seen: Seen) -> Option<Place> {
        let imports = self.imports(files, &place.file);
        let imports = &imports.imports;
        let mut path = place.path.clone();
        path.push(name.to_owned());
        let declared = imports
            .iter()
            .filter(|import| import.kind == ImportKind::Module)
            .filter(|import| import.specifier == name && import.within == place.within)
            .filter(|import| import.public || seen == Seen::FromInside)
            // One of several, each for its platform: the first that is there.
            .find_map(|import| found(files, place, import));
        if let Some((file, folder)) = declared {
            return Some(Place {
                root: place.root.clone(),
                path,
                file,
                folder,
                within: Vec::new(),
            });
        }
        let mut within = place.within.clone();
        within.push(name.to_owned());
        let inline = imports.iter().any(|import| import.within.starts_with(&within));
        inline.then(|| Place { path, within, ..place.clone() })
    }

    fn inside(&self, files: &Files, place: Place, within: &[String]) -> Place {
        let names: Vec<&str> = within.iter().map(String::as_str).collect();
        self.follow(files, place, &names)
    }

    /// Up by as many `super` as the path begins with, and how many those are.
    fn above(&self, files: &Files, place: Place, names: &[&str]) -> Option<(Place, usize)> {
        let used = names.iter().take_while(|name| **name == "super").count();
        let kept = place.path.len().checked_sub(used)?;
        let names: Vec<&str> = place.path[..kept].iter().map(String::as_str).collect();
        Some((self.follow(files, Place::root(&place.root), &names), used))
    }

    /// Which module of which crate a file is.
    fn place(&self, files: &Files, file: &str) -> Option<Place> {
        self.places.get_or(file, || {
            let package = self.packages.of(files, file)?;
            if package.is_root(files, file) {
                return Some(Place::root(file));
            }
            let roots = package.roots_for(files, file);
            let by_position = roots.iter().find_map(|root| self.by_position(files, root, file));
            by_position.or_else(|| roots.iter().find_map(|root| self.by_search(files, root, file)))
        })
    }

    /// The module that the file's place among the folders suggests, if the declarations agree.
    fn by_position(&self, files: &Files, root: &str, file: &str) -> Option<Place> {
        let folder = parent(root);
        let inside = match folder {
            "" => file,
            folder => file.strip_prefix(folder)?.strip_prefix('/')?,
        };
        let stem = inside.strip_suffix(".rs")?;
        let stem = stem.strip_suffix("/mod").unwrap_or(stem);
        let names: Vec<&str> = stem.split('/').collect();
        let place = self.follow(files, Place::root(root), &names);
        (place.file == file && place.path.len() == names.len()).then_some(place)
    }

    /// Through all modules of the crate, for files that `#[path]` or a macro put elsewhere.
    fn by_search(&self, files: &Files, root: &str, file: &str) -> Option<Place> {
        let mut open = VecDeque::from([Place::root(root)]);
        let mut seen = std::collections::HashSet::from([root.to_owned()]);
        while let Some(place) = open.pop_front() {
            for import in self.imports(files, &place.file).imports.iter() {
                if import.kind != ImportKind::Module || seen.len() > MAX_SEARCHED {
                    continue;
                }
                let Some((found, folder)) = found(files, &place, import) else { continue };
                let mut path = place.path.clone();
                path.extend(import.within.iter().cloned());
                path.push(import.specifier.clone());
                let root = root.to_owned();
                let next = Place { root, path, file: found, folder, within: Vec::new() };
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

    fn imports(&self, files: &Files, file: &str) -> Arc<Outline> {
        self.imports.get_or(file, || {
            let text = files.read(file).unwrap_or_default();
            self.parsed.imports(Language::Rust, &text)
        })
    }
}

impl Place {
    fn root(file: &str) -> Self {
        let folder = parent(file).to_owned();
        let (root, file) = (file.to_owned(), file.to_owned());
        Self { root, path: Vec::new(), file, folder, within: Vec::new() }
    }

    /// A file that no crate has: its modules are where its name says.
    fn alone(file: &str) -> Self {
        let stem = file.strip_suffix("/mod.rs").or(file.strip_suffix(".rs")).unwrap_or(file);
        Self { folder: stem.to_owned(), ..Self::root(file) }
    }
}

/// A path that begins with an item of the module itself, as a variant of its enum does.
fn item_of(package: Option<&Package>, here: Place, first: &str) -> Resolution {
    if is_2015(package) {
        Resolution::file(Some(here.root))
    } else if first.starts_with(char::is_uppercase) {
        Resolution::file(Some(here.file))
    } else {
        Resolution::Missing
    }
}

/// In the first edition paths begin at the crate's root.
fn is_2015(package: Option<&Package>) -> bool {
    package.is_some_and(|package| package.edition_2015)
}

/// The file of the module so many levels above, going by folders alone.
fn module_around(files: &Files, from: &str, levels: usize) -> Option<String> {
    let mut file = from.to_owned();
    for _ in 0..levels {
        let folder = match file.rsplit_once('/') {
            Some((folder, "mod.rs")) => parent(folder),
            Some((folder, _)) => folder,
            None => return None,
        };
        let names = ["mod.rs", "lib.rs", "main.rs"].map(|name| below(folder, name));
        let beside = format!("{folder}.rs");
        file = names.iter().chain([&beside]).find_map(|path| files.file(path))?;
    }
    Some(file)
}

/// The file of a module that a file declares, and where its own modules are: beside it, if it is named `mod.rs` or by
/// `#[path]`, else in the folder of its name.
fn found(files: &Files, place: &Place, import: &Import) -> Option<(String, String)> {
    let mut folder = place.folder.clone();
    for name in &import.within {
        folder = below(&folder, name);
    }
    if let Some(path) = &import.path {
        // Beside the file; inside an inline module, in the folder of that.
        let folder = if import.within.is_empty() { parent(&place.file) } else { &folder };
        let file = files.file(&join(folder, path)?)?;
        let folder = parent(&file).to_owned();
        return Some((file, folder));
    }
    let stem = below(&folder, &import.specifier);
    let file =
        files.file(&format!("{stem}.rs")).or_else(|| files.file(&format!("{stem}/mod.rs")))?;
    Some((file, stem))
}

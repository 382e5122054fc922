//! Cargo's packages: where their crates begin and which others they may name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::super::files::{Files, Memory, below, folders_above, join, parent};
use crate::parsed::Parsed;

pub(super) struct Packages {
    parsed: Arc<Parsed>,
    at: Memory<Option<Arc<Package>>>,
    members: Memory<Arc<BTreeMap<String, String>>>,
}

pub(super) struct Package {
    folder: String,
    name: String,
    library_name: Option<String>,
    pub(super) library: Option<String>,
    /// Roots that the manifest names itself.
    named_roots: Vec<String>,
    pub(super) edition_2015: bool,
    dependencies: BTreeMap<String, Dependency>,
}

/// Something a package may import.
pub(super) struct Dependency {
    /// Its name as a package, which `package = "…"` sets apart from its name in code.
    pub(super) package: String,
    /// Its folder, if the manifest names one.
    path: Option<String>,
    /// Its folder is for the workspace to say.
    inherited: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Manifest {
    package: Option<PackageTable>,
    lib: Option<Target>,
    bin: Vec<Target>,
    example: Vec<Target>,
    test: Vec<Target>,
    bench: Vec<Target>,
    #[serde(flatten)]
    dependencies: Tables,
    target: BTreeMap<String, Tables>,
    workspace: Option<Workspace>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct Tables {
    dependencies: BTreeMap<String, toml::Value>,
    dev_dependencies: BTreeMap<String, toml::Value>,
    build_dependencies: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PackageTable {
    name: String,
    edition: Option<toml::Value>,
    build: Option<toml::Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Target {
    name: Option<String>,
    path: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Workspace {
    dependencies: BTreeMap<String, toml::Value>,
}

impl Packages {
    pub(super) fn new(parsed: Arc<Parsed>) -> Self {
        Self { parsed, at: Memory::default(), members: Memory::default() }
    }

    fn manifest(&self, files: &Files, folder: &str) -> Option<Arc<Manifest>> {
        self.parsed.manifest(&files.read(&below(folder, "Cargo.toml"))?)
    }

    /// The package that a file is part of.
    pub(super) fn of(&self, files: &Files, file: &str) -> Option<Arc<Package>> {
        folders_above(file).find_map(|folder| self.at(files, folder))
    }

    fn at(&self, files: &Files, folder: &str) -> Option<Arc<Package>> {
        self.at.get_or(folder, || {
            let manifest = self.manifest(files, folder)?;
            Package::new(files, folder, &manifest).map(Arc::new)
        })
    }

    /// The package behind a dependency, if it is part of the project.
    pub(super) fn local(
        &self,
        files: &Files,
        of: &Package,
        dependency: &Dependency,
    ) -> Option<Arc<Package>> {
        if let Some(path) = &dependency.path {
            return self.at(files, &join(&of.folder, path)?);
        }
        if !dependency.inherited {
            return None;
        }
        let roots = folders_above(&of.folder).map(str::to_owned);
        for root in std::iter::once(of.folder.clone()).chain(roots) {
            let members = self.members.get_or(root.as_str(), || {
                let manifest = self.manifest(files, &root);
                let workspace = manifest.as_ref().and_then(|found| found.workspace.as_ref());
                let shared = workspace.map(|found| shared(files, &root, found));
                Arc::new(shared.unwrap_or_default())
            });
            if let Some(folder) = members.get(&dependency.package) {
                return self.at(files, folder);
            }
        }
        None
    }
}

/// The packages of a workspace that members may inherit under a name.
fn shared(files: &Files, root: &str, workspace: &Workspace) -> BTreeMap<String, String> {
    let local = workspace.dependencies.iter().filter_map(|(name, value)| {
        let path = value.get("path")?.as_str()?;
        Some((name.clone(), join(root, path).filter(|folder| files.is_folder(folder))?))
    });
    local.collect()
}

impl Dependency {
    fn new(name: &str, value: &toml::Value) -> Self {
        let text = |key: &str| value.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        Self {
            package: text("package").unwrap_or_else(|| name.to_owned()),
            path: text("path"),
            inherited: value.get("workspace").and_then(toml::Value::as_bool).unwrap_or_default(),
        }
    }
}

impl Package {
    fn new(files: &Files, folder: &str, manifest: &Manifest) -> Option<Self> {
        let package = manifest.package.as_ref()?;
        let at = |path: &str| join(folder, path).and_then(|path| files.file(&path));
        let targets = [&manifest.bin, &manifest.example, &manifest.test, &manifest.bench];
        let mut named_roots: Vec<String> = targets
            .into_iter()
            .flatten()
            .filter_map(|target| at(target.path.as_deref()?))
            .collect();
        let build = package.build.as_ref().and_then(toml::Value::as_str).unwrap_or("build.rs");
        named_roots.extend(at(build));
        let library = manifest.lib.as_ref().and_then(|lib| lib.path.as_deref());
        let tables = std::iter::once(&manifest.dependencies).chain(manifest.target.values());
        let mut dependencies = BTreeMap::new();
        for (name, value) in tables.flat_map(|tables| {
            let Tables { dependencies, dev_dependencies, build_dependencies } = tables;
            dependencies.iter().chain(dev_dependencies).chain(build_dependencies)
        }) {
            dependencies.insert(name.replace('-', "_"), Dependency::new(name, value));
        }
        let edition = package.edition.as_ref();
        Some(Self {
            folder: folder.to_owned(),
            name: package.name.clone(),
            library_name: manifest.lib.as_ref().and_then(|lib| lib.name.clone()),
            library: at(library.unwrap_or("src/lib.rs")),
            named_roots,
            // An edition that the workspace sets is a newer one: the first that could be inherited is 2015 too, but
            // nobody writes it down to have it.
            edition_2015: edition.is_none_or(|edition| edition.as_str() == Some("2015")),
            dependencies,
        })
    }

    /// The name of its library in code.
    pub(super) fn library_name(&self) -> String {
        self.library_name.clone().unwrap_or_else(|| self.name.replace('-', "_"))
    }

    pub(super) fn dependency(&self, name: &str) -> Option<&Dependency> {
        self.dependencies.get(name)
    }

    /// Whether a file begins a crate: by the manifest, or by its place.
    pub(super) fn is_root(&self, files: &Files, file: &str) -> bool {
        if self.library.as_deref() == Some(file) || self.named_roots.iter().any(|root| root == file)
        {
            return true;
        }
        let Some(inside) = self.inside(file) else { return false };
        let parts: Vec<&str> = inside.split('/').collect();
        match parts[..] {
            ["src", "main.rs"] | ["build.rs"] => true,
            ["src", "bin", name] | ["examples" | "tests" | "benches", name] => {
                name.ends_with(".rs")
            }
            // A folder with a `main.rs` is a crate of several files.
            ["src", "bin", _, "main.rs"] | ["examples" | "tests" | "benches", _, "main.rs"] => {
                files.file(file).is_some()
            }
            _ => false,
        }
    }

    /// The roots whose crates a file may belong to, the likeliest first.
    pub(super) fn roots_for(&self, files: &Files, file: &str) -> Vec<String> {
        let mut roots: Vec<String> = Vec::new();
        for folder in folders_above(file) {
            if folder.len() < self.folder.len() {
                break;
            }
            let main = below(folder, "main.rs");
            if self.is_root(files, &main) {
                roots.extend(files.file(&main));
            }
            let beside = files.list(folder);
            let beside = beside.iter().filter(|name| name.ends_with(".rs"));
            roots.extend(
                beside.map(|name| below(folder, name)).filter(|path| self.is_root(files, path)),
            );
        }
        roots.extend(self.named_roots.iter().cloned());
        // A library's modules are more often meant than those of the program beside it.
        if let Some(library) = &self.library
            && file.starts_with(parent(library))
        {
            roots.insert(0, library.clone());
        } else {
            roots.extend(self.library.clone());
        }
        let mut seen = std::collections::HashSet::new();
        roots.retain(|root| seen.insert(root.clone()));
        roots
    }

    fn inside<'path>(&self, file: &'path str) -> Option<&'path str> {
        match self.folder.as_str() {
            "" => Some(file),
            folder => file.strip_prefix(folder)?.strip_prefix('/'),
        }
    }
}

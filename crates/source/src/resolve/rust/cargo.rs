//! Cargo packages: their crate roots and dependencies.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::super::project_files::{
    MemoMap, ProjectFiles, ancestor_folders, child_path, join_path, parent_folder,
};
use crate::parse_cache::ParseCache;

/// Cached Cargo packages of the project.
pub(super) struct CargoPackages {
    parsed: Arc<ParseCache>,
    at: MemoMap<Option<Arc<CargoPackage>>>,
    members: MemoMap<Arc<BTreeMap<String, String>>>,
}

/// A Cargo package with its crate roots and dependencies.
pub(super) struct CargoPackage {
    folder: String,
    name: String,
    library_name: Option<String>,
    pub(super) library: Option<String>,
    /// Crate roots with an explicit path in the manifest, and the build script.
    named_roots: Vec<String>,
    pub(super) edition_2015: bool,
    dependencies: BTreeMap<String, CargoDependency>,
}

/// A dependency of a package.
pub(super) struct CargoDependency {
    /// Package name, which differs from the name in code if `package = "…"` is set.
    pub(super) package: String,
    /// Folder of a path dependency.
    path: Option<String>,
    /// `true` if the dependency is inherited from the workspace.
    inherited: bool,
}

/// The parts of a `Cargo.toml` needed for import resolution.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct CargoManifest {
    package: Option<PackageTable>,
    lib: Option<CargoTarget>,
    bin: Vec<CargoTarget>,
    example: Vec<CargoTarget>,
    test: Vec<CargoTarget>,
    bench: Vec<CargoTarget>,
    #[serde(flatten)]
    dependencies: DependencyTables,
    target: BTreeMap<String, DependencyTables>,
    workspace: Option<CargoWorkspace>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct DependencyTables {
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
struct CargoTarget {
    name: Option<String>,
    path: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CargoWorkspace {
    dependencies: BTreeMap<String, toml::Value>,
}

impl CargoPackages {
    pub(super) fn new(parsed: Arc<ParseCache>) -> Self {
        Self { parsed, at: MemoMap::default(), members: MemoMap::default() }
    }

    fn read_manifest(&self, files: &ProjectFiles, folder: &str) -> Option<Arc<CargoManifest>> {
        self.parsed.parse_manifest(&files.read_text(&child_path(folder, "Cargo.toml"))?)
    }

    /// Returns the package that contains a file.
    pub(super) fn find_package(
        &self,
        files: &ProjectFiles,
        file: &str,
    ) -> Option<Arc<CargoPackage>> {
        ancestor_folders(file).find_map(|folder| self.load_package(files, folder))
    }

    fn load_package(&self, files: &ProjectFiles, folder: &str) -> Option<Arc<CargoPackage>> {
        self.at.get_or_compute(folder, || {
            let manifest = self.read_manifest(files, folder)?;
            CargoPackage::new(files, folder, &manifest).map(Arc::new)
        })
    }

    /// Returns the package of a dependency, or `None` if it is not part of the project.
    pub(super) fn find_local_package(
        &self,
        files: &ProjectFiles,
        of: &CargoPackage,
        dependency: &CargoDependency,
    ) -> Option<Arc<CargoPackage>> {
        if let Some(path) = &dependency.path {
            return self.load_package(files, &join_path(&of.folder, path)?);
        }
        if !dependency.inherited {
            return None;
        }
        let roots = ancestor_folders(&of.folder).map(str::to_owned);
        for root in std::iter::once(of.folder.clone()).chain(roots) {
            let members = self.members.get_or_compute(root.as_str(), || {
                let manifest = self.read_manifest(files, &root);
                let workspace = manifest.as_ref().and_then(|found| found.workspace.as_ref());
                let shared = workspace.map(|found| inheritable_folders(files, &root, found));
                Arc::new(shared.unwrap_or_default())
            });
            if let Some(folder) = members.get(&dependency.package) {
                return self.load_package(files, folder);
            }
        }
        None
    }
}

/// Returns the folders of the path dependencies that workspace members can inherit, keyed by name.
fn inheritable_folders(
    files: &ProjectFiles,
    root: &str,
    workspace: &CargoWorkspace,
) -> BTreeMap<String, String> {
    let local = workspace.dependencies.iter().filter_map(|(name, value)| {
        let path = value.get("path")?.as_str()?;
        Some((name.clone(), join_path(root, path).filter(|folder| files.is_folder(folder))?))
    });
    local.collect()
}

impl CargoDependency {
    fn new(name: &str, value: &toml::Value) -> Self {
        let text = |key: &str| value.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        Self {
            package: text("package").unwrap_or_else(|| name.to_owned()),
            path: text("path"),
            inherited: value.get("workspace").and_then(toml::Value::as_bool).unwrap_or_default(),
        }
    }
}

impl CargoPackage {
    fn new(files: &ProjectFiles, folder: &str, manifest: &CargoManifest) -> Option<Self> {
        let package = manifest.package.as_ref()?;
        let at = |path: &str| join_path(folder, path).and_then(|path| files.find_file(&path));
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
            let DependencyTables { dependencies, dev_dependencies, build_dependencies } = tables;
            dependencies.iter().chain(dev_dependencies).chain(build_dependencies)
        }) {
            dependencies.insert(name.replace('-', "_"), CargoDependency::new(name, value));
        }
        let edition = package.edition.as_ref();
        Some(Self {
            folder: folder.to_owned(),
            name: package.name.clone(),
            library_name: manifest.lib.as_ref().and_then(|lib| lib.name.clone()),
            library: at(library.unwrap_or("src/lib.rs")),
            named_roots,
            // An inherited edition is not a string here and is assumed to be newer than 2015.
            edition_2015: edition.is_none_or(|edition| edition.as_str() == Some("2015")),
            dependencies,
        })
    }

    /// Returns the name of the library in code.
    pub(super) fn library_name(&self) -> String {
        self.library_name.clone().unwrap_or_else(|| self.name.replace('-', "_"))
    }

    pub(super) fn find_dependency(&self, name: &str) -> Option<&CargoDependency> {
        self.dependencies.get(name)
    }

    /// Returns `true` if a file is a crate root, by the manifest or by its conventional path.
    pub(super) fn is_crate_root(&self, files: &ProjectFiles, file: &str) -> bool {
        if self.library.as_deref() == Some(file) || self.named_roots.iter().any(|root| root == file)
        {
            return true;
        }
        let Some(inside) = self.strip_folder(file) else { return false };
        let parts: Vec<&str> = inside.split('/').collect();
        match parts[..] {
            ["src", "main.rs"] | ["build.rs"] => true,
            ["src", "bin", name] | ["examples" | "tests" | "benches", name] => {
                name.ends_with(".rs")
            }
            // A folder with a `main.rs` is a multi-file crate.
            ["src", "bin", _, "main.rs"] | ["examples" | "tests" | "benches", _, "main.rs"] => {
                files.find_file(file).is_some()
            }
            _ => false,
        }
    }

    /// Returns the roots of the crates that may contain a file, most likely first.
    pub(super) fn candidate_roots(&self, files: &ProjectFiles, file: &str) -> Vec<String> {
        let mut roots: Vec<String> = Vec::new();
        for folder in ancestor_folders(file) {
            if folder.len() < self.folder.len() {
                break;
            }
            let main = child_path(folder, "main.rs");
            if self.is_crate_root(files, &main) {
                roots.extend(files.find_file(&main));
            }
            let beside = files.list_folder(folder);
            let beside = beside.iter().filter(|name| name.ends_with(".rs"));
            roots.extend(
                beside
                    .map(|name| child_path(folder, name))
                    .filter(|path| self.is_crate_root(files, path)),
            );
        }
        roots.extend(self.named_roots.iter().cloned());
        // A module belongs to the library more often than to a binary in the same folder.
        if let Some(library) = &self.library
            && file.starts_with(parent_folder(library))
        {
            roots.insert(0, library.clone());
        } else {
            roots.extend(self.library.clone());
        }
        let mut seen = std::collections::HashSet::new();
        roots.retain(|root| seen.insert(root.clone()));
        roots
    }

    fn strip_folder<'path>(&self, file: &'path str) -> Option<&'path str> {
        match self.folder.as_str() {
            "" => Some(file),
            folder => file.strip_prefix(folder)?.strip_prefix('/'),
        }
    }
}

//! Resolution of imports to files.
//!
//! An [`ImportResolver`] accesses files through a [`Guard`], so it cannot leave the project. It caches file lookups:
//! create one per batch of imports to see the current state of the files. Resolved files exist at lookup time. Packages
//! outside the project and the standard libraries are external; any other import is missing.
//!
//! Out of scope: extracting imports from a text (`import.rs`) and reading the resolved files.

mod c;
mod ecma;
mod go;
mod java;
mod package_json;
pub(crate) mod project_files;
mod python;
mod rust;
mod solidity;
mod stdlib;

use std::sync::Arc;

use guard::Guard;

pub(crate) use self::go::GoMod;
pub(crate) use self::package_json::PackageJson;
use self::project_files::ProjectFiles;
pub(crate) use self::rust::CargoManifest;
use crate::import::Import;
use crate::language::Language;
use crate::parse_cache::ParseCache;

/// The result of resolving an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportResolution {
    /// Project files, relative to the root: one file in most languages, all files of a package in Go.
    Files(Vec<String>),
    /// Name of a package outside the project, including the standard library.
    External(String),
    /// No project file and no known package, or a binary module without source text.
    Missing,
}

impl ImportResolution {
    fn from_file(path: Option<String>) -> Self {
        path.map_or(Self::Missing, |path| Self::Files(vec![path]))
    }

    fn from_files(paths: Vec<String>) -> Self {
        if paths.is_empty() { Self::Missing } else { Self::Files(paths) }
    }
}

/// Resolves imports to files, caching file lookups for its lifetime.
pub struct ImportResolver {
    files: Arc<ProjectFiles>,
    ecma: ecma::EcmaResolver,
    rust: rust::RustResolver,
    python: python::PythonResolver,
    java: java::JavaResolver,
    manifests: package_json::NpmManifests,
}

impl ImportResolver {
    /// Creates a resolver with its own parse cache.
    ///
    /// To report installed packages as external rather than missing, the guard's deny list must allow `node_modules`.
    /// Files in `node_modules` are never returned.
    pub fn new(guard: Arc<Guard>) -> Self {
        Self::with_cache(guard, Arc::default())
    }

    /// Creates a resolver that shares a parse cache with others. File lookups are not shared.
    pub fn with_cache(guard: Arc<Guard>, parsed: Arc<ParseCache>) -> Self {
        let files = Arc::new(ProjectFiles::new(guard));
        Self {
            ecma: ecma::EcmaResolver::new(&files),
            rust: rust::RustResolver::new(parsed),
            python: python::PythonResolver::default(),
            java: java::JavaResolver::default(),
            manifests: package_json::NpmManifests::default(),
            files,
        }
    }

    /// Resolves `import`, which is located in the file `from`.
    pub fn resolve(&self, from: &str, language: Language, import: &Import) -> ImportResolution {
        let files = &*self.files;
        let resolution = match language {
            Language::TypeScript | Language::Tsx | Language::JavaScript => {
                self.ecma.resolve(files, &self.manifests, from, language, import)
            }
            Language::Python => self.python.resolve(files, from, import),
            Language::Rust => self.rust.resolve(files, from, import),
            Language::Go => go::resolve_import(files, from, import),
            Language::Java => self.java.resolve(files, from, import),
            Language::Solidity => solidity::resolve_import(files, &self.manifests, from, import),
            Language::C | Language::Cpp => c::resolve_import(files, from, import),
            Language::Markdown | Language::Plain(_) => ImportResolution::Missing,
        };
        externalize_installed_files(resolution)
    }
}

/// Replaces files in `node_modules` by the external package that contains them.
fn externalize_installed_files(resolution: ImportResolution) -> ImportResolution {
    if let ImportResolution::Files(paths) = &resolution
        && let Some(package) = paths.iter().find_map(|path| package_json::installed_package(path))
    {
        return ImportResolution::External(package);
    }
    resolution
}

//! From an import to the files it means.
//!
//! A [`Resolver`] asks a [`Guard`] what is where, so it cannot look outside the project, and it remembers what it saw:
//! make one for each batch of imports, and the next one sees the files as they are then. What it names as a file exists;
//! what belongs to a package of others, or to the language itself, is named as external; the rest is missing.
//!
//! Not owned here: reading imports from a text (`import.rs`) and reading the files that were found.

mod c;
mod ecma;
pub(crate) mod files;
mod go;
mod java;
mod manifest;
mod python;
mod rust;
mod solidity;
mod stdlib;

use std::sync::Arc;

use guard::Guard;

use self::files::Files;
pub(crate) use self::go::GoMod;
pub(crate) use self::manifest::PackageJson;
pub(crate) use self::rust::Manifest;
use crate::import::Import;
use crate::language::Language;
use crate::parsed::Parsed;

/// What an import means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Files of the project, by their paths below its root: one in most languages, all of a package in Go.
    Files(Vec<String>),
    /// A package that is not part of the project, or of the language itself, by its name.
    External(String),
    /// Neither: nothing is there, or nothing that has a text.
    Missing,
}

impl Resolution {
    fn file(path: Option<String>) -> Self {
        path.map_or(Self::Missing, |path| Self::Files(vec![path]))
    }

    fn files(paths: Vec<String>) -> Self {
        if paths.is_empty() { Self::Missing } else { Self::Files(paths) }
    }
}

/// Finds files behind imports, as they are while it lives.
pub struct Resolver {
    files: Arc<Files>,
    ecma: ecma::Ecma,
    rust: rust::Crates,
    python: python::Python,
    java: java::Java,
    manifests: manifest::Manifests,
}

impl Resolver {
    /// The guard's deny list must let `node_modules` through where packages found there should be told from missing
    /// ones; no file in it is ever named.
    pub fn new(guard: Arc<Guard>) -> Self {
        Self::remembering(guard, Arc::default())
    }

    /// One that shares with others what texts said, though not which files there are.
    pub fn remembering(guard: Arc<Guard>, parsed: Arc<Parsed>) -> Self {
        let files = Arc::new(Files::new(guard));
        Self {
            ecma: ecma::Ecma::new(&files),
            rust: rust::Crates::new(parsed),
            python: python::Python::default(),
            java: java::Java::default(),
            manifests: manifest::Manifests::default(),
            files,
        }
    }

    /// What `import`, which stands in the file `from`, means.
    pub fn resolve(&self, from: &str, language: Language, import: &Import) -> Resolution {
        let files = &*self.files;
        let found = match language {
            Language::TypeScript | Language::Tsx | Language::JavaScript => {
                self.ecma.resolve(files, &self.manifests, from, language, import)
            }
            Language::Python => self.python.resolve(files, from, import),
            Language::Rust => self.rust.resolve(files, from, import),
            Language::Go => go::resolve(files, from, import),
            Language::Java => self.java.resolve(files, from, import),
            Language::Solidity => solidity::resolve(files, &self.manifests, from, import),
            Language::C | Language::Cpp => c::resolve(files, from, import),
            Language::Markdown | Language::Plain(_) => Resolution::Missing,
        };
        outside_packages(found)
    }
}

/// A file in `node_modules` belongs to others: its package is named instead.
fn outside_packages(found: Resolution) -> Resolution {
    if let Resolution::Files(paths) = &found
        && let Some(package) = paths.iter().find_map(|path| manifest::installed(path))
    {
        return Resolution::External(package);
    }
    found
}

//! The files that a file imports, for the few that are on people's minds.

use std::io::Read;
use std::sync::Arc;

use guard::Guard;
use source::{Language, Resolution, Resolver};
use tree::Tree;

use crate::excerpt::MAX_FILE_BYTES;

pub(crate) struct Neighbours {
    /// Lets `node_modules` through, so that packages are told from files.
    guard: Arc<Guard>,
}

impl Neighbours {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard }
    }

    /// Finds what files import, as the project is now.
    pub(crate) fn now(&self) -> Resolver {
        Resolver::new(Arc::clone(&self.guard))
    }
}

/// What a file imports, as far as it is in the project.
pub(crate) fn of(resolver: &Resolver, tree: &Tree, path: &str) -> Vec<String> {
    let Ok((file, _)) = tree.open(path) else { return Vec::new() };
    let mut text = String::new();
    if file.take(MAX_FILE_BYTES).read_to_string(&mut text).is_err() {
        return Vec::new();
    }
    let Some(language) = Language::of(path, &text) else { return Vec::new() };
    let imports = source::imports(language, &text).imports;
    let found = imports.iter().map(|import| resolver.resolve(path, language, import));
    found
        .flat_map(|found| match found {
            Resolution::Files(paths) => paths,
            Resolution::External(_) | Resolution::Missing => Vec::new(),
        })
        .collect()
}

//! Lists the project files that a file imports.

use std::io::Read;
use std::sync::Arc;

use guard::Guard;
use source::{ImportResolution, ImportResolver, Language};
use tree::FileTree;

use crate::excerpt::MAX_FILE_BYTES;

/// Creates import resolvers.
pub(crate) struct ImportResolverFactory {
    /// Allows `node_modules`, so that packages are distinguished from project files.
    guard: Arc<Guard>,
}

impl ImportResolverFactory {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard }
    }

    /// Returns a resolver for the current state of the project.
    pub(crate) fn create_resolver(&self) -> ImportResolver {
        ImportResolver::new(Arc::clone(&self.guard))
    }
}

/// Returns the project files that a file imports; empty if it cannot be read or its language is unknown.
pub(crate) fn list_imported_files(
    resolver: &ImportResolver,
    tree: &FileTree,
    path: &str,
) -> Vec<String> {
    let Ok((file, _)) = tree.open(path) else { return Vec::new() };
    let mut text = String::new();
    if file.take(MAX_FILE_BYTES).read_to_string(&mut text).is_err() {
        return Vec::new();
    }
    let Some(language) = Language::detect(path, &text) else { return Vec::new() };
    let imports = source::extract_imports(language, &text).imports;
    let found = imports.iter().map(|import| resolver.resolve(path, language, import));
    found
        .flat_map(|found| match found {
            ImportResolution::Files(paths) => paths,
            ImportResolution::External(_) | ImportResolution::Missing => Vec::new(),
        })
        .collect()
}

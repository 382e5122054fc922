//! Integration tests of the public API.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod listing;
mod rule_files;
mod searching;
mod watching;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use guard::DenyList;
use tempfile::TempDir;
use tree::FileTree;

/// A project in a temporary folder.
struct Project {
    folder: TempDir,
    tree: Arc<FileTree>,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_extra(files, &[])
    }

    fn with_extra(files: &[(&str, &str)], extra: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree =
            FileTree::new(folder.path(), DenyList::default().with_pattern("node_modules")).unwrap();
        let tree = tree.with_extra_paths(extra.iter().copied()).unwrap();
        let tree = Arc::new(tree.with_extra_paths_anywhere([".d/x"]).unwrap());
        let project = Self { folder, tree };
        files.iter().for_each(|(path, text)| project.write(path, text));
        project
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

//! What the crate says of texts and trees, as its callers ask it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bounds;
mod imports;
mod modules;

mod outline;
mod resolve;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use guard::{DenyList, Guard};
use source::{Language, Resolution, Resolver};
use tempfile::TempDir;

/// A project in a temporary folder.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(project.path("")).unwrap();
        for (path, content) in files {
            project.write(path, content);
        }
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn link(&self, target: &str, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn guard(&self) -> Arc<Guard> {
        Arc::new(Guard::new(&self.path(""), DenyList::default()).unwrap())
    }

    /// What the imports of a file mean, one line for each.
    fn resolved(&self, from: &str) -> String {
        let text = fs::read_to_string(self.path(from)).unwrap();
        let language = Language::of(from, &text).unwrap();
        let resolver = Resolver::new(self.guard());
        let lines = source::imports(language, &text).imports.into_iter().map(|import| {
            let mut said = import.specifier.clone();
            if !import.names.is_empty() {
                said = format!("{said} ({})", import.names.join(", "));
            }
            let meaning = match resolver.resolve(from, language, &import) {
                Resolution::Files(paths) => paths.join(", "),
                Resolution::External(name) => format!("package {name}"),
                Resolution::Missing => "missing".to_owned(),
            };
            format!("{said} -> {meaning}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

//! Tests of the public API with sample texts and projects.

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
use source::{ImportResolution, ImportResolver, Language};
use tempfile::TempDir;

/// A sample project in a temporary folder.
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

    fn create_symlink(&self, target: &str, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn guard(&self) -> Arc<Guard> {
        Arc::new(Guard::new(&self.path(""), DenyList::default()).unwrap())
    }

    /// Resolves the imports of a file and returns one line per import.
    fn resolve_imports(&self, from: &str) -> String {
        let text = fs::read_to_string(self.path(from)).unwrap();
        let language = Language::detect(from, &text).unwrap();
        let resolver = ImportResolver::new(self.guard());
        let lines = source::extract_imports(language, &text).imports.into_iter().map(|import| {
            let mut written = import.specifier.clone();
            if !import.names.is_empty() {
                written = format!("{written} ({})", import.names.join(", "));
            }
            let target = match resolver.resolve(from, language, &import) {
                ImportResolution::Files(paths) => paths.join(", "),
                ImportResolution::External(name) => format!("package {name}"),
                ImportResolution::Missing => "missing".to_owned(),
            };
            format!("{written} -> {target}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

//! Virtual file system for `oxc_resolver`.
//!
//! The project root is mapped to a virtual path, so files outside the project cannot be addressed and local paths are
//! not exposed. A path that leaves the root with `..` is not found.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard::FileKind;
use oxc_resolver::{ExtendsField, FileMetadata, FileSystem, ResolveError, TsConfig};
use serde_json::json;

use crate::resolve::project_files::{ProjectFiles, join_path, parent_folder};

/// Virtual path of the project root.
pub(super) const ROOT: &str = "/.vouch-project-root";

/// A file system over the project files. The guard follows links, so no path is reported as a link.
#[derive(Default)]
pub(super) struct ProjectFileSystem {
    files: Option<Arc<ProjectFiles>>,
    own_configs: bool,
}

impl ProjectFileSystem {
    pub(super) fn from_files(files: &Arc<ProjectFiles>) -> Self {
        Self { files: Some(Arc::clone(files)), own_configs: false }
    }

    /// Removes references to missing base files from each `tsconfig.json`, so that its own settings still apply.
    pub(super) fn without_missing_extends(self) -> Self {
        Self { own_configs: true, ..self }
    }

    fn resolve_virtual_path(&self, path: &Path) -> io::Result<(&ProjectFiles, String)> {
        let files = self.files.as_deref();
        let path = path.strip_prefix(ROOT).ok().and_then(Path::to_str);
        files.zip(path.map(str::to_owned)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FileSystem for ProjectFileSystem {
    /// Creates an empty file system, as the trait requires.
    fn new() -> Self {
        Self::default()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_to_string(path).map(String::into_bytes)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        let (files, path) = self.resolve_virtual_path(path)?;
        let text = files.read_text(&path).ok_or(io::ErrorKind::NotFound)?;
        if self.own_configs && !path.ends_with("package.json") {
            return Ok(remove_missing_extends(files, &path, &text));
        }
        Ok(text.to_string())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let (files, path) = self.resolve_virtual_path(path)?;
        let seen = files.stat_path(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(FileMetadata::new(seen.kind == FileKind::File, seen.kind == FileKind::Folder, false))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, _: &Path) -> Result<PathBuf, ResolveError> {
        Err(io::Error::from(io::ErrorKind::InvalidInput).into())
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let (files, path) = self.resolve_virtual_path(path)?;
        let seen = files.stat_path(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Path::new(ROOT).join(seen.path))
    }
}

/// Returns a `tsconfig.json` without references to missing base files. Invalid files are returned unchanged.
fn remove_missing_extends(files: &ProjectFiles, path: &str, text: &str) -> String {
    let virtual_path = Path::new(ROOT).join(path);
    let Ok(config) = TsConfig::parse(false, &virtual_path, &virtual_path, text.to_owned()) else {
        return text.to_owned();
    };
    let extended = match config.extends {
        Some(ExtendsField::Single(one)) => vec![one],
        Some(ExtendsField::Multiple(several)) => several,
        None => Vec::new(),
    };
    let exists = |name: &String| {
        let named = join_path(parent_folder(path), name).filter(|_| name.starts_with('.'));
        named.is_some_and(|path| {
            [path.clone(), format!("{path}.json")]
                .iter()
                .any(|path| files.find_file(path).is_some())
        })
    };
    let extended: Vec<String> = extended.into_iter().filter(exists).collect();
    let options = config.compiler_options;
    let references = config.references.iter().map(|reference| json!({"path": reference.path}));
    json!({
        "extends": extended,
        "files": config.files,
        "include": config.include,
        "exclude": config.exclude,
        "references": references.collect::<Vec<_>>(),
        "compilerOptions": {
            "allowJs": options.allow_js,
            "baseUrl": options.base_url,
            "paths": options.paths,
            "rootDirs": options.root_dirs,
        },
    })
    .to_string()
}

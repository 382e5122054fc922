//! The project as `oxc_resolver` sees it.
//!
//! Its root is a folder of an invented path, so that nothing outside can be named and nothing of this machine shows; `..`
//! that leads above it finds nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard::Kind;
use oxc_resolver::{ExtendsField, FileMetadata, FileSystem, ResolveError, TsConfig};
use serde_json::json;

use crate::resolve::files::{Files, join, parent};

/// Where the root is; no folder of a project is called so.
pub(super) const ROOT: &str = "/.vouch-project-root";

/// Links are followed by the guard, so none shows.
#[derive(Default)]
pub(super) struct Project {
    files: Option<Arc<Files>>,
    own_configs: bool,
}

impl Project {
    pub(super) fn of(files: &Arc<Files>) -> Self {
        Self { files: Some(Arc::clone(files)), own_configs: false }
    }

    /// With each `tsconfig.json` as it would be without those that it extends and that are not there: what it says
    /// itself still holds.
    pub(super) fn with_own_configs(self) -> Self {
        Self { own_configs: true, ..self }
    }

    fn files(&self, path: &Path) -> io::Result<(&Files, String)> {
        let files = self.files.as_deref();
        let path = path.strip_prefix(ROOT).ok().and_then(Path::to_str);
        files.zip(path.map(str::to_owned)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FileSystem for Project {
    /// A project without files: the trait wants a way to make one from nothing.
    fn new() -> Self {
        Self::default()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_to_string(path).map(String::into_bytes)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        let (files, path) = self.files(path)?;
        let text = files.read(&path).ok_or(io::ErrorKind::NotFound)?;
        if self.own_configs && !path.ends_with("package.json") {
            return Ok(own_config(files, &path, &text));
        }
        Ok(text.to_string())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let (files, path) = self.files(path)?;
        let seen = files.look(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(FileMetadata::new(seen.kind == Kind::File, seen.kind == Kind::Folder, false))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, _: &Path) -> Result<PathBuf, ResolveError> {
        Err(io::Error::from(io::ErrorKind::InvalidInput).into())
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let (files, path) = self.files(path)?;
        let seen = files.look(&path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Path::new(ROOT).join(seen.path))
    }
}

/// A `tsconfig.json` without what it extends that is not there. One that cannot be read stays as it is.
fn own_config(files: &Files, path: &str, text: &str) -> String {
    let place = Path::new(ROOT).join(path);
    let Ok(config) = TsConfig::parse(false, &place, &place, text.to_owned()) else {
        return text.to_owned();
    };
    let extended = match config.extends {
        Some(ExtendsField::Single(one)) => vec![one],
        Some(ExtendsField::Multiple(several)) => several,
        None => Vec::new(),
    };
    let there = |name: &String| {
        let named = join(parent(path), name).filter(|_| name.starts_with('.'));
        named.is_some_and(|path| {
            [path.clone(), format!("{path}.json")].iter().any(|path| files.file(path).is_some())
        })
    };
    let extended: Vec<String> = extended.into_iter().filter(there).collect();
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

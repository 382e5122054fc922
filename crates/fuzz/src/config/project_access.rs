//! What cheat codes may read on this machine, in a project that the user trusts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

/// Maximum bytes of a file.
const MAX_FILE: u64 = 1 << 24;

/// Environment variables, and the files that `fs_permissions` of `foundry.toml` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectAccess {
    /// Canonical folder of the project.
    pub root: PathBuf,
    pub permissions: Vec<FilePermission>,
    pub variables: BTreeMap<String, String>,
}

/// An entry of `fs_permissions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePermission {
    /// Path in the project.
    pub path: PathBuf,
    pub reads: bool,
}

/// Reason that a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileAccessError {
    #[error("`fs_permissions` of foundry.toml does not allow to read `{0}`")]
    NotAllowed(String),
    #[error("`{0}` is outside the project")]
    Outside(String),
    #[error("failed to read `{path}`: {source}")]
    Unreadable { path: String, source: io::Error },
    #[error("`{0}` is too large: the limit is 16 MiB")]
    TooLarge(String),
}

impl ProjectAccess {
    /// Creates the access to a project with this canonical folder. Permissions are those of the default profile.
    pub fn new(root: PathBuf, foundry_toml: &str, variables: BTreeMap<String, String>) -> Self {
        Self { permissions: read_permissions(foundry_toml), root, variables }
    }

    /// Reads a file of the project, which may be named relative to its folder.
    pub fn read_file(&self, path: &str) -> Result<Vec<u8>, FileAccessError> {
        let unreadable = |source| FileAccessError::Unreadable { path: path.to_owned(), source };
        let real = self.resolve_path(path)?.canonicalize().map_err(unreadable)?;
        // A link may lead elsewhere.
        let inside =
            real.strip_prefix(&self.root).map_err(|_| FileAccessError::Outside(path.to_owned()))?;
        if !self.allows_read(inside) {
            return Err(FileAccessError::NotAllowed(path.to_owned()));
        }
        // Before it is opened: to open a pipe waits for a writer.
        if !real.metadata().map_err(unreadable)?.is_file() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            return Err(unreadable(source));
        }
        let file = File::open(&real).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        match bytes.len() as u64 > MAX_FILE {
            true => Err(FileAccessError::TooLarge(path.to_owned())),
            false => Ok(bytes),
        }
    }

    /// Returns the metadata of a file or folder that may be read; `None` if there is none.
    pub fn find_metadata(&self, path: &str) -> Result<Option<std::fs::Metadata>, FileAccessError> {
        let Ok(real) = self.resolve_path(path)?.canonicalize() else { return Ok(None) };
        match real.strip_prefix(&self.root) {
            Ok(inside) if self.allows_read(inside) => Ok(real.metadata().ok()),
            Ok(_) => Err(FileAccessError::NotAllowed(path.to_owned())),
            Err(_) => Err(FileAccessError::Outside(path.to_owned())),
        }
    }

    /// Returns the path of a file in the project. Nothing is read.
    fn resolve_path(&self, path: &str) -> Result<PathBuf, FileAccessError> {
        let mut inside = PathBuf::new();
        let given = Path::new(path);
        let given = given.strip_prefix(&self.root).unwrap_or(given);
        for part in given.components() {
            match part {
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                Component::ParentDir if inside.pop() => {}
                _ => return Err(FileAccessError::Outside(path.to_owned())),
            }
        }
        match self.allows_read(&inside) {
            true => Ok(self.root.join(inside)),
            false => Err(FileAccessError::NotAllowed(path.to_owned())),
        }
    }

    /// Returns true if the longest entry that contains the path allows to read it.
    fn allows_read(&self, inside: &Path) -> bool {
        let containing = self.permissions.iter().filter(|it| inside.starts_with(&it.path));
        let longest = containing.max_by_key(|it| it.path.components().count());
        longest.is_some_and(|it| it.reads)
    }
}

/// Returns the entries of `fs_permissions`, or forge's default: the artifacts. Entries outside of the project are left out.
fn read_permissions(foundry_toml: &str) -> Vec<FilePermission> {
    let document: Table = foundry_toml.parse().unwrap_or_default();
    let profile = document.get("profile").and_then(|all| all.get("default"));
    let Some(Value::Array(entries)) = profile.and_then(|it| it.get("fs_permissions")) else {
        return vec![FilePermission { path: PathBuf::from("out"), reads: true }];
    };
    entries.iter().filter_map(read_permission).collect()
}

fn read_permission(entry: &Value) -> Option<FilePermission> {
    let reads = match entry.get("access")? {
        Value::Boolean(is_allowed) => *is_allowed,
        Value::String(access) => matches!(access.as_str(), "read" | "read-write" | "true"),
        _ => false,
    };
    let mut path = PathBuf::new();
    for part in Path::new(entry.get("path")?.as_str()?).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(FilePermission { path, reads })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(foundry_toml: &str, path: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let project = root.join("project");
        for name in ["data/secret", "out"] {
            std::fs::create_dir_all(project.join(name)).unwrap();
        }
        for name in ["data/a.txt", "data/secret/key.txt", "out/b.txt", "c.txt", "../outside.txt"] {
            std::fs::write(project.join(name), "text").unwrap();
        }
        std::os::unix::fs::symlink("../../outside.txt", project.join("data/link.txt")).unwrap();
        let access = ProjectAccess::new(project.clone(), foundry_toml, BTreeMap::new());
        let path = path.replace("ROOT", project.to_str().unwrap());
        let exists = access.find_metadata(&path).map(|found| found.is_some());
        match access.read_file(&path) {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(error) => {
                assert!(!matches!(exists, Ok(true)) || path == "data", "{path}: {error}");
                error.to_string().replace(project.to_str().unwrap(), "ROOT")
            }
        }
    }

    #[test]
    fn reads_only_what_the_permissions_name() {
        let narrow = "[profile.default]\nfs_permissions = [{ access = 'read', path = './data' }, \
                      { access = 'none', path = 'data/secret' }, { access = 'read', path = '../' }]";
        let cases = [
            (narrow, "data/a.txt"),
            (narrow, "./data/../data/a.txt"),
            (narrow, "ROOT/data/a.txt"),
            (narrow, "data/secret/key.txt"),
            (narrow, "data/link.txt"),
            (narrow, "c.txt"),
            (narrow, "../outside.txt"),
            (narrow, "/etc/hostname"),
            (narrow, "data/missing.txt"),
            (narrow, "data"),
            ("", "out/b.txt"),
            ("", "c.txt"),
        ];
        let lines = cases.map(|(toml, path)| format!("{path}: {}", check(toml, path)));
        insta::assert_snapshot!(lines.join("\n"), @r"
        data/a.txt: text
        ./data/../data/a.txt: text
        ROOT/data/a.txt: text
        data/secret/key.txt: `fs_permissions` of foundry.toml does not allow to read `data/secret/key.txt`
        data/link.txt: `data/link.txt` is outside the project
        c.txt: `fs_permissions` of foundry.toml does not allow to read `c.txt`
        ../outside.txt: `../outside.txt` is outside the project
        /etc/hostname: `/etc/hostname` is outside the project
        data/missing.txt: failed to read `data/missing.txt`: No such file or directory (os error 2)
        data: failed to read `data`: not a regular file
        out/b.txt: text
        c.txt: `fs_permissions` of foundry.toml does not allow to read `c.txt`
        ");
    }
}

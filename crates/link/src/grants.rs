//! Grants: checks which paths a sandboxed server may be allowed to read and write.
//!
//! The configuration, the pins, the overlays and the state decide what is admitted. A server that could write them would
//! decide for itself, so no grant may cover them.

use std::path::{Component, Path, PathBuf};

/// The paths that grants must not cover.
#[derive(Clone, Debug)]
pub struct ProtectedPaths {
    /// Files and folders that no server may write.
    read_only: Vec<ProtectedPath>,
    /// Folders with state, which no server may read either.
    state: Vec<ProtectedPath>,
}

#[derive(Clone, Debug)]
struct ProtectedPath {
    /// The path as shown in messages.
    name: String,
    real: PathBuf,
}

/// The reason why a path cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The grant is below a path that must not be written.
    #[error("it is inside {0}, which no server may write")]
    WriteInside(String),
    /// The grant is a path that must not be written, or a folder above one.
    #[error("it covers {}, which no server may write; grant a folder that contains none of them", .0.join(", "))]
    WriteCovers(Vec<String>),
    /// The grant is a folder with state or below one.
    #[error("it is inside {0}, which no server may read")]
    ReadInside(String),
}

impl ProtectedPaths {
    /// Protects `read_only` from writing and `state` from reading and writing. Errors name paths relative to `root`.
    pub fn new<'p>(
        root: &Path,
        read_only: impl IntoIterator<Item = &'p Path>,
        state: &[PathBuf],
    ) -> Self {
        let protect = |path: &Path| ProtectedPath {
            name: path.strip_prefix(root).unwrap_or(path).display().to_string(),
            real: resolve_real_path(path),
        };
        Self {
            read_only: read_only.into_iter().map(protect).collect(),
            state: state.iter().map(|path| protect(path)).collect(),
        }
    }

    /// Checks a grant of write access.
    pub fn check_write(&self, grant: &Path) -> Result<(), GrantError> {
        let grant = resolve_real_path(grant);
        let all = || self.read_only.iter().chain(&self.state);
        if let Some(path) = all().find(|path| grant != path.real && grant.starts_with(&path.real)) {
            return Err(GrantError::WriteInside(path.name.clone()));
        }
        let covered = all().filter(|path| path.real.starts_with(&grant));
        let covered: Vec<_> = covered.map(|path| path.name.clone()).collect();
        if covered.is_empty() { Ok(()) } else { Err(GrantError::WriteCovers(covered)) }
    }

    /// Checks a grant of read access. A folder around the state can be granted: the sandbox hides the state in it.
    pub fn check_read(&self, grant: &Path) -> Result<(), GrantError> {
        let grant = resolve_real_path(grant);
        match self.state.iter().find(|state| grant.starts_with(&state.real)) {
            Some(state) => Err(GrantError::ReadInside(state.name.clone())),
            None => Ok(()),
        }
    }
}

/// Returns the path without symbolic links and `..`. The last components may be missing; they contain no links.
pub fn resolve_real_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, mut real)) = found else { return path };
    for part in path.strip_prefix(above).into_iter().flat_map(Path::components) {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project `app` with pins, overlays and state, and `in`, a link to its state.
    fn project() -> (tempfile::TempDir, PathBuf, ProtectedPaths) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("app");
        std::fs::create_dir_all(root.join(".vouch")).unwrap();
        std::os::unix::fs::symlink(root.join(".vouch"), folder.path().join("in")).unwrap();
        let [config, lock, contracts] =
            ["vouch.toml", "vouch.lock", "contracts"].map(|name| root.join(name));
        let protected =
            ProtectedPaths::new(&root, [&*config, &*lock, &*contracts], &[root.join(".vouch")]);
        (folder, root, protected)
    }

    #[test]
    fn refuses_write_access_to_files_that_decide_admission() {
        let (_folder, root, protected) = project();
        let check = |path: &str| protected.check_write(&root.join(path));
        let inside = |name: &str| Err(GrantError::WriteInside(name.to_owned()));
        let covers = |names: &[&str]| {
            Err(GrantError::WriteCovers(names.iter().map(|&name| name.into()).collect()))
        };
        assert_eq!(check("contracts/files"), inside("contracts"));
        assert_eq!(check(".vouch/samples"), inside(".vouch"));
        assert_eq!(check("../in/samples"), inside(".vouch"));
        assert_eq!(check("data/../contracts/x"), inside("contracts"));
        assert_eq!(check("vouch.lock"), covers(&["vouch.lock"]));
        assert_eq!(check("../in"), covers(&[".vouch"]));
        let all = ["vouch.toml", "vouch.lock", "contracts", ".vouch"];
        assert_eq!(check("."), covers(&all));
        assert_eq!(check(".."), covers(&all));
        assert_eq!(check("/"), covers(&all));
    }

    #[test]
    fn grants_write_access_beside_protected_paths() {
        let (_folder, root, protected) = project();
        for path in ["data", "contracts2", "vouch.lock.bak", "../app2", "/var/lib/app"] {
            assert_eq!(protected.check_write(&root.join(path)), Ok(()), "{path}");
        }
    }

    #[test]
    fn refuses_read_access_to_state_only() {
        let (_folder, root, protected) = project();
        let check = |path: &str| protected.check_read(&root.join(path));
        for path in [".vouch", ".vouch/tokens", "../in", "data/../.vouch"] {
            assert_eq!(check(path), Err(GrantError::ReadInside(".vouch".to_owned())), "{path}");
        }
        for path in [".", "..", "contracts", "vouch.lock", ".vouch2"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn messages_name_the_protected_path() {
        let (_folder, root, protected) = project();
        let message = |path: &str| protected.check_write(&root.join(path)).unwrap_err().to_string();
        assert_eq!(message("contracts/a"), "it is inside contracts, which no server may write");
        assert_eq!(
            message("vouch.toml"),
            "it covers vouch.toml, which no server may write; grant a folder that contains none of them"
        );
    }
}

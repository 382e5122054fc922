//! What no tool may read: our own state, and the token file.
//!
//! Tools are kept from names, wherever a name stands below the root, and every process of a project must know the same
//! ones. A flag is known to one process only; so a token file is not given a rule of its own, but must lie where the
//! rules are already, or out of the tools' reach.

use std::path::{Path, PathBuf};

use link::real_path;

use super::{ConfigError, TokenSource};

/// Denied in every project, whatever is configured: a folder that was served otherwise before may hold one.
const ALWAYS: &str = ".vouch";

/// The names that tools are kept from. A state folder outside the root is out of their reach anyway.
pub(super) fn names(root: &Path, state_folder: &Path) -> Result<Vec<String>, ConfigError> {
    let mut names = vec![ALWAYS.to_owned()];
    if let Ok(below) = real_path(state_folder).strip_prefix(root) {
        let name = below.file_name().ok_or(ConfigError::StateIsRoot)?.to_string_lossy();
        if name != ALWAYS {
            names.push(name.into_owned());
        }
    }
    Ok(names)
}

/// The folders that other servers cannot read either, where they are.
pub(super) fn folders(root: &Path, state_folder: &Path) -> Vec<PathBuf> {
    vec![state_folder.to_owned(), root.join(ALWAYS)]
}

pub(super) fn check_token(
    root: &Path,
    private: &[String],
    token: Option<&TokenSource>,
) -> Result<(), ConfigError> {
    let Some(TokenSource::File(path)) = token else { return Ok(()) };
    let file = real_path(path);
    let Ok(below) = file.strip_prefix(root) else { return Ok(()) };
    let mut folders = below.parent().into_iter().flat_map(Path::components);
    if folders.any(|folder| private.iter().any(|name| folder.as_os_str() == name.as_str())) {
        return Ok(());
    }
    Err(ConfigError::TokenFile { path: below.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_folders() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("app");
        std::fs::create_dir_all(root.join("data")).unwrap();
        std::os::unix::fs::symlink(root.join("data"), base.join("link")).unwrap();
        let check = |state: &str| names(&root, &root.join(state)).map(|names| names.join(" "));
        for (state, denied) in [
            (".vouch", ".vouch"),
            ("a/.vouch", ".vouch"),
            ("var/keep", ".vouch keep"),
            ("none/../keep", ".vouch keep"),
            ("../app/keep", ".vouch keep"),
            ("../link", ".vouch data"),
            ("../link/deep", ".vouch deep"),
            ("../app2", ".vouch"),
            ("/var/lib/app", ".vouch"),
        ] {
            assert_eq!(check(state).unwrap(), denied, "{state}");
        }
        assert!(matches!(check("../app"), Err(ConfigError::StateIsRoot)));
        assert!(matches!(check("none/.."), Err(ConfigError::StateIsRoot)));
    }

    #[test]
    fn token_files() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("app");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("door"), "").unwrap();
        std::fs::write(base.join("door"), "").unwrap();
        std::os::unix::fs::symlink(root.join("door"), base.join("in")).unwrap();
        std::os::unix::fs::symlink(base.join("door"), root.join("out")).unwrap();
        let private = [".vouch".to_owned(), "keep".to_owned()];
        for (path, fine) in [
            (".vouch/tokens", true),
            ("var/keep/tokens", true),
            ("../door", true),
            ("../app2/door", true),
            ("out", true),
            ("door", false),
            ("tokens", false),
            (".vouch", false),
            ("keep2/tokens", false),
            ("../in", false),
            // Not there yet, but made before the file is read.
            (".vouch/../door", false),
        ] {
            let token = TokenSource::File(root.join(path));
            let checked = check_token(&root, &private, Some(&token));
            assert_eq!(checked.is_ok(), fine, "{path}: {checked:?}");
        }
    }
}

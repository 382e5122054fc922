//! The files that no tool may read: the state folder and the token file.
//!
//! Tools are denied certain names anywhere below the root, and every process of a project must deny the same ones. A
//! `--token-file` flag is known to one process only. So the token file gets no name of its own: it must be in a denied
//! folder or outside the root.

use std::path::{Path, PathBuf};

use link::resolve_real_path;

use super::{ConfigError, TokenSource};

/// Name denied in every project, because an earlier configuration may have created it.
const DEFAULT_STATE_FOLDER: &str = ".vouch";

/// Returns the names denied to tools. A state folder outside the root needs none.
pub(super) fn private_names(root: &Path, state_folder: &Path) -> Result<Vec<String>, ConfigError> {
    let mut names = vec![DEFAULT_STATE_FOLDER.to_owned()];
    if let Ok(below) = resolve_real_path(state_folder).strip_prefix(root) {
        let name = below.file_name().ok_or(ConfigError::StateIsRoot)?.to_string_lossy();
        if name != DEFAULT_STATE_FOLDER {
            names.push(name.into_owned());
        }
    }
    Ok(names)
}

/// Returns the folders that upstreams must not read either.
pub(super) fn private_folders(root: &Path, state_folder: &Path) -> Vec<PathBuf> {
    vec![state_folder.to_owned(), root.join(DEFAULT_STATE_FOLDER)]
}

/// Returns an error if tools could read the token file.
pub(super) fn check_token_file(
    root: &Path,
    private: &[String],
    token: Option<&TokenSource>,
) -> Result<(), ConfigError> {
    let Some(TokenSource::File(path)) = token else { return Ok(()) };
    let file = resolve_real_path(path);
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
    fn state_folder_names_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("app");
        std::fs::create_dir_all(root.join("data")).unwrap();
        std::os::unix::fs::symlink(root.join("data"), base.join("link")).unwrap();
        let check =
            |state: &str| private_names(&root, &root.join(state)).map(|names| names.join(" "));
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
    fn rejects_token_file_that_tools_can_read() {
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
            // Does not exist yet, but is created before the file is read.
            (".vouch/../door", false),
        ] {
            let token = TokenSource::File(root.join(path));
            let checked = check_token_file(&root, &private, Some(&token));
            assert_eq!(checked.is_ok(), fine, "{path}: {checked:?}");
        }
    }
}

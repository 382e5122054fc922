//! The place of the state, and the files that no tool may read: the state and the token file.
//!
//! The state is never in the project: a clone could bring approvals, tokens and an audit log of its own. By default it is
//! in the user's state folder, in a directory of its own for each project.
//!
//! Tools are denied certain names anywhere below the root, and every process of a project must deny the same ones. A
//! `--token-file` flag is known to one process only. So the token file gets no name of its own: it must be in a denied
//! folder or outside the root.

use std::path::{Path, PathBuf};

use link::resolve_real_path;
use store::ProjectIdentity;

use super::location::SourceContext;
use super::{ConfigError, TokenSource};
use crate::env::{EnvVar, Environment};

/// Name denied in every project: earlier versions kept the state of a project there.
const LEGACY_STATE_FOLDER: &str = ".vouch";
/// Folder of all state directories below the user's state folder.
const STATE_BASE: &str = "vouch";
/// Folder of all key folders below `vouch` in the user's data folder.
const KEYS_BASE: &str = "audit-keys";

/// The place of a project's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StateLocation {
    /// State directory of the project.
    pub(super) folder: PathBuf,
    /// Folder with the default state directories of all projects; `None` if neither variable for it is set.
    base: Option<PathBuf>,
    /// Folder with the audit keys of this project and, by default, of all others.
    keys: PathBuf,
}

impl StateLocation {
    /// Returns the configured place, or the default one in the user's state folder.
    ///
    /// Errors if a folder inside the project is configured, or if there is no default.
    pub(super) fn new(
        place: SourceContext<'_>,
        project: &ProjectIdentity,
        configured: Option<&Path>,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let base = find_state_base(environment);
        let folder = match configured {
            Some(folder) => {
                let folder = place.root.join(folder);
                if resolve_real_path(&folder).starts_with(place.root) {
                    let spot = place.locate_key(&["state", "folder"]);
                    return Err(ConfigError::StateInProject { spot });
                }
                folder
            }
            None => base.as_ref().ok_or(ConfigError::NoStateFolder)?.join(project.directory_name()),
        };
        let keys = find_keys_base(&folder, base.as_deref(), environment);
        Ok(Self { folder, base, keys })
    }

    /// Returns the folder of the project's audit keys.
    pub(super) fn keys_folder(&self, project: &ProjectIdentity) -> PathBuf {
        self.keys.join(project.directory_name())
    }

    /// Returns the names denied to tools.
    ///
    /// A root that contains the user's state folder, such as the home folder, also contains the state of all projects. The
    /// folder of keys is below a folder of the same name.
    pub(super) fn private_names(&self, root: &Path) -> Vec<String> {
        let mut names = vec![LEGACY_STATE_FOLDER.to_owned()];
        let mut folders = self.base.iter().chain([&self.keys]);
        if folders.any(|folder| resolve_real_path(folder).starts_with(root)) {
            names.push(STATE_BASE.to_owned());
        }
        names
    }

    /// Returns the private folders that exist or will. A legacy folder that does not exist has no secrets to hide, and
    /// hiding it would split the grant of the project (`link`'s sandbox).
    pub(super) fn hidden_folders(&self, root: &Path) -> Vec<PathBuf> {
        let mut folders = self.private_folders(root);
        let legacy = root.join(LEGACY_STATE_FOLDER);
        folders.retain(|folder| *folder != legacy || legacy.symlink_metadata().is_ok());
        folders
    }

    /// Returns the folders that upstreams must not read either: the state and the audit keys of this and of all other
    /// projects.
    pub(super) fn private_folders(&self, root: &Path) -> Vec<PathBuf> {
        let mut folders: Vec<_> = self.base.iter().cloned().collect();
        for folder in [&self.folder, &self.keys] {
            if !folders.iter().any(|base| folder.starts_with(base)) {
                folders.push(folder.clone());
            }
        }
        folders.push(root.join(LEGACY_STATE_FOLDER));
        folders
    }
}

/// Returns the folder of audit keys: `$XDG_DATA_HOME/vouch/audit-keys`. Without a data folder it is beside the state
/// directories, and without those beside the configured one.
fn find_keys_base(folder: &Path, base: Option<&Path>, environment: &Environment) -> PathBuf {
    let data = environment.data_folder().map(|data| data.join(STATE_BASE));
    match data.as_deref().or(base) {
        Some(base) => base.join(KEYS_BASE),
        None => {
            let mut name = folder.as_os_str().to_owned();
            name.push(format!(".{KEYS_BASE}"));
            name.into()
        }
    }
}

/// Returns `$XDG_STATE_HOME/vouch`, by default `~/.local/state/vouch`. A relative path in a variable does not count, as
/// the XDG specification says.
fn find_state_base(environment: &Environment) -> Option<PathBuf> {
    let absolute = |var| environment.get(var).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute(EnvVar::Home).map(|home| home.join(".local/state"));
    absolute(EnvVar::StateHome).or_else(home).map(|folder| folder.join(STATE_BASE))
}

/// Returns an error if tools could read the token file.
pub(super) fn check_token_file(
    root: &Path,
    private: &[String],
    token: Option<&TokenSource>,
) -> Result<(), ConfigError> {
    let Some(TokenSource::File(path)) = token else { return Ok(()) };
    match find_exposed_path(root, private, path) {
        Some(path) => Err(ConfigError::TokenFile { path }),
        None => Ok(()),
    }
}

/// Returns an error if tools could read the private key of the certificate.
pub(super) fn check_tls_key(
    root: &Path,
    private: &[String],
    key: &Path,
) -> Result<(), ConfigError> {
    match find_exposed_path(root, private, key) {
        Some(path) => Err(ConfigError::TlsKey { path }),
        None => Ok(()),
    }
}

/// Returns the path below the root if the file is where tools can read it.
fn find_exposed_path(root: &Path, private: &[String], path: &Path) -> Option<PathBuf> {
    let file = resolve_real_path(path);
    let below = file.strip_prefix(root).ok()?;
    let mut folders = below.parent().into_iter().flat_map(Path::components);
    let is_private =
        folders.any(|folder| private.iter().any(|name| folder.as_os_str() == name.as_str()));
    (!is_private).then(|| below.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project `app` beside a folder `state`, and `link`, a link into the project.
    fn project() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("app/data")).unwrap();
        std::os::unix::fs::symlink(base.join("app/data"), base.join("link")).unwrap();
        (folder, base)
    }

    fn locate_state(
        root: &Path,
        configured: Option<&str>,
        variables: &[(EnvVar, &Path)],
    ) -> Result<StateLocation, ConfigError> {
        let place = SourceContext { root, source: None };
        let project = ProjectIdentity::read(root).unwrap();
        let environment = Environment::from_values(variables);
        StateLocation::new(place, &project, configured.map(Path::new), &environment)
    }

    #[test]
    fn state_is_below_the_users_state_folder() {
        let (_folder, base) = project();
        let root = base.join("app");
        let name = ProjectIdentity::read(&root).unwrap().directory_name();
        let (home, state) = (base.join("home"), base.join("state"));
        let found = |variables: &[(EnvVar, &Path)]| {
            locate_state(&root, None, variables).map(|location| location.folder)
        };
        let expected = state.join("vouch").join(&name);
        assert_eq!(found(&[(EnvVar::StateHome, &state)]).unwrap(), expected);
        assert_eq!(found(&[(EnvVar::StateHome, &state), (EnvVar::Home, &home)]).unwrap(), expected);
        let expected = home.join(".local/state/vouch").join(&name);
        assert_eq!(found(&[(EnvVar::Home, &home)]).unwrap(), expected);
        // A relative path would put the state into whatever folder is the current one.
        let relative = Path::new("state");
        let both = [(EnvVar::StateHome, relative), (EnvVar::Home, &home)];
        assert_eq!(found(&both).unwrap(), expected);
        for variables in [&[][..], &both[..1], &[(EnvVar::Home, relative)]] {
            assert!(matches!(found(variables), Err(ConfigError::NoStateFolder)));
        }
    }

    #[test]
    fn configured_state_folder_must_be_outside_the_project() {
        let (_folder, base) = project();
        let root = base.join("app");
        for inside in [
            ".vouch",
            "var/keep",
            "none/../keep",
            "../app/keep",
            "../app",
            "../link",
            "../link/deep",
            "none/..",
        ] {
            let found = locate_state(&root, Some(inside), &[]);
            assert!(matches!(found, Err(ConfigError::StateInProject { .. })), "{inside}");
        }
        for outside in ["../app2", "../state", "/var/lib/app"] {
            let found = locate_state(&root, Some(outside), &[]).unwrap();
            assert_eq!(found.folder, root.join(outside), "{outside}");
            let keys = PathBuf::from(format!("{}.audit-keys", root.join(outside).display()));
            let folders = [root.join(outside), keys, root.join(".vouch")];
            assert_eq!(found.private_folders(&root), folders, "{outside}");
        }
    }

    #[test]
    fn state_of_all_projects_is_private() {
        let (_folder, base) = project();
        let (root, state) = (base.join("app"), base.join("state"));
        let variables: [(EnvVar, &Path); 1] = [(EnvVar::StateHome, &state)];
        let own = locate_state(&root, None, &variables).unwrap();
        assert_eq!(own.private_folders(&root), [state.join("vouch"), root.join(".vouch")]);
        assert_eq!(own.hidden_folders(&root), [state.join("vouch")]);
        std::fs::create_dir(root.join(".vouch")).unwrap();
        assert_eq!(own.hidden_folders(&root), own.private_folders(&root));
        assert_eq!(own.private_names(&root), [".vouch"]);
        let other = locate_state(&root, Some("../other"), &variables).unwrap();
        let folders = [state.join("vouch"), root.join("../other"), root.join(".vouch")];
        assert_eq!(other.private_folders(&root), folders);
        // The home folder as a project contains the state of every project.
        let home = locate_state(&base, None, &variables).unwrap();
        assert_eq!(home.private_names(&base), [".vouch", "vouch"]);
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

//! Foundry and Hardhat projects: detection, and loading of their build artifacts.

mod artifacts;
mod foundry;

use std::path::{Path, PathBuf};

use artifacts::{BuildArtifacts, ExpectedSources};
pub(crate) use foundry::FoundryConfig;

use crate::{LoadError, SolidityBuild, Toolchain};

/// Build tool of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectKind {
    Foundry,
    Hardhat,
    /// Some projects are tested with Foundry and deployed with Hardhat.
    Both,
}

impl ProjectKind {
    /// Returns the build tool of a folder, or `None` if it is not a project.
    pub(crate) fn detect(folder: &Path) -> Option<Self> {
        let foundry = folder.join("foundry.toml").is_file();
        let hardhat = ["js", "ts", "cjs", "mjs", "cts", "mts"]
            .iter()
            .any(|ending| folder.join(format!("hardhat.config.{ending}")).is_file());
        match (foundry, hardhat) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Foundry),
            (false, true) => Some(Self::Hardhat),
            (false, false) => None,
        }
    }
}

/// Returns the folder whose files decide how a target is compiled: a folder itself, or the project of a file. Folders
/// above `limit`, which must be canonical, do not count.
pub fn find_project_folder(target: &Path, limit: Option<&Path>) -> PathBuf {
    match target.is_dir() {
        true => target.canonicalize().unwrap_or_else(|_| target.to_owned()),
        false => find_project_root(target, limit),
    }
}

/// Returns the project folder of a source: the nearest ancestor with a project file, otherwise its own folder.
///
/// The search ends at `limit`, and at a folder of another user or that every user can write, such as `/tmp`.
pub(crate) fn find_project_root(source: &Path, limit: Option<&Path>) -> PathBuf {
    let whole = source.canonicalize().unwrap_or_else(|_| source.to_owned());
    let own = whole.parent().unwrap_or(Path::new("."));
    find_marked_folder(own, limit).unwrap_or_else(|| own.to_owned())
}

/// Returns the nearest folder with a project file: the canonical folder itself or one above it, up to the limits of
/// [`find_project_folder`].
pub fn find_marked_folder(own: &Path, limit: Option<&Path>) -> Option<PathBuf> {
    let is_root = |folder: &&Path| {
        let has = |name: &str| folder.join(name).exists();
        ProjectKind::detect(folder).is_some()
            || ["remappings.txt", "package.json", ".git"].into_iter().any(has)
    };
    let may_decide = |folder: &&Path| {
        *folder == own
            || limit.is_none_or(|limit| folder.starts_with(limit)) && has_same_owner(folder, own)
    };
    own.ancestors().take_while(may_decide).find(is_root).map(Path::to_owned)
}

/// Returns true if a folder belongs to the user of another one, and other users cannot write it.
#[cfg(unix)]
fn has_same_owner(folder: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const OTHERS_WRITE: u32 = 0o002;
    let metadata = folder.metadata().ok().zip(other.metadata().ok());
    metadata.is_some_and(|(folder, other)| {
        folder.uid() == other.uid() && folder.mode() & OTHERS_WRITE == 0
    })
}

#[cfg(not(unix))]
fn has_same_owner(_: &Path, _: &Path) -> bool {
    true
}

/// Loads the build of a project.
pub(crate) fn load_project(
    kind: ProjectKind,
    root: &Path,
    toolchain: &Toolchain,
) -> Result<SolidityBuild, LoadError> {
    match kind {
        ProjectKind::Foundry => foundry::load_foundry_project(root, toolchain),
        ProjectKind::Hardhat => hardhat_artifacts(root, toolchain).load(),
        ProjectKind::Both => match foundry::load_foundry_project(root, toolchain) {
            Err(LoadError::NotBuilt { .. })
                if hardhat_artifacts(root, toolchain).has_build_info() =>
            {
                hardhat_artifacts(root, toolchain).load()
            }
            outcome => outcome,
        },
    }
}

/// Returns the artifacts of a Hardhat project. Hardhat itself is never run: its configuration is a program, and `npx`
/// may access the network.
fn hardhat_artifacts(root: &Path, toolchain: &Toolchain) -> BuildArtifacts {
    BuildArtifacts {
        root: root.to_owned(),
        folder: root.join("artifacts").join("build-info"),
        source_folders: vec!["contracts".to_owned()],
        expected: ExpectedSources::All,
        is_contained: !toolchain.project.allows_settings(root),
        command: "npx hardhat compile --force",
    }
}

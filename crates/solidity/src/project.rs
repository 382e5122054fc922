//! Foundry and Hardhat projects: detection, and loading of their build artifacts.

mod artifacts;
mod foundry;
mod foundry_config;
mod sources;

use std::path::{Path, PathBuf};

use artifacts::{BuildArtifacts, ExpectedSources};
pub(crate) use foundry_config::FoundryConfig;
use sources::compile_project;
pub(crate) use sources::create_resolver;

use crate::driver::defines_contract;
use crate::load::LoadedBuild;
use crate::{LoadError, Toolchain};

/// The part of a project that is needed. What it does not import may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuildTarget<'a> {
    /// A contract, as `Name` or `path:Name`.
    pub(crate) contract: Option<&'a str>,
    /// A source, by its path in the project.
    pub(crate) source: Option<&'a str>,
}

impl<'a> BuildTarget<'a> {
    pub(crate) fn contract(contract: Option<&'a str>) -> Self {
        Self { contract, source: None }
    }

    /// Returns true if a source with this path may define the wanted contract, and does.
    fn is_defined_in(&self, root: &Path, path: &str) -> bool {
        let Some(wanted) = self.contract else { return false };
        let (end, name) = wanted.rsplit_once(':').unwrap_or(("", wanted));
        Path::new(path).ends_with(end.trim_start_matches("./"))
            && defines_contract(&root.join(path), name)
    }
}

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

/// Returns true if a folder is a Foundry or Hardhat project.
pub fn is_project_folder(folder: &Path) -> bool {
    ProjectKind::detect(folder).is_some()
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

/// Loads the build of a project, or compiles it.
pub(crate) fn load_project(
    kind: ProjectKind,
    root: &Path,
    target: BuildTarget<'_>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    match kind {
        ProjectKind::Foundry => foundry::load_foundry_project(root, target, toolchain),
        ProjectKind::Hardhat => load_hardhat_project(root, target, toolchain),
        ProjectKind::Both => {
            let hardhat = hardhat_artifacts(root, toolchain);
            match foundry::load_built_foundry(root, target, toolchain) {
                Err(LoadError::NotBuilt { .. }) if hardhat.has_build_info() => hardhat
                    .load(target)
                    .or_else(|_| foundry::load_foundry_project(root, target, toolchain)),
                Ok(built) => Ok(built),
                Err(_) => foundry::load_foundry_project(root, target, toolchain),
            }
        }
    }
}

/// Loads the artifacts of a project without compiling its sources here. Returns `None` if it is not a project.
pub(crate) fn load_built_project(
    root: &Path,
    target: BuildTarget<'_>,
    toolchain: &Toolchain,
) -> Option<Result<LoadedBuild, LoadError>> {
    Some(match ProjectKind::detect(root)? {
        ProjectKind::Foundry | ProjectKind::Both => {
            foundry::load_built_foundry(root, target, toolchain)
        }
        ProjectKind::Hardhat => hardhat_artifacts(root, toolchain).load(target),
    })
}

/// Loads the artifacts of a Hardhat project, or compiles its sources. Hardhat itself is never run: its configuration is a
/// program, and `npx` may access the network.
fn load_hardhat_project(
    root: &Path,
    target: BuildTarget<'_>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    let error = match hardhat_artifacts(root, toolchain).load(target) {
        // Its user has to correct the sources anyway.
        Err(error @ LoadError::FailedBuild { .. }) => return Err(error),
        Err(error) => error,
        built => return built,
    };
    let mut loaded = match compile_project(root, None, target, toolchain) {
        Err(LoadError::MissingCompiler(missing)) => {
            return Err(LoadError::NotCompiled { artifacts: Box::new(error), missing });
        }
        outcome => outcome?,
    };
    if toolchain.options.optimizer_runs.is_none() && !toolchain.options.via_ir {
        loaded.notes.push(
            "compiled with solc's default settings, because a Hardhat configuration is a program; set others with \
             `--solc-args`, or run `npx hardhat compile` first"
                .to_owned(),
        );
    }
    Ok(loaded)
}

/// Returns the artifacts of a Hardhat project.
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

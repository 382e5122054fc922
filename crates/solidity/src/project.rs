//! Projects: which kind a folder is, and its artefacts.

mod artefacts;
mod foundry;

use std::path::{Path, PathBuf};

use artefacts::{Artefacts, Expected};
pub(crate) use foundry::FoundryConfig;

use crate::{Build, LoadError, Toolchain};

/// Who builds a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Foundry,
    Hardhat,
    /// Some use Hardhat to deploy what they test with Foundry.
    Both,
}

impl Kind {
    /// None if the folder is no project.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
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

/// The folder of the project that a source belongs to: the nearest above it that says so, else its own folder.
pub(crate) fn root_of(source: &Path) -> PathBuf {
    let whole = source.canonicalize().unwrap_or_else(|_| source.to_owned());
    let says_so = |folder: &&Path| {
        let has = |name: &str| folder.join(name).exists();
        Kind::of(folder).is_some()
            || ["remappings.txt", "package.json", ".git"].into_iter().any(has)
    };
    let own = whole.parent().unwrap_or(Path::new(".")).to_owned();
    whole.ancestors().skip(1).find(says_so).map_or(own, Path::to_owned)
}

/// The build of a project.
pub(crate) fn load(kind: Kind, root: &Path, toolchain: &Toolchain) -> Result<Build, LoadError> {
    match kind {
        Kind::Foundry => foundry::load(root, toolchain),
        Kind::Hardhat => hardhat(root).load(),
        Kind::Both => match foundry::load(root, toolchain) {
            Err(LoadError::NotBuilt { .. }) if hardhat(root).exist() => hardhat(root).load(),
            outcome => outcome,
        },
    }
}

/// Hardhat is never run from here: its configuration is a program, and `npx` may fetch.
fn hardhat(root: &Path) -> Artefacts {
    Artefacts {
        root: root.to_owned(),
        folder: root.join("artifacts").join("build-info"),
        source_folders: vec!["contracts".to_owned()],
        expected: Expected::All,
        command: "npx hardhat compile --force",
    }
}

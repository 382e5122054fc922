//! Foundry projects: what `foundry.toml` says, and `forge` where its artefacts are missing or out of date.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::artefacts::{Artefacts, Expected};
use crate::toolchain::{Finished, run};
use crate::{Build, CompileErrors, LoadError, ToolError, Toolchain, read};

/// Without `--force` forge leaves out of the build-info what it has compiled before.
const BUILD: [&str; 4] = ["build", "--build-info", "--ast", "--force"];
const COMMAND: &str = "forge build --build-info --ast --force";

/// forge reports to people, so there is little to read.
const MAX_REPORT: u64 = 4 << 20;

/// What matters here of the default profile in `foundry.toml`, with Foundry's defaults.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(crate) struct FoundryConfig {
    src: String,
    test: String,
    out: String,
    build_info_path: Option<String>,
    /// Patterns of files that are not built.
    skip: Option<toml::Value>,
    pub(crate) libs: Vec<String>,
    pub(crate) remappings: Vec<String>,
}

impl Default for FoundryConfig {
    fn default() -> Self {
        Self {
            src: "src".to_owned(),
            test: "test".to_owned(),
            out: "out".to_owned(),
            build_info_path: None,
            skip: None,
            libs: vec!["lib".to_owned()],
            remappings: Vec::new(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Profiles {
    profile: Profile,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Profile {
    default: FoundryConfig,
}

impl FoundryConfig {
    /// None if there is no `foundry.toml`.
    pub(crate) fn read(root: &Path) -> Result<Option<Self>, LoadError> {
        let path = root.join("foundry.toml");
        if !path.is_file() {
            return Ok(None);
        }
        let text = read::text(&path, read::MAX_CONFIG)?;
        match toml::from_str::<Profiles>(&text) {
            Ok(profiles) => Ok(Some(profiles.profile.default)),
            Err(source) => Err(LoadError::Config { path, source: Box::new(source) }),
        }
    }

    fn artefacts(&self, root: &Path) -> Artefacts {
        let folder = match &self.build_info_path {
            Some(path) => root.join(path),
            None => root.join(&self.out).join("build-info"),
        };
        Artefacts {
            root: root.to_owned(),
            folder,
            source_folders: vec![self.src.clone(), self.test.clone()],
            expected: if self.skip.is_none() { Expected::All } else { Expected::BuiltBefore },
            command: COMMAND,
        }
    }
}

/// The project's artefacts, built by `forge` where they are not good and it is there.
pub(super) fn load(root: &Path, toolchain: &Toolchain) -> Result<Build, LoadError> {
    let config = FoundryConfig::read(root)?.unwrap_or_default();
    let mut artefacts = config.artefacts(root);
    match (artefacts.load(), toolchain.forge()) {
        (Ok(build), _) => Ok(build),
        (Err(error), None) => Err(error),
        (Err(_), Some(forge)) => {
            build(&forge, root, toolchain)?;
            // What forge has left out of its own build is left out on purpose.
            artefacts.expected = Expected::Any;
            artefacts.load()
        }
    }
}

fn build(forge: &Path, root: &Path, toolchain: &Toolchain) -> Result<(), LoadError> {
    let mut command = Command::new(forge);
    command.current_dir(root).args(BUILD).args(["--color", "never"]);
    if let Some(solc) = toolchain.named_native() {
        command.arg("--use").arg(std::path::absolute(&solc).unwrap_or(solc));
    }
    let finished = run(command, &[], MAX_REPORT)?;
    if finished.status.success() {
        return Ok(());
    }
    Err(rejected(&finished, root).unwrap_or_else(|| {
        let status = finished.status.to_string();
        ToolError::Failed { program: forge.to_owned(), status, said: finished.said() }.into()
    }))
}

/// The errors of the compiler, which forge reports one after the other under a heading.
fn rejected(finished: &Finished, root: &Path) -> Option<LoadError> {
    const HEADING: &str = "Compiler run failed:\n";
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let (_, report) =
        [&*finished.stderr, &*stdout].into_iter().find_map(|text| text.split_once(HEADING))?;
    let messages = report.split("\n\n").map(str::to_owned);
    Some(LoadError::Compile { path: root.to_owned(), errors: CompileErrors::new(messages) })
}

//! Foundry projects: reads `foundry.toml`, and runs `forge` if artifacts are missing or stale.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::artifacts::{BuildArtifacts, ExpectedSources};
use crate::toolchain::{ProgramOutput, run_program};
use crate::{CompileErrors, LoadError, SolidityBuild, Toolchain, ToolchainError, bounded_file};

/// Without `--force`, forge omits previously compiled sources from the build-info.
const BUILD: [&str; 4] = ["build", "--build-info", "--ast", "--force"];
const COMMAND: &str = "forge build --build-info --ast --force";

/// Maximum bytes of forge's output, which is a short report.
const MAX_REPORT: u64 = 4 << 20;

/// Relevant fields of the default profile in `foundry.toml`, with Foundry's defaults.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(crate) struct FoundryConfig {
    src: String,
    test: String,
    out: String,
    build_info_path: Option<String>,
    /// Patterns of files that are not compiled.
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
struct FoundryConfigFile {
    profile: FoundryConfigProfiles,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FoundryConfigProfiles {
    default: FoundryConfig,
}

impl FoundryConfig {
    /// Reads `foundry.toml`. Returns `None` if it does not exist.
    pub(crate) fn read(root: &Path) -> Result<Option<Self>, LoadError> {
        let path = root.join("foundry.toml");
        if !path.is_file() {
            return Ok(None);
        }
        let text = bounded_file::read_contained_text(root, &path)?;
        match toml::from_str::<FoundryConfigFile>(&text) {
            Ok(profiles) => Ok(Some(profiles.profile.default)),
            Err(source) => Err(LoadError::InvalidConfig { path, source: Box::new(source) }),
        }
    }

    /// Errors if a folder of an untrusted project is outside of it.
    fn check_folders(&self, root: &Path) -> Result<(), LoadError> {
        let named = [&self.src, &self.test, &self.out].into_iter().chain(&self.build_info_path);
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        for name in named {
            let whole = root.join(name);
            let is_plain = Path::new(name).components().all(|part| {
                matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
            });
            let is_inside = whole.canonicalize().map_or(true, |whole| whole.starts_with(&root));
            if !is_plain || !is_inside {
                return Err(LoadError::OutsideProject(whole));
            }
        }
        Ok(())
    }

    fn artifacts(&self, root: &Path, is_contained: bool) -> BuildArtifacts {
        let folder = match &self.build_info_path {
            Some(path) => root.join(path),
            None => root.join(&self.out).join("build-info"),
        };
        BuildArtifacts {
            root: root.to_owned(),
            folder,
            source_folders: vec![self.src.clone(), self.test.clone()],
            expected: if self.skip.is_none() {
                ExpectedSources::All
            } else {
                ExpectedSources::BuiltBefore
            },
            is_contained,
            command: COMMAND,
        }
    }
}

/// Loads the artifacts of a project. If they are unusable and `forge` is available, it rebuilds them.
pub(super) fn load_foundry_project(
    root: &Path,
    toolchain: &Toolchain,
) -> Result<SolidityBuild, LoadError> {
    let config = FoundryConfig::read(root)?.unwrap_or_default();
    let is_contained = !toolchain.project.allows_settings(root);
    if is_contained {
        config.check_folders(root)?;
    }
    let mut artifacts = config.artifacts(root, is_contained);
    match (artifacts.load(), toolchain.find_forge(root)) {
        (Ok(build), _) => Ok(build),
        (Err(error), None) => Err(error),
        (Err(_), Some(forge)) => {
            run_forge_build(&forge, root, toolchain)?;
            // Sources that forge omitted from its own build are omitted intentionally.
            artifacts.expected = ExpectedSources::Any;
            artifacts.load()
        }
    }
}

fn run_forge_build(forge: &Path, root: &Path, toolchain: &Toolchain) -> Result<(), LoadError> {
    let mut command = Command::new(forge);
    command.current_dir(root).args(BUILD).args(["--color", "never"]);
    if let Some(solc) = toolchain.find_named_native() {
        command.arg("--use").arg(std::path::absolute(&solc).unwrap_or(solc));
    }
    let finished = run_program(command, &toolchain.path, &[], MAX_REPORT)?;
    if finished.status.success() {
        return Ok(());
    }
    Err(parse_compile_errors(&finished, root).unwrap_or_else(|| {
        let status = finished.status.to_string();
        ToolchainError::Failed { program: forge.to_owned(), status, output: finished.summary() }
            .into()
    }))
}

/// Returns the compiler errors, which forge lists under a heading.
fn parse_compile_errors(finished: &ProgramOutput, root: &Path) -> Option<LoadError> {
    const HEADING: &str = "Compiler run failed:\n";
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let (_, report) =
        [&*finished.stderr, &*stdout].into_iter().find_map(|text| text.split_once(HEADING))?;
    let messages = report.split("\n\n").map(str::to_owned);
    Some(LoadError::CompileFailed { path: root.to_owned(), errors: CompileErrors::new(messages) })
}

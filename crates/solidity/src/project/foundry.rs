//! Foundry projects: uses their artifacts, builds them with `forge`, or compiles them.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::artifacts::{BuildArtifacts, ExpectedSources};
use super::sources::compile_project;
use super::{BuildTarget, FoundryConfig};
use crate::load::LoadedBuild;
use crate::toolchain::{ProgramOutput, run_program};
use crate::{CompileErrors, LoadError, Toolchain, ToolchainError};

/// Without `--force`, forge omits previously compiled sources from the build-info. Offline, it installs no compiler.
const BUILD: [&str; 5] = ["build", "--build-info", "--ast", "--force", "--offline"];
const COMMAND: &str = "forge build --build-info --ast --force";

/// Maximum bytes of forge's output, which is a short report.
const MAX_REPORT: u64 = 4 << 20;

impl FoundryConfig {
    /// Errors if a folder of an untrusted project is outside of it.
    fn check_folders(&self, root: &Path) -> Result<(), LoadError> {
        let named = [&self.src, &self.test, &self.script, &self.out]
            .into_iter()
            .chain(&self.build_info_path);
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        for name in named.chain(&self.libs) {
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
            expected: match self.skip.is_empty() {
                true => ExpectedSources::All,
                false => ExpectedSources::BuiltBefore,
            },
            is_contained,
            command: COMMAND,
        }
    }
}

/// Loads the artifacts of a project. If they are unusable, `forge` builds it if it is available, or its sources are
/// compiled.
pub(super) fn load_foundry_project(
    root: &Path,
    target: BuildTarget<'_>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    let config = FoundryConfig::read(root, toolchain.profile.as_deref())?.unwrap_or_default();
    let error = match load_built(root, &config, target, toolchain)? {
        Ok(built) => return Ok(built),
        Err(error) => error,
    };
    let mut loaded = match compile_project(root, Some(&config), target, toolchain) {
        Err(LoadError::MissingCompiler(missing)) => {
            return Err(LoadError::NotCompiled { artifacts: Box::new(error), missing });
        }
        outcome => outcome?,
    };
    loaded.notes.extend(config.list_ineffective());
    Ok(loaded)
}

/// Loads the artifacts of the project at `root`, which `forge` builds if they are unusable.
pub(super) fn load_built_foundry(
    root: &Path,
    target: BuildTarget<'_>,
    toolchain: &Toolchain,
) -> Result<LoadedBuild, LoadError> {
    let config = FoundryConfig::read(root, toolchain.profile.as_deref())?.unwrap_or_default();
    load_built(root, &config, target, toolchain)?
}

/// Returns the artifacts, or the reason that they are unusable. Errors that compiling would not solve come first.
fn load_built(
    root: &Path,
    config: &FoundryConfig,
    target: BuildTarget<'_>,
    toolchain: &Toolchain,
) -> Result<Result<LoadedBuild, LoadError>, LoadError> {
    let is_contained = !toolchain.project.allows_settings(root);
    if is_contained {
        config.check_folders(root)?;
    }
    let mut artifacts = config.artifacts(root, is_contained);
    let error = match artifacts.load(target) {
        Ok(built) => return Ok(Ok(built)),
        Err(error) => error,
    };
    let Some(forge) = toolchain.find_forge(root) else { return Ok(Err(error)) };
    match run_forge_build(&forge, root, toolchain)? {
        ForgeOutcome::Built => {
            // Sources that forge omitted from its own build are omitted intentionally.
            artifacts.expected = ExpectedSources::Any;
            artifacts.load(target).map(Ok)
        }
        ForgeOutcome::MissesCompiler => Ok(Err(error)),
    }
}

/// The end of a build by `forge` that did not fail.
enum ForgeOutcome {
    Built,
    /// It lacks a compiler, which only its user may have it install.
    MissesCompiler,
}

fn run_forge_build(
    forge: &Path,
    root: &Path,
    toolchain: &Toolchain,
) -> Result<ForgeOutcome, LoadError> {
    let mut command = Command::new(forge);
    command.current_dir(root).args(BUILD).args(["--color", "never"]);
    if let Some(profile) = &toolchain.profile {
        command.env("FOUNDRY_PROFILE", profile);
    }
    if let Some(solc) = toolchain.find_named_native() {
        command.arg("--use").arg(std::path::absolute(&solc).unwrap_or(solc));
    }
    let limits = toolchain.compile_limits(MAX_REPORT);
    let finished = run_program(command, &toolchain.path, &Arc::from(""), limits)?;
    if finished.status.success() {
        return Ok(ForgeOutcome::Built);
    }
    if let Some(error) = parse_compile_errors(&finished, root) {
        return Err(error);
    }
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let lacks_compiler = |text: &str| text.contains("offline") || text.contains("No solc version");
    if lacks_compiler(&finished.stderr) || lacks_compiler(&stdout) {
        return Ok(ForgeOutcome::MissesCompiler);
    }
    let status = finished.status.to_string();
    let error =
        ToolchainError::Failed { program: forge.to_owned(), status, output: finished.summary() };
    Err(error.into())
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

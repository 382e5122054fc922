//! Runs the npm package `solc`: the compiler as WebAssembly in Node.js.

use std::path::Path;
use std::process::Command;

use super::ImportPaths;
use crate::ToolchainError;
use crate::toolchain::ProgramOutput;

/// Script that compiles standard JSON from stdin to stdout and resolves imports from disk.
const DRIVER: &str = include_str!("driver.js");

/// Compiles the standard JSON that `run` gives it; imports are limited to the root.
pub(super) fn run_npm_solc(
    node: &Path,
    package: &Path,
    imports: &ImportPaths,
    run: impl Fn(Command) -> Result<ProgramOutput, ToolchainError>,
) -> Result<ProgramOutput, ToolchainError> {
    let cannot = |source| ToolchainError::StartFailed { program: package.to_owned(), source };
    let package = std::path::absolute(package).map_err(cannot)?;
    let mut command = Command::new(node);
    command.current_dir(&imports.working_folder).arg("-e").arg(DRIVER).arg("--");
    command.arg(package).arg(&imports.root).args(&imports.include_folders);
    run(command)
}

//! Runs the npm package `solc`: the compiler as WebAssembly in Node.js.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ImportPaths;
use crate::ToolchainError;
use crate::bounded_file::MAX_JSON;
use crate::toolchain::{ProgramOutput, run_program};

/// Script that compiles standard JSON from stdin to stdout and resolves imports from disk.
const DRIVER: &str = include_str!("driver.js");

/// Compiles the standard JSON `input`; imports are limited to the root.
pub(super) fn run_npm_solc(
    node: &Path,
    package: &Path,
    imports: &ImportPaths,
    path: &[PathBuf],
    input: &str,
) -> Result<ProgramOutput, ToolchainError> {
    let cannot = |source| ToolchainError::StartFailed { program: package.to_owned(), source };
    let package = std::path::absolute(package).map_err(cannot)?;
    let mut command = Command::new(node);
    command.current_dir(&imports.working_folder).arg("-e").arg(DRIVER).arg("--");
    command.arg(package).arg(&imports.root).args(&imports.include_folders);
    run_program(command, path, input.as_bytes(), MAX_JSON)
}

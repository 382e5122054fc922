//! Driving the npm package `solc`: the compiler as WebAssembly, run by Node.js.

use std::path::Path;
use std::process::Command;

use super::Imports;
use crate::ToolError;
use crate::read::MAX_JSON;
use crate::toolchain::{Finished, run as run_program};

/// Reads standard JSON, writes standard JSON, and finds imports on disk.
const DRIVER: &str = include_str!("driver.js");

/// Compiles the standard JSON `input` with imports from below the root.
pub(super) fn run(
    node: &Path,
    package: &Path,
    imports: &Imports,
    input: &str,
) -> Result<Finished, ToolError> {
    let cannot = |source| ToolError::CannotStart { program: package.to_owned(), source };
    let package = std::path::absolute(package).map_err(cannot)?;
    let mut command = Command::new(node);
    command.current_dir(&imports.root).arg("-e").arg(DRIVER).arg("--");
    command.arg(package).arg(&imports.root).args(&imports.more);
    run_program(command, input.as_bytes(), MAX_JSON)
}

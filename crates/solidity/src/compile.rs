//! Runs a native or npm compiler on standard JSON.
//!
//! The input contains every source that was found. The compiler itself looks only for what was not, within the project
//! folder.

mod native;
mod npm_package;

use std::path::PathBuf;
use std::sync::Arc;

use crate::bounded_file::MAX_JSON;
use crate::toolchain::{ProgramOutput, SolcCompiler, run_program};
use crate::{Toolchain, ToolchainError};

/// Folders in which a compiler searches imports that it was not given.
pub(crate) struct ImportPaths {
    /// Project folder; files outside of it are never read.
    pub(crate) root: PathBuf,
    /// Further existing folders, in search order after the root.
    pub(crate) include_folders: Vec<PathBuf>,
    /// Folder in which the compiler runs.
    pub(crate) working_folder: PathBuf,
}

/// Compiles the standard JSON `input`.
pub(crate) fn run_compiler(
    compiler: &SolcCompiler,
    imports: &ImportPaths,
    toolchain: &Toolchain,
    input: &Arc<str>,
) -> Result<ProgramOutput, ToolchainError> {
    let run =
        |command| run_program(command, &toolchain.path, input, toolchain.compile_limits(MAX_JSON));
    match compiler {
        SolcCompiler::Native(solc) => native::run_native_solc(solc, imports, run),
        SolcCompiler::Package { node, folder } => {
            npm_package::run_npm_solc(node, folder, imports, run)
        }
    }
}

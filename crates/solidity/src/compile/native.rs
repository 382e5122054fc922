//! Runs a native `solc`.

use std::path::Path;
use std::process::Command;

use super::ImportPaths;
use crate::ToolchainError;
use crate::toolchain::ProgramOutput;

/// Compiles the standard JSON that `run` gives it; imports are limited to the root.
///
/// `--include-path` requires solc 0.8.8 and `--base-path` requires 0.6.9. Querying the version first would start the
/// compiler twice each time, so an option is dropped only after the compiler rejected it.
pub(super) fn run_native_solc(
    solc: &Path,
    imports: &ImportPaths,
    run: impl Fn(Command) -> Result<ProgramOutput, ToolchainError>,
) -> Result<ProgramOutput, ToolchainError> {
    let run_with = |options| run(create_command(solc, imports, options)?);
    let mut last = run_with(ImportOptions::All)?;
    for options in [ImportOptions::NoIncludePath, ImportOptions::NoBasePath] {
        if !rejects_option(&last) {
            break;
        }
        last = run_with(options)?;
    }
    Ok(last)
}

/// Import path options passed to solc.
#[derive(Clone, Copy, PartialEq)]
enum ImportOptions {
    All,
    NoIncludePath,
    NoBasePath,
}

fn create_command(
    solc: &Path,
    imports: &ImportPaths,
    options: ImportOptions,
) -> Result<Command, ToolchainError> {
    let root = &imports.root;
    let cannot = |source| ToolchainError::StartFailed { program: solc.to_owned(), source };
    let mut command = Command::new(std::path::absolute(solc).map_err(cannot)?);
    // Without a base path, the compiler resolves imports from its working directory. It was given all that were found.
    command
        .current_dir(&imports.working_folder)
        .arg("--standard-json")
        .arg("--allow-paths")
        .arg(root);
    if options != ImportOptions::NoBasePath {
        command.arg("--base-path").arg(root);
    }
    if options == ImportOptions::All {
        for folder in &imports.include_folders {
            command.arg("--include-path").arg(folder);
        }
    }
    Ok(command)
}

/// Returns true if solc rejected an option. The text is that of its command-line parser.
fn rejects_option(finished: &ProgramOutput) -> bool {
    !finished.status.success() && finished.stderr.contains("unrecognised option")
}

//! Driving a native `solc`.

use std::path::Path;
use std::process::Command;

use super::Imports;
use crate::ToolError;
use crate::read::MAX_JSON;
use crate::toolchain::{Finished, run as run_program};

/// Compiles the standard JSON `input` with imports from below the root.
///
/// `--include-path` came with solc 0.8.8 and `--base-path` with 0.6.9. Asking for the version first would cost a
/// second start of the compiler each time, so an option is left out only after it was refused.
pub(super) fn run(solc: &Path, imports: &Imports, input: &str) -> Result<Finished, ToolError> {
    let mut last = attempt(solc, imports, input, Options::All)?;
    for options in [Options::NoIncludePath, Options::NoBasePath] {
        if !refuses_option(&last) {
            break;
        }
        last = attempt(solc, imports, input, options)?;
    }
    Ok(last)
}

#[derive(Clone, Copy, PartialEq)]
enum Options {
    All,
    NoIncludePath,
    NoBasePath,
}

fn attempt(
    solc: &Path,
    imports: &Imports,
    input: &str,
    options: Options,
) -> Result<Finished, ToolError> {
    let root = &imports.root;
    let mut command = Command::new(solc);
    // Without a base path the compiler reads imports relative to where it runs.
    command.current_dir(root).arg("--standard-json").arg("--allow-paths").arg(root);
    if options != Options::NoBasePath {
        command.arg("--base-path").arg(root);
    }
    if options == Options::All {
        for folder in &imports.more {
            command.arg("--include-path").arg(folder);
        }
    }
    run_program(command, input.as_bytes(), MAX_JSON)
}

/// The words of the library by which solc reads its command line.
fn refuses_option(finished: &Finished) -> bool {
    !finished.status.success() && finished.stderr.contains("unrecognised option")
}

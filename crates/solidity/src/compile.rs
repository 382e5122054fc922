//! Compiles one file: builds the standard JSON input and runs a native or npm compiler.
//!
//! The compiler resolves imports itself, within the project folder only.

mod native;
mod npm_package;
mod remappings;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::format::standard;
use crate::staleness::{self, SourceRoots};
use crate::toolchain::{ProgramOutput, SolcCompiler};
use crate::{
    CompileOptions, LoadError, SolidityBuild, Toolchain, ToolchainError, bounded_file, merge,
};

/// Folders in which imports are searched.
struct ImportPaths {
    /// Project folder; files outside of it are never read.
    root: PathBuf,
    /// Further existing folders, in search order after the root.
    include_folders: Vec<PathBuf>,
}

impl ImportPaths {
    /// Includes the folder of the file itself: sources often import neighbors without `./`, which the compiler resolves
    /// from the root.
    fn new(file: &Path, root: PathBuf) -> Self {
        let own = file.parent().filter(|folder| *folder != root && folder.starts_with(&root));
        // The compiler may read every folder in the list, also where a link leads out of the project.
        let is_inside = |folder: &PathBuf| {
            folder.is_dir() && folder.canonicalize().is_ok_and(|real| real.starts_with(&root))
        };
        let modules = Some(root.join("node_modules")).filter(is_inside);
        Self { include_folders: own.map(Path::to_owned).into_iter().chain(modules).collect(), root }
    }
}

/// Compiles the file `path` of the project at `root`.
pub(crate) fn compile_file(
    path: &Path,
    root: &Path,
    compiler: &SolcCompiler,
    toolchain: &Toolchain,
) -> Result<SolidityBuild, LoadError> {
    let (options, path_folders) = (&toolchain.options, &toolchain.path);
    let text = bounded_file::read_text(path, bounded_file::MAX_SOURCE)?;
    let whole = canonicalize_path(path)?;
    let imports = ImportPaths::new(&whole, canonicalize_path(root)?);
    let mut remappings = options.remappings.clone();
    remappings.extend(remappings::load_remappings(&imports.root)?);
    let name = source_name(&whole, &imports.root);
    let input = build_standard_input(&name, &text, remappings, options).to_string();
    let (program, finished) = match compiler {
        SolcCompiler::Native(solc) => {
            (solc, native::run_native_solc(solc, &imports, path_folders, &input)?)
        }
        SolcCompiler::Package { node, folder } => {
            (folder, npm_package::run_npm_solc(node, folder, &imports, path_folders, &input)?)
        }
    };
    parse_output(path, &imports, program, &finished)
}

fn canonicalize_path(path: &Path) -> Result<PathBuf, LoadError> {
    path.canonicalize().map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })
}

/// Returns the path of the file for the compiler, from which relative imports are resolved.
fn source_name(file: &Path, root: &Path) -> String {
    match file.strip_prefix(root) {
        Ok(below) => {
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            parts.join("/")
        }
        Err(_) => file.to_string_lossy().into_owned(),
    }
}

/// Returns the standard JSON input for one source.
fn build_standard_input(
    name: &str,
    text: &str,
    remappings: Vec<String>,
    options: &CompileOptions,
) -> Value {
    let mut settings = json!({
        "remappings": remappings,
        "outputSelection": { "*": { "": ["ast"], "*": [
            "abi", "metadata",
            "evm.bytecode.object", "evm.bytecode.sourceMap", "evm.bytecode.linkReferences",
            "evm.deployedBytecode.object", "evm.deployedBytecode.sourceMap",
            "evm.deployedBytecode.linkReferences", "evm.deployedBytecode.immutableReferences",
        ] } },
    });
    // Old compilers reject unknown settings, so only requested settings are present.
    if let Some(runs) = options.optimizer_runs {
        settings["optimizer"] = json!({ "enabled": true, "runs": runs });
    }
    if let Some(version) = &options.evm_version {
        settings["evmVersion"] = json!(version);
    }
    if options.via_ir {
        settings["viaIR"] = json!(true);
    }
    json!({
        "language": "Solidity",
        "sources": { name: { "content": text } },
        "settings": settings,
    })
}

/// Parses the standard JSON output of a compiler that ended.
fn parse_output(
    path: &Path,
    imports: &ImportPaths,
    program: &Path,
    finished: &ProgramOutput,
) -> Result<SolidityBuild, LoadError> {
    let output = std::str::from_utf8(&finished.stdout).ok().and_then(standard::parse_standard);
    let Some(output) = output else {
        let (program, output) = (program.to_owned(), finished.summary());
        return Err(match finished.status.success() {
            true => ToolchainError::InvalidOutput { program, output },
            false => {
                ToolchainError::Failed { program, status: finished.status.to_string(), output }
            }
        }
        .into());
    };
    if let Some(errors) = output.compile_errors() {
        return Err(LoadError::CompileFailed { path: path.to_owned(), errors });
    }
    let mut build = output.into_build(path)?;
    let folders = [&imports.root].into_iter().chain(&imports.include_folders);
    staleness::fill_source_texts(&mut build, &SourceRoots::new(folders.map(PathBuf::as_path)));
    Ok(merge::merge_units(vec![build]))
}

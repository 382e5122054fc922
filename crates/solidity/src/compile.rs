//! Compiling one file: the input for `--standard-json`, and the two kinds of compiler that take it.
//!
//! The compiler itself finds what the file imports, below the project's folder only.

mod native;
mod package;
mod remappings;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::format::standard;
use crate::fresh::{self, Disk};
use crate::toolchain::{Compiler, Finished};
use crate::{Build, CompileOptions, LoadError, ToolError, merge, read};

/// Where imports are found.
struct Imports {
    /// Nothing outside of it is read.
    root: PathBuf,
    /// Tried in this order after the root, as far as they are there.
    more: Vec<PathBuf>,
}

impl Imports {
    /// Sources often name their neighbours without `./`, which the compiler takes for a path from the root.
    fn new(file: &Path, root: PathBuf) -> Self {
        let own = file.parent().filter(|folder| *folder != root && folder.starts_with(&root));
        let modules = Some(root.join("node_modules")).filter(|folder| folder.is_dir());
        Self { more: own.map(Path::to_owned).into_iter().chain(modules).collect(), root }
    }
}

/// Compiles `path`, a file of the project at `root`.
pub(crate) fn file(
    path: &Path,
    root: &Path,
    compiler: &Compiler,
    options: &CompileOptions,
) -> Result<Build, LoadError> {
    let text = read::text(path, read::MAX_SOURCE)?;
    let whole = canonical(path)?;
    let imports = Imports::new(&whole, canonical(root)?);
    let mut remappings = options.remappings.clone();
    remappings.extend(remappings::of_project(&imports.root)?);
    let name = source_name(&whole, &imports.root);
    let input = input(&name, &text, remappings, options).to_string();
    let (program, finished) = match compiler {
        Compiler::Native(solc) => (solc, native::run(solc, &imports, &input)?),
        Compiler::Package { node, folder } => {
            (folder, package::run(node, folder, &imports, &input)?)
        }
    };
    understand(path, &imports, program, &finished)
}

fn canonical(path: &Path) -> Result<PathBuf, LoadError> {
    path.canonicalize().map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })
}

/// The path by which the compiler knows the file, and by which imports relative to it are found.
fn source_name(file: &Path, root: &Path) -> String {
    match file.strip_prefix(root) {
        Ok(below) => {
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            parts.join("/")
        }
        Err(_) => file.to_string_lossy().into_owned(),
    }
}

fn input(name: &str, text: &str, remappings: Vec<String>, options: &CompileOptions) -> Value {
    let mut settings = json!({
        "remappings": remappings,
        "outputSelection": { "*": { "": ["ast"], "*": [
            "abi", "metadata",
            "evm.bytecode.object", "evm.bytecode.sourceMap", "evm.bytecode.linkReferences",
            "evm.deployedBytecode.object", "evm.deployedBytecode.sourceMap",
            "evm.deployedBytecode.linkReferences", "evm.deployedBytecode.immutableReferences",
        ] } },
    });
    // Old compilers reject settings that they do not know, so only those that were asked for are there.
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

fn understand(
    path: &Path,
    imports: &Imports,
    program: &Path,
    finished: &Finished,
) -> Result<Build, LoadError> {
    let output = std::str::from_utf8(&finished.stdout).ok().and_then(standard::parse);
    let Some(output) = output else {
        let (program, said) = (program.to_owned(), finished.said());
        return Err(match finished.status.success() {
            true => ToolError::NoJson { program, said },
            false => ToolError::Failed { program, status: finished.status.to_string(), said },
        }
        .into());
    };
    if let Some(errors) = output.errors() {
        return Err(LoadError::Compile { path: path.to_owned(), errors });
    }
    let mut build = output.into_build(path)?;
    let folders = [&imports.root].into_iter().chain(&imports.more);
    fresh::fill_texts(&mut build, &Disk::new(folders.map(PathBuf::as_path)));
    Ok(merge::merge(vec![build]))
}

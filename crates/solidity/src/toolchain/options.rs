//! Compile options, and parsing of the supported solc arguments.

use std::path::PathBuf;

/// Compiler settings. The defaults are those of `solc`: no optimization, newest EVM version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// Enables the optimizer, with this many runs.
    pub optimizer_runs: Option<u32>,
    /// Target EVM version, such as `london`.
    pub evm_version: Option<String>,
    /// Compiles through the Yul intermediate representation.
    pub via_ir: bool,
    /// Remappings (`prefix=target`), which precede those of the project.
    pub remappings: Vec<String>,
    /// Folder for resolving imports. Defaults to the project folder, or the folder of the file.
    pub base_path: Option<PathBuf>,
}

/// The error for an unsupported solc argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unsupported compiler argument `{0}`; supported: `--optimize`, `--optimize-runs N`, \
     `--evm-version NAME`, `--via-ir`, `--base-path FOLDER` and remappings (`prefix=target`)"
)]
pub struct UnknownArgument(pub String);

impl CompileOptions {
    /// Optimizer runs of solc for `--optimize` alone.
    const DEFAULT_RUNS: u32 = 200;

    /// Parses arguments in the syntax of `solc`. They cannot be passed through: solc rejects them with
    /// `--standard-json`, and the npm package has no arguments.
    pub fn add_args<'a>(
        &mut self,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), UnknownArgument> {
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (arg, None),
            };
            let unknown = || UnknownArgument(arg.to_owned());
            let mut value = || inline.or_else(|| args.next()).ok_or_else(unknown);
            match name {
                "--optimize" => {
                    self.optimizer_runs.get_or_insert(Self::DEFAULT_RUNS);
                }
                "--optimize-runs" => {
                    self.optimizer_runs = Some(value()?.parse().map_err(|_| unknown())?);
                }
                "--evm-version" => self.evm_version = Some(value()?.to_owned()),
                "--via-ir" => self.via_ir = true,
                "--base-path" => self.base_path = Some(value()?.into()),
                _ if !name.starts_with('-') && name.contains('=') => {
                    self.remappings.push(name.to_owned());
                }
                _ => return Err(unknown()),
            }
        }
        Ok(())
    }
}

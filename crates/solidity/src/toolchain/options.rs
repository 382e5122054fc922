//! How to compile, and the few arguments of solc that say so.

use std::path::PathBuf;

/// Settings of the compiler. The default is what `solc` does by itself: no optimisation, its newest EVM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// Optimises, for this many runs.
    pub optimizer_runs: Option<u32>,
    /// Such as `london`.
    pub evm_version: Option<String>,
    /// Compiles through the intermediate representation.
    pub via_ir: bool,
    /// `prefix=target`, before those of the project.
    pub remappings: Vec<String>,
    /// The folder that imports are read from. By default it is that of the project, or of the file.
    pub base_path: Option<PathBuf>,
}

/// An argument of solc that has no meaning here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the compiler argument `{0}` is not supported; known are `--optimize`, `--optimize-runs N`, \
     `--evm-version NAME`, `--via-ir`, `--base-path FOLDER` and remappings (`prefix=target`)"
)]
pub struct UnknownArgument(pub String);

impl CompileOptions {
    /// What solc uses for `--optimize` alone.
    const DEFAULT_RUNS: u32 = 200;

    /// Takes over arguments as one would give them to `solc`. They cannot be handed on as they are: with
    /// `--standard-json` solc refuses them, and the npm package has none.
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

//! Compiler discovery.
//!
//! The search order is: `--solc`, `$SOLC`, `solc` on the path, the npm package of the project, the newest version in the
//! user's cache. The package of the project is run only if the caller trusts it. A compiler named by the user must exist: falling back to another one could compile with an
//! unexpected version.

mod install;
mod options;
mod process;

use std::path::{Path, PathBuf};

pub use install::{DEFAULT_SOLC, InstallError, install_solc};
pub use options::{CompileOptions, UnknownArgument};
pub(crate) use process::{ProgramOutput, run_program};

/// Locations of compilers, and compile options.
#[derive(Clone, Debug, Default)]
pub struct Toolchain {
    /// Value of `--solc`: an executable, or the folder of the npm package `solc`.
    pub solc: Option<PathBuf>,
    /// Value of `$SOLC`.
    pub env_solc: Option<PathBuf>,
    /// Folders of `$PATH`.
    pub path: Vec<PathBuf>,
    /// Cache folder in which [`install_solc`] puts compilers.
    pub cache: Option<PathBuf>,
    pub options: CompileOptions,
    /// Canonical folder above which no project file counts and no source is searched, if there is one.
    pub limit: Option<PathBuf>,
    /// Programs that come with the project and may be run.
    pub project: ProjectPrograms,
}

/// The programs that may be run because a project asks for them: its npm package `solc`, and `forge` with its settings.
///
/// They come with the target, so by default none may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProjectPrograms {
    #[default]
    None,
    /// The package in one of these folders, and `forge` in one of these projects. Paths are canonical.
    Listed {
        packages: Vec<PathBuf>,
        forge: Vec<PathBuf>,
    },
    All,
}

impl ProjectPrograms {
    fn allows_package(&self, folder: &Path) -> bool {
        match self {
            Self::None => false,
            Self::Listed { packages, .. } => contains_folder(packages, folder),
            Self::All => true,
        }
    }

    /// Returns true if the settings of a project are trusted: `forge` may run, and its paths may leave the project.
    pub(crate) fn allows_settings(&self, root: &Path) -> bool {
        match self {
            Self::None => false,
            Self::Listed { forge, .. } => contains_folder(forge, root),
            Self::All => true,
        }
    }
}

fn contains_folder(folders: &[PathBuf], folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| folders.contains(&folder))
}

/// Error of finding or running a compiler or another tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolchainError {
    #[error("no Solidity compiler found")]
    NoCompiler,
    #[error("{origin} is `{}`, which is neither an executable nor the npm package `solc`", .path.display())]
    InvalidCompiler { origin: &'static str, path: PathBuf },
    #[error("{origin} is `{name}`, which is not on the path")]
    NotOnPath { origin: &'static str, name: String },
    #[error("compiler `{}` needs Node.js, but `node` is not on the path", .package.display())]
    NoNode { package: PathBuf },
    #[error("failed to start `{}`", .program.display())]
    StartFailed { program: PathBuf, source: std::io::Error },
    #[error("`{}` failed with {status}{}", .program.display(), format_program_output(.output))]
    Failed { program: PathBuf, status: String, output: String },
    #[error("`{}` did not write standard JSON{}", .program.display(), format_program_output(.output))]
    InvalidOutput { program: PathBuf, output: String },
    #[error("`{}` wrote more than {mebibytes} MiB", .program.display())]
    OutputTooLarge { program: PathBuf, mebibytes: u64 },
}

fn format_program_output(output: &str) -> String {
    match output.trim() {
        "" => " and printed nothing".to_owned(),
        output => format!(" and printed:\n{output}"),
    }
}

impl ToolchainError {
    /// Returns true if the user named no compiler and none was found.
    pub(crate) fn is_missing_compiler(&self) -> bool {
        matches!(self, Self::NoCompiler)
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoCompiler => {
                Some("run `vouch solc install`, or pass a compiler with `--solc PATH`".to_owned())
            }
            Self::InvalidCompiler { origin, .. } => Some(format!(
                "set {origin} to the `solc` executable or to a `node_modules/solc` folder"
            )),
            Self::NotOnPath { name, .. } => {
                Some(format!("write `./{name}` if you mean the file in the current folder"))
            }
            Self::NoNode { .. } => {
                Some("install Node.js, or pass a native compiler with `--solc PATH`".to_owned())
            }
            Self::InvalidOutput { .. } | Self::StartFailed { .. } => {
                Some("check that it is a Solidity compiler for this machine".to_owned())
            }
            _ => None,
        }
    }
}

/// A compiler that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SolcCompiler {
    /// An executable that supports `--standard-json`.
    Native(PathBuf),
    /// The npm package `solc`, run by Node.js.
    Package { node: PathBuf, folder: PathBuf },
}

impl Toolchain {
    /// Returns the compiler for the project at `root`.
    pub(crate) fn find_compiler(&self, root: &Path) -> Result<SolcCompiler, ToolchainError> {
        let requested = [("`--solc`", &self.solc), ("`$SOLC`", &self.env_solc)];
        for (origin, path) in requested {
            if let Some(path) = path {
                return self.resolve_named(origin, path);
            }
        }
        if let Some(program) = self.find_program("solc") {
            return Ok(SolcCompiler::Native(program));
        }
        let own = root.join("node_modules").join("solc");
        let is_usable = self.project.allows_package(&own) && is_package(&own);
        let package = is_usable.then_some(own).or_else(|| self.find_newest_cached());
        self.resolve_package(package.ok_or(ToolchainError::NoCompiler)?)
    }

    /// Returns the `forge` executable, if it is on the path and may run in this project.
    ///
    /// It starts the compiler that `foundry.toml` names.
    pub(crate) fn find_forge(&self, root: &Path) -> Option<PathBuf> {
        self.project.allows_settings(root).then(|| self.find_program("forge")).flatten()
    }

    /// Returns the native compiler named by the user, for `forge --use`.
    pub(crate) fn find_named_native(&self) -> Option<PathBuf> {
        let path = self.solc.as_ref().or(self.env_solc.as_ref())?;
        match self.resolve_named("", path) {
            Ok(SolcCompiler::Native(program)) => Some(program),
            _ => None,
        }
    }

    /// Returns the path of a program in the folders of `$PATH`.
    ///
    /// A relative folder, or an empty one, would name a program of whatever project is the current folder.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        const ENDINGS: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
        let in_folder = |folder: &PathBuf| {
            ENDINGS.iter().map(|end| folder.join(format!("{name}{end}"))).collect()
        };
        let folders = self.path.iter().filter(|folder| folder.is_absolute());
        folders.flat_map::<Vec<_>, _>(in_folder).find(|file| is_program(file))
    }

    fn resolve_named(
        &self,
        origin: &'static str,
        path: &Path,
    ) -> Result<SolcCompiler, ToolchainError> {
        let found = if is_bare_name(path) {
            let name = path.to_string_lossy().into_owned();
            self.find_program(&name).ok_or(ToolchainError::NotOnPath { origin, name })?
        } else {
            path.to_owned()
        };
        if is_package(&found) {
            return self.resolve_package(found);
        }
        // The command of the npm package links to a script in the package, which does not support `--standard-json` as
        // solc does.
        let whole = found.canonicalize().unwrap_or_else(|_| found.clone());
        match whole.parent() {
            Some(folder) if whole.ends_with("solc.js") && is_package(folder) => {
                self.resolve_package(folder.to_owned())
            }
            _ if is_program(&found) => Ok(SolcCompiler::Native(found)),
            _ => Err(ToolchainError::InvalidCompiler { origin, path: path.to_owned() }),
        }
    }

    fn resolve_package(&self, folder: PathBuf) -> Result<SolcCompiler, ToolchainError> {
        match self.find_program("node") {
            Some(node) => Ok(SolcCompiler::Package { node, folder }),
            None => Err(ToolchainError::NoNode { package: folder }),
        }
    }

    fn find_newest_cached(&self) -> Option<PathBuf> {
        let folder = install::versions_folder(self.cache.as_ref()?);
        let entries = folder.read_dir().ok()?.filter_map(Result::ok);
        let versions = entries.filter_map(|entry| {
            let package = entry.path().join("node_modules").join("solc");
            let version = install::parse_version(entry.file_name().to_str()?)?;
            is_package(&package).then_some((version, package))
        });
        versions.max().map(|(_, package)| package)
    }
}

/// Returns true if a program is named without a folder. Such a name is searched for on the path only: the current folder
/// may be a project that must not run programs.
pub fn is_bare_name(program: &Path) -> bool {
    let is_name = matches!(program.components().next(), Some(std::path::Component::Normal(_)));
    is_name && !program.to_string_lossy().contains(std::path::is_separator)
}

/// Returns true if a folder is the npm package `solc`.
pub(crate) fn is_package(folder: &Path) -> bool {
    folder.join("package.json").is_file() && folder.join("soljson.js").is_file()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

//! Compiler discovery.
//!
//! The search order is: `--solc`, `$SOLC`, `solc` on the path, the npm package of the project, the versions in the user's
//! cache, newest first. The first that suits the sources is used. The package of the project is run only if the caller
//! trusts it. A compiler named by the user must exist: falling back to another one could compile with an unexpected
//! version.

mod install;
mod options;
mod process;
mod process_tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use install::{DEFAULT_SOLC, InstallError, install_solc};
pub use options::{CompileOptions, UnknownArgument};
pub(crate) use process::{ProgramLimits, ProgramOutput, run_program};

use crate::SolcVersion;

/// Maximum bytes of the answer to `solc --version`.
const MAX_VERSION_TEXT: u64 = 64 << 10;
/// Time for that answer, which starts Node.js for some compilers.
const VERSION_TIME: Duration = Duration::from_secs(60);
/// Time for compiling a project, unless the caller says otherwise. The largest ones take some minutes through Yul.
const COMPILE_TIME: Duration = Duration::from_secs(30 * 60);

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
    /// Profile of `foundry.toml`; `None` is the default one.
    pub profile: Option<String>,
    /// Time for one run of a compiler or of `forge`; `None` is half an hour.
    pub compile_time: Option<Duration>,
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
    #[error("`{}` did not end within {seconds} seconds, and was ended", .program.display())]
    TooSlow { program: PathBuf, seconds: u64 },
}

fn format_program_output(output: &str) -> String {
    match output.trim() {
        "" => " and printed nothing".to_owned(),
        output => format!(" and printed:\n{output}"),
    }
}

impl ToolchainError {
    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InvalidCompiler { origin, .. } => Some(format!(
                "set {origin} to the `solc` executable or to a `node_modules/solc` folder"
            )),
            Self::NotOnPath { name, .. } => {
                Some(format!("write `./{name}` if you mean the file in the current folder"))
            }
            Self::NoNode { .. } => {
                Some("install Node.js, or pass a native compiler with `--solc PATH`".to_owned())
            }
            // Text of `driver.js`. WebAssembly has a small stack, which long chains of imports exhaust.
            Self::Failed { output, .. } if output.starts_with("the compiler crashed") => Some(
                "pass a native compiler with `--solc PATH`, or name one contract with `--contract`"
                    .to_owned(),
            ),
            Self::TooSlow { .. } | Self::OutputTooLarge { .. } => {
                Some("name one contract with `--contract`, so that less is compiled".to_owned())
            }
            Self::InvalidOutput { .. } | Self::StartFailed { .. } => {
                Some("check that it is a Solidity compiler for this machine".to_owned())
            }
            _ => None,
        }
    }
}

/// A compiler that was found, with its version if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AvailableCompiler {
    pub(crate) compiler: SolcCompiler,
    pub(crate) version: Option<SolcVersion>,
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
    /// Returns the compiler that the user named, if there is one.
    pub(crate) fn find_named_compiler(&self) -> Result<Option<SolcCompiler>, ToolchainError> {
        let requested = [("`--solc`", &self.solc), ("`$SOLC`", &self.env_solc)];
        let named = requested.into_iter().find_map(|(origin, path)| Some((origin, path.as_ref()?)));
        named.map(|(origin, path)| self.resolve_named(origin, path)).transpose()
    }

    /// Returns the compilers for the project at `root` that the user did not name, preferred ones first.
    ///
    /// Errors if there are only npm packages, and nothing to run them.
    pub(crate) fn list_compilers(
        &self,
        root: &Path,
    ) -> Result<Vec<AvailableCompiler>, ToolchainError> {
        let mut found = Vec::new();
        if let Some(program) = self.find_program("solc") {
            let compiler = SolcCompiler::Native(program);
            found
                .push(AvailableCompiler { version: self.query_version(&compiler, root), compiler });
        }
        let own = root.join("node_modules").join("solc");
        let is_usable = self.project.allows_package(&own) && is_package(&own);
        for folder in is_usable.then_some(own).into_iter().chain(self.list_cached()) {
            match self.resolve_package(folder) {
                Ok(compiler) => {
                    found.push(AvailableCompiler {
                        version: self.query_version(&compiler, root),
                        compiler,
                    });
                }
                Err(error) if found.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Returns the version of a compiler, or `None` if it does not tell.
    pub(crate) fn query_version(
        &self,
        compiler: &SolcCompiler,
        root: &Path,
    ) -> Option<SolcVersion> {
        match compiler {
            SolcCompiler::Package { folder, .. } => install::read_package_version(folder),
            SolcCompiler::Native(program) => {
                let program = std::path::absolute(program).ok()?;
                let mut command = std::process::Command::new(program);
                command.arg("--version").current_dir(self.working_folder(root));
                let limits = ProgramLimits { output: MAX_VERSION_TEXT, time: VERSION_TIME };
                let finished = run_program(command, &self.path, &Arc::from(""), limits).ok()?;
                let text = String::from_utf8(finished.stdout).ok()?;
                SolcVersion::parse(text.split_once("Version: ")?.1.split_whitespace().next()?)
            }
        }
    }

    /// Returns the folder in which a compiler for the project at `root` runs.
    ///
    /// It is the project's only if the project may run programs. A compiler on the path may be that of a version manager,
    /// which starts the program that a file such as `.tool-versions` in the current folder names.
    pub(crate) fn working_folder(&self, root: &Path) -> PathBuf {
        let package = root.join("node_modules").join("solc");
        match self.project.allows_settings(root) || self.project.allows_package(&package) {
            true => root.to_owned(),
            false => PathBuf::from(std::path::MAIN_SEPARATOR_STR),
        }
    }

    /// Returns the bounds of a run that compiles, with at most this many bytes of output.
    pub(crate) fn compile_limits(&self, output: u64) -> ProgramLimits {
        ProgramLimits { output, time: self.compile_time.unwrap_or(COMPILE_TIME) }
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

    /// Returns the packages in the user's cache, newest first.
    fn list_cached(&self) -> Vec<PathBuf> {
        let folder = self.cache.as_ref().map(|cache| install::versions_folder(cache));
        let entries = folder.and_then(|folder| folder.read_dir().ok());
        let versions = entries.into_iter().flatten().filter_map(Result::ok).filter_map(|entry| {
            let package = entry.path().join("node_modules").join("solc");
            let name = entry.file_name();
            let version = install::parse_version(name.to_str()?)?;
            let is_usable = is_package(&package) && !install::is_broken(&package, name.to_str()?);
            is_usable.then_some((version, package))
        });
        let mut versions: Vec<_> = versions.collect();
        versions.sort_by(|one, other| other.cmp(one));
        versions.into_iter().map(|(_, package)| package).collect()
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

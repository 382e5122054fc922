//! Which compilers there are, and in which order they are tried.
//!
//! The order is: the one that was asked for, the one that the environment names, `solc` on the path, the project's own
//! npm package, the newest in the user's cache. What was named must be there: going on to another compiler would
//! compile with a version that nobody asked for.

mod install;
mod options;
mod process;

use std::path::{Path, PathBuf};

pub use install::{DEFAULT_SOLC, InstallError, install};
pub use options::{CompileOptions, UnknownArgument};
pub(crate) use process::{Finished, run};

/// Where compilers are looked for, and how they are to compile.
#[derive(Clone, Debug, Default)]
pub struct Toolchain {
    /// What `--solc` says: a program, or the folder of the npm package `solc`.
    pub solc: Option<PathBuf>,
    /// What `$SOLC` says.
    pub env_solc: Option<PathBuf>,
    /// The folders of `$PATH`.
    pub path: Vec<PathBuf>,
    /// The folder below which [`install`] puts compilers.
    pub cache: Option<PathBuf>,
    pub options: CompileOptions,
}

/// Why no compiler could be found or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    #[error("there is no Solidity compiler")]
    NoCompiler,
    #[error("{origin} names `{}`, which is neither a program nor the npm package `solc`", .path.display())]
    NotACompiler { origin: &'static str, path: PathBuf },
    #[error("the compiler `{}` needs Node.js, and there is no `node` on the path", .package.display())]
    NoNode { package: PathBuf },
    #[error("cannot start `{}`", .program.display())]
    CannotStart { program: PathBuf, source: std::io::Error },
    #[error("`{}` ended with {status}{}", .program.display(), quoted(.said))]
    Failed { program: PathBuf, status: String, said: String },
    #[error("`{}` wrote no standard JSON{}", .program.display(), quoted(.said))]
    NoJson { program: PathBuf, said: String },
    #[error("`{}` wrote more than {mebibytes} MiB", .program.display())]
    TooMuch { program: PathBuf, mebibytes: u64 },
}

fn quoted(said: &str) -> String {
    match said.trim() {
        "" => " and said nothing".to_owned(),
        said => format!(" and said:\n{said}"),
    }
}

impl ToolError {
    /// True if nothing was named and nothing found.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self, Self::NoCompiler)
    }

    /// What the person can do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoCompiler => {
                Some("Run `vouch solc install`, or name a compiler with `--solc PATH`.".to_owned())
            }
            Self::NotACompiler { origin, .. } => Some(format!(
                "Let {origin} name the program `solc`, or a folder `node_modules/solc`."
            )),
            Self::NoNode { .. } => {
                Some("Install Node.js, or name a native compiler with `--solc PATH`.".to_owned())
            }
            Self::NoJson { .. } | Self::CannotStart { .. } => {
                Some("Check that it is a Solidity compiler that runs on this machine.".to_owned())
            }
            _ => None,
        }
    }
}

/// A compiler that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// A program that knows `--standard-json`.
    Native(PathBuf),
    /// The npm package `solc`, which Node.js runs.
    Package { node: PathBuf, folder: PathBuf },
}

impl Toolchain {
    /// The compiler for a file of the project at `root`.
    pub(crate) fn compiler(&self, root: &Path) -> Result<Compiler, ToolError> {
        let asked = [("`--solc`", &self.solc), ("`$SOLC`", &self.env_solc)];
        for (origin, path) in asked {
            if let Some(path) = path {
                return self.named(origin, path);
            }
        }
        if let Some(program) = self.program("solc") {
            return Ok(Compiler::Native(program));
        }
        let own = root.join("node_modules").join("solc");
        let package = is_package(&own).then_some(own).or_else(|| self.newest_cached());
        self.package(package.ok_or(ToolError::NoCompiler)?)
    }

    /// The program `forge`.
    pub(crate) fn forge(&self) -> Option<PathBuf> {
        self.program("forge")
    }

    /// The native compiler that somebody named, which `forge` can be told to use.
    pub(crate) fn named_native(&self) -> Option<PathBuf> {
        let path = self.solc.as_ref().or(self.env_solc.as_ref())?;
        match self.named("", path) {
            Ok(Compiler::Native(program)) => Some(program),
            _ => None,
        }
    }

    /// A program on the path.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        const ENDINGS: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
        let in_folder = |folder: &PathBuf| {
            ENDINGS.iter().map(|end| folder.join(format!("{name}{end}"))).collect()
        };
        self.path.iter().flat_map::<Vec<_>, _>(in_folder).find(|file| is_program(file))
    }

    fn named(&self, origin: &'static str, path: &Path) -> Result<Compiler, ToolError> {
        let is_bare = path.components().count() == 1 && !path.exists();
        let found = match is_bare.then(|| path.to_str()).flatten() {
            Some(name) => self.program(name).unwrap_or_else(|| path.to_owned()),
            None => path.to_owned(),
        };
        if is_package(&found) {
            return self.package(found);
        }
        // The command of the npm package is a link to a script in it, and knows no `--standard-json` as solc does.
        let whole = found.canonicalize().unwrap_or_else(|_| found.clone());
        match whole.parent() {
            Some(folder) if whole.ends_with("solc.js") && is_package(folder) => {
                self.package(folder.to_owned())
            }
            _ if is_program(&found) => Ok(Compiler::Native(found)),
            _ => Err(ToolError::NotACompiler { origin, path: path.to_owned() }),
        }
    }

    fn package(&self, folder: PathBuf) -> Result<Compiler, ToolError> {
        match self.program("node") {
            Some(node) => Ok(Compiler::Package { node, folder }),
            None => Err(ToolError::NoNode { package: folder }),
        }
    }

    fn newest_cached(&self) -> Option<PathBuf> {
        let folder = install::versions_folder(self.cache.as_ref()?);
        let entries = folder.read_dir().ok()?.filter_map(Result::ok);
        let versions = entries.filter_map(|entry| {
            let package = entry.path().join("node_modules").join("solc");
            let version = install::numbers(entry.file_name().to_str()?)?;
            is_package(&package).then_some((version, package))
        });
        versions.max().map(|(_, package)| package)
    }
}

/// Whether a folder is the npm package `solc`.
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

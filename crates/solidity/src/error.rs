//! Errors of loading a build, with hints for the user.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{MissingCompiler, StaleBuild, ToolchainError};

/// Error of [`crate::load_build`]. [`LoadError::hint`] suggests a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("no such file or folder: `{}`", .0.display())]
    NotFound(PathBuf),
    #[error("failed to read `{}`", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is larger than {mebibytes} MiB", .path.display())]
    TooLarge { path: PathBuf, mebibytes: u64 },
    #[error("`{}` is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("`{}` is neither a Solidity file (`.sol`) nor compiler output (`.json`)", .0.display())]
    UnknownFile(PathBuf),
    #[error("the folder `{}` is neither a Foundry nor a Hardhat project", .0.display())]
    UnknownFolder(PathBuf),
    #[error("invalid JSON in `{}`", .path.display())]
    InvalidJson { path: PathBuf, source: serde_json::Error },
    #[error("expected compiler output in `{}`, found {found}", .path.display())]
    UnknownJson { path: PathBuf, found: &'static str },
    #[error("failed to parse `{}` as {format}", .path.display())]
    InvalidFormat { path: PathBuf, format: &'static str, source: serde_json::Error },
    #[error("invalid contract `{contract}` in `{}`", .path.display())]
    InvalidContract { path: PathBuf, contract: String, source: MalformedContract },
    #[error("`{}` is outside of the project, which is not trusted", .0.display())]
    OutsideProject(PathBuf),
    #[error("no contract found in `{}`", .0.display())]
    NoContract(PathBuf),
    /// The line is not quoted, because the file may contain URLs with API keys.
    #[error("invalid configuration file `{}`: {reason} in line {line}", .path.display())]
    InvalidConfig { path: PathBuf, line: usize, reason: String },
    #[error("failed to compile `{}`\n{errors}", .path.display())]
    CompileFailed { path: PathBuf, errors: CompileErrors },
    #[error("`{}` comes from a failed build\n{errors}", .path.display())]
    FailedBuild { path: PathBuf, errors: CompileErrors },
    #[error(
        "project `{}` is not built: no usable build-info in `{}`",
        .project.display(), .folder.display()
    )]
    NotBuilt { project: PathBuf, folder: PathBuf, command: &'static str },
    #[error(transparent)]
    Stale(#[from] StaleBuild),
    #[error("the sources are more than {sources} files or {mebibytes} MiB")]
    TooManySources { sources: usize, mebibytes: usize },
    #[error(
        "the sources have more than {imports} imports, or their imports are searched in too many places"
    )]
    TooManyImports { imports: usize },
    #[error(transparent)]
    MissingCompiler(#[from] MissingCompiler),
    /// The artifacts cannot be used, and the sources cannot be compiled.
    #[error("{artifacts}; {missing}")]
    NotCompiled { artifacts: Box<LoadError>, missing: MissingCompiler },
    #[error("invalid pattern `{pattern}` of `skip` in foundry.toml")]
    InvalidSkip { pattern: String, source: globset::Error },
    #[error(transparent)]
    Tool(#[from] ToolchainError),
}

/// Defect of a contract in the compiler output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedContract {
    #[error("bytecode has an odd number of hexadecimal digits")]
    OddLength,
    #[error("bytecode has an invalid hexadecimal digit at position {0}")]
    NotHex(usize),
    #[error("invalid ABI")]
    Abi(#[source] serde_json::Error),
}

/// Error messages of a compiler, verbatim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileErrors {
    /// Messages as formatted by the compiler, with file, line and source snippet.
    pub messages: Vec<String>,
    /// Number of further messages.
    pub omitted: usize,
}

impl CompileErrors {
    /// Maximum number of messages kept. One broken import can cause thousands of errors, and the first ones suffice.
    const MAX_MESSAGES: usize = 50;
    /// Maximum bytes of a message. It quotes a source line, which is as long as the whole file if that is minified.
    const MAX_MESSAGE_LEN: usize = 8 << 10;

    pub(crate) fn new(messages: impl IntoIterator<Item = String>) -> Self {
        let mut messages = messages.into_iter();
        let kept = messages.by_ref().take(Self::MAX_MESSAGES);
        let kept = kept.map(|text| truncate_text(&text, Self::MAX_MESSAGE_LEN));
        Self { messages: kept.collect(), omitted: messages.count() }
    }
}

impl fmt::Display for CompileErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.messages.iter().map(|message| message.trim_end()).collect();
        out.write_str(&texts.join("\n\n"))?;
        match self.omitted {
            0 => Ok(()),
            more => write!(out, "\n\n… and {more} more"),
        }
    }
}

/// Returns at most `limit` bytes of a text, cut at a character boundary, with an ellipsis if it was cut.
pub(crate) fn truncate_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit);
    format!("{}…", &text[..end])
}

impl LoadError {
    /// Returns the compiler that is missing, if that is the error.
    pub fn missing_compiler(&self) -> Option<&MissingCompiler> {
        match self {
            Self::MissingCompiler(missing) | Self::NotCompiled { missing, .. } => Some(missing),
            _ => None,
        }
    }

    /// Returns the command that builds the project, if its artifacts are unusable.
    fn build_command(&self) -> Option<&'static str> {
        match self {
            Self::NotBuilt { command, .. } => Some(command),
            Self::Stale(stale) => stale.command,
            _ => None,
        }
    }

    /// Returns a hint for the user: an imperative, with a command if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownFile(_) | Self::UnknownFolder(_) => Some(TARGETS.to_owned()),
            Self::UnknownJson { .. } => Some(OUTPUTS.to_owned()),
            Self::InvalidJson { .. } => {
                Some("compile again; the file may be truncated".to_owned())
            }
            Self::InvalidFormat { .. } => Some(
                "compile again; if the error persists, the format of this compiler version is not supported"
                    .to_owned(),
            ),
            Self::NoContract(_) => {
                Some("define at least one `contract`, `library` or `interface`".to_owned())
            }
            Self::OutsideProject(_) => Some("if you trust the project, run `vouch trust`".to_owned()),
            Self::NotBuilt { command, .. } => Some(format!("run `{command}` in the project")),
            Self::FailedBuild { .. } => {
                Some("fix the errors and compile again; outdated bytecode is not used".to_owned())
            }
            Self::Stale(stale) => Some(stale.hint()),
            Self::MissingCompiler(missing) => Some(missing.hint()),
            Self::NotCompiled { artifacts, missing } => Some(match artifacts.build_command() {
                Some(command) => {
                    format!("{}, or run `{command}` in the project", missing.hint_beginning())
                }
                None => missing.hint(),
            }),
            Self::Tool(error) => error.hint(),
            _ => None,
        }
    }
}

const TARGETS: &str = "pass a `.sol` file, a folder with `foundry.toml` or a `hardhat.config` file, or the JSON \
                       output of solc or crytic-compile";

const OUTPUTS: &str = "pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat \
                       (with `input` and `output`), or an export of crytic-compile";

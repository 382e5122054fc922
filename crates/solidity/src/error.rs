//! Why a build could not be loaded, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{Stale, ToolError};

/// Why [`crate::load`] gave no build. [`LoadError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("there is no file or folder `{}`", .0.display())]
    Missing(PathBuf),
    #[error("cannot read `{}`", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is larger than {mebibytes} MiB", .path.display())]
    TooLarge { path: PathBuf, mebibytes: u64 },
    #[error("`{}` is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("`{}` is neither a Solidity file (`.sol`) nor a compiler's output (`.json`)", .0.display())]
    UnknownFile(PathBuf),
    #[error("the folder `{}` is neither a Foundry nor a Hardhat project", .0.display())]
    UnknownFolder(PathBuf),
    #[error("`{}` is not valid JSON", .path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("`{}` is {what}, not the output of a compiler", .path.display())]
    UnknownJson { path: PathBuf, what: &'static str },
    #[error("`{}` looks like {format}, but does not keep to that format", .path.display())]
    Shape { path: PathBuf, format: &'static str, source: serde_json::Error },
    #[error("the contract `{contract}` in `{}` cannot be used", .path.display())]
    Contract { path: PathBuf, contract: String, source: Malformed },
    #[error("there is no contract in `{}`", .0.display())]
    NoContract(PathBuf),
    #[error("cannot understand the configuration `{}`", .path.display())]
    Config { path: PathBuf, source: Box<toml::de::Error> },
    #[error("the compiler rejects `{}`\n{errors}", .path.display())]
    Compile { path: PathBuf, errors: CompileErrors },
    #[error("`{}` comes from a build that failed\n{errors}", .path.display())]
    FailedBuild { path: PathBuf, errors: CompileErrors },
    #[error(
        "the project `{}` is not built: there is no usable build-info in `{}`",
        .project.display(), .folder.display()
    )]
    NotBuilt { project: PathBuf, folder: PathBuf, command: &'static str },
    #[error(transparent)]
    Stale(#[from] Stale),
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// What is wrong with a contract in a compiler's output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    #[error("its code has an odd number of hexadecimal digits")]
    OddLength,
    #[error("its code is not hexadecimal at digit {0}")]
    NotHex(usize),
    #[error("its ABI cannot be understood")]
    Abi(#[source] serde_json::Error),
}

/// The errors of a compiler, word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileErrors {
    /// As the compiler formats them, with file, line and the piece of source.
    pub messages: Vec<String>,
    /// How many more there were.
    pub omitted: usize,
}

impl CompileErrors {
    /// One broken import can cause thousands of errors; the first ones tell.
    const MOST: usize = 50;
    /// A formatted message holds a source line, which a minified file makes as long as itself.
    const LONGEST: usize = 8 << 10;

    pub(crate) fn new(messages: impl IntoIterator<Item = String>) -> Self {
        let mut messages = messages.into_iter();
        let kept = messages.by_ref().take(Self::MOST).map(|text| shortened(&text, Self::LONGEST));
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

/// The beginning of a text, cut between characters.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit);
    format!("{}…", &text[..end])
}

impl LoadError {
    /// What the person can do, as a sentence with a command where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownFile(_) | Self::UnknownFolder(_) => Some(TARGETS.to_owned()),
            Self::UnknownJson { .. } => Some(OUTPUTS.to_owned()),
            Self::Json { .. } => {
                Some("Compile again; the file may have been cut short.".to_owned())
            }
            Self::Shape { .. } => Some(
                "Compile again; if it stays so, the version that wrote it is not known here."
                    .to_owned(),
            ),
            Self::NoContract(_) => {
                Some("A target needs at least one `contract`, `library` or `interface`.".to_owned())
            }
            Self::NotBuilt { command, .. } => Some(format!("Run `{command}` in the project.")),
            Self::FailedBuild { .. } => {
                Some("Mend the errors and compile again; the old code is not used.".to_owned())
            }
            Self::Stale(stale) => Some(stale.hint()),
            Self::Tool(error) => error.hint(),
            _ => None,
        }
    }
}

const TARGETS: &str = "Point at a `.sol` file, at a folder with `foundry.toml` or a `hardhat.config` file, or at \
                       the JSON that solc or crytic-compile wrote.";

const OUTPUTS: &str = "Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or \
                       Hardhat (with `input` and `output`), or an export of crytic-compile.";

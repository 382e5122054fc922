//! Why a path was refused, and how a caller is told: by the path as they gave it, never by one of this machine.

use std::io;

use contract::{Code, ToolError, text};
use rustix::io::Errno;

use crate::{MAX_NAME_BYTES, MAX_PATH_BYTES};

/// How much of a caller's path a message repeats.
const SHOWN_CHARACTERS: usize = 200;

/// Why a path is not opened. Each reads as the end of a sentence that the path begins.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("is longer than {MAX_PATH_BYTES} bytes, which no path may be")]
    LongPath,
    #[error("has a name of more than {MAX_NAME_BYTES} bytes, which no file has")]
    LongName,
    #[error("holds a control character, which no path may")]
    ControlCharacter,
    #[error("names the repository root itself; give the path of a file below it")]
    Root,
    #[error("ends like a folder's path; only files can be read, so leave the last slash out")]
    TrailingSlash,
    #[error("is absolute; give a path relative to the repository root")]
    Absolute,
    #[error("holds `..`, which no path may; give the path from the repository root")]
    Parent,
    #[error("is blocked by the rule `{pattern}`")]
    Denied { pattern: String },
    #[error("leads through a link to a name that is blocked by the rule `{pattern}`")]
    LeadsToDenied { pattern: String },
    #[error("leads through a link out of the repository root (absolute links always do)")]
    LeadsOut,
    #[error("is a link, which is not followed here")]
    Link,
    #[error("may not be opened: the operating system denies it to this server")]
    NotPermitted,
    #[error("does not exist")]
    NotFound,
    #[error("does not exist: its links lead round in a circle")]
    LinkLoop,
    #[error("is a {kind}; only regular files can be used")]
    NotAFile { kind: &'static str },
    #[error("is not a folder")]
    NotAFolder,
    #[error("could not be opened or read")]
    Failed(#[source] io::Error),
}

impl Refusal {
    /// What an error of the operating system means for the path.
    pub fn of(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Self::NotFound,
            Some(Errno::ACCESS | Errno::PERM) => Self::NotPermitted,
            Some(Errno::ISDIR) => Self::NotAFile { kind: "folder" },
            Some(Errno::NXIO | Errno::NODEV) => Self::NotAFile { kind: "socket or device" },
            // What `cap-std` says, without a number, of a step out of its folder.
            None if error.kind() == io::ErrorKind::PermissionDenied => Self::LeadsOut,
            _ => Self::Failed(error),
        }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::LongPath
            | Self::LongName
            | Self::ControlCharacter
            | Self::Root
            | Self::TrailingSlash
            | Self::NotAFile { .. }
            | Self::NotAFolder => Code::InvalidInput,
            Self::Absolute
            | Self::Parent
            | Self::Denied { .. }
            | Self::LeadsToDenied { .. }
            | Self::LeadsOut
            | Self::Link
            | Self::NotPermitted => Code::AccessDenied,
            Self::NotFound | Self::LinkLoop => Code::NotFound,
            Self::Failed(_) => Code::InternalError,
        }
    }

    /// The answer about `path`, which is the caller's own text.
    pub fn to_tool_error(&self, path: &str) -> ToolError {
        let path = shown(path);
        if let Self::Failed(cause) = self {
            tracing::error!(path, %cause, "a path could not be opened or read");
        }
        let error = ToolError::new(self.code(), format!("`{path}` {self}")).with("path", path);
        match self {
            Self::Denied { pattern } | Self::LeadsToDenied { pattern } => {
                error.with("pattern", pattern.as_str())
            }
            Self::LongPath => error.with("limit", MAX_PATH_BYTES),
            Self::LongName => error.with("limit", MAX_NAME_BYTES),
            _ => error,
        }
    }
}

/// A caller's path as a message may repeat it: on one line, hidden characters visible, not endless.
pub fn shown(path: &str) -> String {
    let mut characters = path.chars();
    let mut start: String = characters.by_ref().take(SHOWN_CHARACTERS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    text::one_line(&start)
}

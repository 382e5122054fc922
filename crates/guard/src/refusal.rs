//! Reasons for refusing a path. Messages contain the path as the caller gave it, never a path of this machine.

use std::io;

use contract::{ErrorCode, ToolError, text};
use rustix::io::Errno;

use crate::{MAX_NAME_BYTES, MAX_PATH_BYTES};

/// Maximum characters of a caller's path in a message.
const MAX_DISPLAY_CHARS: usize = 200;

/// The reason why a path is not opened. Each text is a verb phrase whose subject is the path: "`.env` is blocked …".
#[derive(Debug, thiserror::Error)]
pub enum PathRefusal {
    #[error("is longer than {MAX_PATH_BYTES} bytes, the maximum for a path")]
    LongPath,
    #[error("contains a name longer than {MAX_NAME_BYTES} bytes, the maximum for a file name")]
    LongName,
    #[error("contains a control character, which is not allowed")]
    ControlCharacter,
    #[error("names the repository root itself; give the path of a file below it")]
    IsRoot,
    #[error("ends like a folder path; only files can be read, so remove the trailing slash")]
    TrailingSlash,
    #[error("is absolute; give a path relative to the repository root")]
    Absolute,
    #[error("contains `..`, which is not allowed; give the path from the repository root")]
    ParentComponent,
    #[error("is blocked by the rule `{pattern}`")]
    Denied { pattern: String },
    #[error("leads through a link to a name that is blocked by the rule `{pattern}`")]
    LeadsToDenied { pattern: String },
    #[error("leads through a link out of the repository root (absolute links always do)")]
    LeadsOut,
    #[error("is a link, which is not followed here")]
    IsLink,
    #[error("cannot be opened: the operating system denies access to this server")]
    NotPermitted,
    #[error("does not exist")]
    NotFound,
    #[error("does not exist: its symbolic links form a loop")]
    LinkLoop,
    #[error("is a {kind}; only regular files can be used")]
    NotAFile { kind: &'static str },
    #[error("is not a folder")]
    NotAFolder,
    #[error("could not be opened or read")]
    IoFailed(#[source] io::Error),
}

impl PathRefusal {
    /// Converts an error of the operating system.
    pub fn from_io_error(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Self::NotFound,
            Some(Errno::ACCESS | Errno::PERM) => Self::NotPermitted,
            Some(Errno::ISDIR) => Self::NotAFile { kind: "folder" },
            Some(Errno::NXIO | Errno::NODEV) => Self::NotAFile { kind: "socket or device" },
            // `cap-std` reports a step out of its folder without an error number.
            None if error.kind() == io::ErrorKind::PermissionDenied => Self::LeadsOut,
            _ => Self::IoFailed(error),
        }
    }

    /// Returns the error code for the caller.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::LongPath
            | Self::LongName
            | Self::ControlCharacter
            | Self::IsRoot
            | Self::TrailingSlash
            | Self::NotAFile { .. }
            | Self::NotAFolder => ErrorCode::InvalidInput,
            Self::Absolute
            | Self::ParentComponent
            | Self::Denied { .. }
            | Self::LeadsToDenied { .. }
            | Self::LeadsOut
            | Self::IsLink
            | Self::NotPermitted => ErrorCode::AccessDenied,
            Self::NotFound | Self::LinkLoop => ErrorCode::NotFound,
            Self::IoFailed(_) => ErrorCode::InternalError,
        }
    }

    /// Returns the error for `path`, which is the caller's own text.
    pub fn to_tool_error(&self, path: &str) -> ToolError {
        let path = display_path(path);
        if let Self::IoFailed(cause) = self {
            tracing::error!(path, %cause, "failed to open or read path");
        }
        let error =
            ToolError::new(self.code(), format!("`{path}` {self}")).with_detail("path", path);
        match self {
            Self::Denied { pattern } | Self::LeadsToDenied { pattern } => {
                error.with_detail("pattern", pattern.as_str())
            }
            Self::LongPath => error.with_detail("limit", MAX_PATH_BYTES),
            Self::LongName => error.with_detail("limit", MAX_NAME_BYTES),
            _ => error,
        }
    }
}

/// Returns a caller's path for use in a message: on one line, with hidden characters escaped, and truncated.
pub fn display_path(path: &str) -> String {
    let mut characters = path.chars();
    let mut start: String = characters.by_ref().take(MAX_DISPLAY_CHARS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    text::one_line(&start)
}

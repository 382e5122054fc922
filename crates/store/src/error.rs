//! Errors of the store. Each message names the affected file or id, and [`StoreError::hint`] says how to fix it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::ApprovalState;

/// A failed file operation. It is `Clone` because one failed write is reported for every record in the batch.
#[derive(Clone, Debug, thiserror::Error)]
#[error("failed to {action} {}", path.display())]
pub struct IoError {
    action: &'static str,
    path: PathBuf,
    source: Arc<io::Error>,
}

impl IoError {
    pub(crate) fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self { action, path: path.to_owned(), source: Arc::new(source) }
    }
}

/// An error of the store, the context store or the audit log.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error("state directory {} is a symbolic link", path.display())]
    LinkedStateDir { path: PathBuf },

    #[error("state directory {} belongs to another user (uid {owner})", path.display())]
    ForeignStateDir { path: PathBuf, owner: u32 },

    #[error("state directory {} is writable for other users", path.display())]
    SharedStateDir { path: PathBuf },

    #[error("state directory {} belongs to another project: {}", dir.display(), project.display())]
    OtherProject { dir: PathBuf, project: PathBuf },

    #[error(
        "state directory {} belongs to an earlier folder at {}", dir.display(), project.display()
    )]
    ReplacedProject { dir: PathBuf, project: PathBuf },

    #[error("failed to parse {}", path.display())]
    InvalidProjectRecord {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },

    #[error("{} is not a usable database", path.display())]
    Corrupt {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },

    #[error(
        "{} was written by a newer vouch (schema {found}, this version supports {known})", path.display()
    )]
    NewerSchema { path: PathBuf, found: i64, known: i64 },

    #[error("failed to access database {}", path.display())]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },

    #[error("failed to seal {}: no audit lines there", path.display())]
    NothingToSeal { path: PathBuf },

    #[error("unknown approval \"{id}\"")]
    UnknownApproval { id: String },

    #[error("approval id prefix \"{prefix}\" is ambiguous")]
    AmbiguousApproval { prefix: String },

    #[error("approval {id} is already {state}")]
    ApprovalAlreadyDecided { id: String, state: ApprovalState },

    #[error("approval {id} has already been used")]
    ApprovalAlreadyUsed { id: String },

    #[error("approval {id} expired at {at:.0}")]
    ApprovalExpired { id: String, at: Timestamp },

    #[error("approval {id} was requested by `{principal}`, which cannot approve its own call")]
    SelfApproval { id: String, principal: String },

    #[error("unknown discovery \"{id}\"")]
    UnknownDiscovery { id: String },

    #[error("discovery id prefix \"{prefix}\" is ambiguous")]
    AmbiguousDiscovery { prefix: String },

    #[error("too many discoveries: the store holds at most {limit}")]
    TooManyDiscoveries { limit: usize },

    #[error("unknown withheld answer \"{id}\"")]
    UnknownWithheldAnswer { id: String },

    #[error("withheld answer id prefix \"{prefix}\" is ambiguous")]
    AmbiguousWithheldAnswer { prefix: String },

    #[error(transparent)]
    AuditKey(#[from] crate::audit::AuditKeyError),

    #[error("failed to get random bytes from the operating system")]
    RandomSource(#[source] getrandom::Error),

    #[error("store is closed")]
    Closed,

    #[error("audit record dropped: too many records are waiting to be written")]
    AuditRecordDropped,
}

impl StoreError {
    pub(crate) fn from_io(action: &'static str, path: &Path, source: io::Error) -> Self {
        IoError::new(action, path, source).into()
    }

    /// Classifies an SQLite error: a damaged file becomes [`Corrupt`](Self::Corrupt).
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Corrupt { path, source },
            _ => Self::Database { path, source },
        }
    }

    /// Returns a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        use rusqlite::ErrorCode;
        const WRITABLE: &str = "make the directory and its files writable for this user, or choose another state directory";
        const SPACE: &str = "free some disk space";
        match self {
            Self::Io(IoError { source, .. }) => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Some(WRITABLE)
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(SPACE),
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                    Some("a file is in the way: move it, or choose another state directory")
                }
                io::ErrorKind::NotFound => {
                    Some("create the parent directory, or choose another state directory")
                }
                _ if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Some(
                    "symbolic links are not followed here: replace the link with a regular file, or remove it",
                ),
                _ => None,
            },
            Self::LinkedStateDir { .. } => Some(
                "name the target of the link as `folder` in [state], or replace the link with a directory",
            ),
            Self::ForeignStateDir { .. } => {
                Some("run `vouch` as the owner of the directory, or choose another state directory")
            }
            Self::SharedStateDir { .. } => Some("run `chmod go-w` on the directory"),
            Self::OtherProject { .. } => Some(
                "choose another `folder` in [state]; if the project was moved, remove project.json from the directory",
            ),
            Self::ReplacedProject { .. } => Some(
                "choose another `folder` in [state]; to keep approvals and tokens for the new folder, remove project.json from the directory",
            ),
            Self::InvalidProjectRecord { .. } => {
                Some("remove the file; it is written again with the next call")
            }
            Self::Corrupt { .. } => Some(
                "move vouch.db, vouch.db-wal and vouch.db-shm away and restart; this loses approvals, added discoveries, sessions and withheld answers, but not the audit log",
            ),
            Self::NewerSchema { .. } => Some("upgrade vouch, or choose another state directory"),
            Self::Database { source, .. } => match source.sqlite_error_code()? {
                ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                    Some(WRITABLE)
                }
                ErrorCode::DiskFull => Some(SPACE),
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                    Some("another process holds the database lock: stop it, then retry")
                }
                _ => None,
            },
            Self::UnknownApproval { .. } => Some("run `vouch approvals list` to see the ids"),
            Self::AmbiguousApproval { .. }
            | Self::AmbiguousDiscovery { .. }
            | Self::AmbiguousWithheldAnswer { .. } => Some("type more characters of the id"),
            Self::UnknownWithheldAnswer { .. } => Some("run `vouch calls list` to see the ids"),
            Self::UnknownDiscovery { .. } => Some("run `vouch discover list` to see the ids"),
            Self::TooManyDiscoveries { .. } => Some(
                "remove outdated discoveries with `vouch discover remove`, or keep them in project files such as docs/adr",
            ),
            Self::ApprovalExpired { .. } | Self::ApprovalAlreadyUsed { .. } => {
                Some("repeat the call to request a new approval")
            }
            Self::SelfApproval { .. } => {
                Some("approve it as another user or token, with `vouch approvals approve`")
            }
            Self::AuditKey(error) => error.hint(),
            Self::NothingToSeal { .. } => Some(
                "name the `audit.jsonl` in the state directory of a project: `vouch doctor` shows it",
            ),
            Self::ApprovalAlreadyDecided { .. }
            | Self::RandomSource(_)
            | Self::Closed
            | Self::AuditRecordDropped => None,
        }
    }
}

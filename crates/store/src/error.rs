//! What can go wrong with the things we keep: a message that names the thing, and a hint that says what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::State;

/// The operating system refused. It can be cloned, because one failed write concerns every record in it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
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

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Io(#[from] IoError),

    #[error("{} is not a usable database", path.display())]
    Corrupt {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },

    #[error(
        "{} was written by a newer vouch (schema {found}, this one knows {known})", path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },

    #[error("cannot use the database {}", path.display())]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },

    #[error("no approval has the id {id}")]
    UnknownApproval { id: String },

    #[error("more than one approval id begins with {prefix}")]
    AmbiguousApproval { prefix: String },

    #[error("approval {id} is already {state}")]
    AlreadyDecided { id: String, state: State },

    #[error("approval {id} has already been used")]
    AlreadyUsed { id: String },

    #[error("approval {id} expired at {at:.0}")]
    Expired { id: String, at: Timestamp },

    #[error("no discovery in the store has the id {id}")]
    UnknownDiscovery { id: String },

    #[error("more than one discovery id begins with {prefix}")]
    AmbiguousDiscovery { prefix: String },

    #[error("the store would hold more than {limit} discoveries")]
    TooManyDiscoveries { limit: usize },

    #[error("no withheld answer has the id {id}")]
    UnknownAnswer { id: String },

    #[error("more than one id of a withheld answer begins with {prefix}")]
    AmbiguousAnswer { prefix: String },

    #[error("the operating system gives no random bytes")]
    Random(#[source] getrandom::Error),

    #[error("the store is closed")]
    Closed,

    #[error("the audit record was dropped because too many were waiting to be written")]
    RecordLost,
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        IoError::new(action, path, source).into()
    }

    pub(crate) fn database(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => Self::Corrupt { path, source },
            _ => Self::Database { path, source },
        }
    }

    /// What the operator can do about it, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        use rusqlite::ErrorCode;
        const WRITABLE: &str =
            "make the folder and its files writable for this user, or choose another state folder";
        const SPACE: &str = "free some disk space";
        match self {
            Self::Io(IoError { source, .. }) => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Some(WRITABLE)
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(SPACE),
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Some(
                    "a file stands where the folder belongs: move it away, or choose another state folder",
                ),
                io::ErrorKind::NotFound => Some(
                    "the folder above it must exist: create it, or choose another state folder",
                ),
                _ if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Some(
                    "it is a symbolic link, which is never followed here: replace it by a file or remove it",
                ),
                _ => None,
            },
            Self::Corrupt { .. } => Some(
                "move vouch.db, vouch.db-wal and vouch.db-shm away and start again; approvals, added discoveries, sessions and withheld answers are lost, the audit log is a file of its own",
            ),
            Self::Newer { .. } => Some("upgrade vouch, or choose another state folder"),
            Self::Database { source, .. } => match source.sqlite_error_code()? {
                ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                    Some(WRITABLE)
                }
                ErrorCode::DiskFull => Some(SPACE),
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                    Some("another process keeps the database locked: stop it, then try again")
                }
                _ => None,
            },
            Self::UnknownApproval { .. } => Some("`vouch approvals list` shows the ids"),
            Self::AmbiguousApproval { .. }
            | Self::AmbiguousDiscovery { .. }
            | Self::AmbiguousAnswer { .. } => Some("type more characters of the id"),
            Self::UnknownAnswer { .. } => Some("`vouch calls list` shows the ids"),
            Self::UnknownDiscovery { .. } => Some("`vouch discover list` shows the ids"),
            Self::TooManyDiscoveries { .. } => Some(
                "remove what no longer holds (`vouch discover remove`), or keep records in files of the project, such as docs/adr",
            ),
            Self::Expired { .. } | Self::AlreadyUsed { .. } => {
                Some("the caller can ask again by repeating the call")
            }
            Self::AlreadyDecided { .. } | Self::Random(_) | Self::Closed | Self::RecordLost => None,
        }
    }
}

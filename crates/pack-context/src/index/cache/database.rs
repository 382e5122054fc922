//! Opens the cache database, and sets an unusable one aside.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// "VCHI": identifies the file as an index cache, not an unrelated database of the same name.
const APPLICATION_ID: i64 = 0x5643_4849;
/// Schema version; a database with another version is set aside.
const VERSION: i64 = 1;
/// Short, because a process that cannot write continues without the cache.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

const SCHEMA: &str = "
CREATE TABLE files (
    root INTEGER NOT NULL, path TEXT NOT NULL,
    size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL, key BLOB NOT NULL,
    PRIMARY KEY (root, path)
) WITHOUT ROWID;
CREATE TABLE roots (id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE);
CREATE TABLE analyses (key BLOB PRIMARY KEY, used INTEGER NOT NULL, blob BLOB NOT NULL);
CREATE TABLE trigrams (key BLOB PRIMARY KEY, blob BLOB NOT NULL);
CREATE TABLE vectors (
    model BLOB NOT NULL, key BLOB NOT NULL, used INTEGER NOT NULL, row BLOB NOT NULL,
    PRIMARY KEY (model, key)
) WITHOUT ROWID;
";

/// Opens the database at `path`, and creates a new one if it is missing or unusable. Returns `None` if neither works.
pub(super) fn open_or_replace(path: &Path) -> Option<Connection> {
    match open_database(path) {
        Ok(connection) => return Some(connection),
        Err(error) if is_corrupt(&error) || matches!(error, rusqlite::Error::InvalidQuery) => {
            tracing::warn!(%error, "index cache unusable; replacing it");
            set_aside(path);
        }
        Err(error) => {
            tracing::warn!(%error, "failed to open index cache; continuing without it");
            return None;
        }
    }
    open_database(path)
        .inspect_err(
            |error| tracing::warn!(%error, "failed to create index cache; continuing without it"),
        )
        .ok()
}

fn open_database(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite does not wait when two processes switch a new file to WAL at once, so a lock serializes opening.
    let lock = path.parent().and_then(|folder| File::open(folder).ok());
    if let Some(folder) = &lock {
        folder.lock().ok();
    }
    create_private_file(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // A power failure may lose the last rows, but does not damage earlier ones.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -8192)?;
    initialize_schema(&mut connection)?;
    Ok(connection)
}

/// Creates the file with mode 0600 before SQLite opens it, because SQLite gives its side files the same mode. Errors
/// are ignored here; SQLite reports them when it opens the file.
fn create_private_file(path: &Path) {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).ok();
}

/// Creates the tables in an empty file. Returns `InvalidQuery` for an unrelated database or another schema version.
fn initialize_schema(connection: &mut Connection) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let pragma = |name: &str| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 = tx.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        tx.execute_batch(SCHEMA)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", VERSION)?;
    } else if (pragma("application_id")?, pragma("user_version")?) != (APPLICATION_ID, VERSION) {
        return Err(rusqlite::Error::InvalidQuery);
    }
    tx.commit()
}

pub(super) fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Moves the file to `index.db.corrupt` for inspection, replacing an earlier one.
pub(super) fn set_aside(path: &Path) {
    let [database, wal, shared] = database_files(path);
    for side in [wal, shared] {
        fs::remove_file(side).ok();
    }
    if fs::rename(&database, append_suffix(path, ".corrupt")).is_err() {
        fs::remove_file(&database).ok();
    }
}

/// Returns the paths of the database, its write-ahead log and its shared-memory file.
pub(super) fn database_files(path: &Path) -> [PathBuf; 3] {
    [path.to_owned(), append_suffix(path, "-wal"), append_suffix(path, "-shm")]
}

fn append_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

//! Opening the cache file, and getting one that is of no use out of the way.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// "VCHI": says that the file is ours and not some other database with that name.
const APPLICATION_ID: i64 = 0x5643_4849;
/// Another number here makes every file of before be set aside.
const VERSION: i64 = 1;
/// A cache is not worth a long wait: whoever cannot write goes on without.
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

/// The database at `path`; a new one where there is none, or where what is there is no use. None if there can be none.
pub(super) fn open_or_replace(path: &Path) -> Option<Connection> {
    match open(path) {
        Ok(connection) => return Some(connection),
        Err(error) if is_corrupt(&error) || matches!(error, rusqlite::Error::InvalidQuery) => {
            tracing::warn!(%error, "the index cache is not usable: it is set aside and made again");
            set_aside(path);
        }
        Err(error) => {
            tracing::warn!(%error, "the index cache cannot be opened: the index goes on without it");
            return None;
        }
    }
    open(path).inspect_err(|error| tracing::warn!(%error, "there is no index cache")).ok()
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    // SQLite does not wait for its turn when two processes switch a new file to WAL, so openers go one by one.
    let lock = path.parent().and_then(|folder| File::open(folder).ok());
    if let Some(folder) = &lock {
        folder.lock().ok();
    }
    create_private(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // A power cut may take the last rows; it does not damage those before.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -8192)?;
    prepare(&mut connection)?;
    Ok(connection)
}

/// SQLite gives its side files the mode of the database, so the mode is set before it first sees the file. Where this
/// fails SQLite says why.
fn create_private(path: &Path) {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).ok();
}

/// Makes the tables in an empty file; `InvalidQuery` for a database that is not ours or not of this version.
fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
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

/// Moves the file to `index.db.corrupt`, where a person can look at it; the one before it there is lost.
pub(super) fn set_aside(path: &Path) {
    let [database, wal, shared] = files(path);
    for side in [wal, shared] {
        fs::remove_file(side).ok();
    }
    if fs::rename(&database, with(path, ".corrupt")).is_err() {
        fs::remove_file(&database).ok();
    }
}

/// The database, its write-ahead log, and the index of that log.
pub(super) fn files(path: &Path) -> [PathBuf; 3] {
    [path.to_owned(), with(path, "-wal"), with(path, "-shm")]
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

//! Opening the database file: private, in WAL mode, at the newest schema.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::{StateDir, StoreError, private};

/// A step in the schema's history is never edited once released; the next one is added.
const MIGRATIONS: [&str; 3] = [
    include_str!("../../migrations/0001_approvals.sql"),
    include_str!("../../migrations/0002_context.sql"),
    include_str!("../../migrations/0003_broken_answers.sql"),
];

/// Far longer than any transaction of ours; only a stuck process makes it run out.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn open(dir: &StateDir) -> Result<Connection, StoreError> {
    let path = dir.database();
    // SQLite does not wait for its turn when two processes switch a new file to WAL, so openers go one by one.
    let folder = File::open(dir.path())
        .and_then(|folder| folder.lock().map(|()| folder))
        .map_err(|source| StoreError::io("lock the state folder", dir.path(), source))?;
    create_private(&path)?;
    let connection = connect(&path);
    drop(folder);
    connection
}

/// SQLite gives its side files the mode of the database, so the mode is set before it first sees the file.
fn create_private(path: &Path) -> Result<(), StoreError> {
    private::options()
        .open(path)
        .map(drop)
        .map_err(|source| StoreError::io("open the database", path, source))
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let failed = |source| StoreError::database(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    // An approval that was used must stay used after a power cut: WAL alone would forget the last commits.
    connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let known = i64::try_from(MIGRATIONS.len()).expect("there are few migrations");
    let found = apply(connection, known).map_err(|source| StoreError::database(path, source))?;
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    Ok(())
}

/// Applies what is missing and returns the version found.
fn apply(connection: &mut Connection, known: i64) -> rusqlite::Result<i64> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL)",
    )?;
    let found: i64 =
        tx.query_row("SELECT COALESCE(MAX(version), 0) FROM schema_version", [], |row| row.get(0))?;
    for (version, migration) in (1..=known).zip(MIGRATIONS) {
        if version > found {
            tx.execute_batch(migration)?;
            tx.execute(
                "INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)",
                (version, Timestamp::now().as_millisecond()),
            )?;
        }
    }
    tx.commit()?;
    Ok(found)
}

//! Opens the database file with private permissions, in WAL mode, and migrates it to the newest schema.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::{StateDir, StoreError, private_file};

/// The schema migrations, in order. A released migration is never edited; a change needs a new one.
const MIGRATIONS: [&str; 4] = [
    include_str!("../../migrations/0001_approvals.sql"),
    include_str!("../../migrations/0002_context.sql"),
    include_str!("../../migrations/0003_broken_answers.sql"),
    include_str!("../../migrations/0004_request_states.sql"),
];

/// Much longer than any transaction takes, so that only a stuck process causes a timeout.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens a connection to the database of a state directory, creating and migrating the database if needed.
pub(crate) fn open_database(dir: &StateDir) -> Result<Connection, StoreError> {
    let path = dir.database_path();
    // SQLite ignores the busy timeout when two processes switch a new file to WAL, so a lock serializes opening.
    let folder = File::open(dir.path())
        .and_then(|folder| folder.lock().map(|()| folder))
        .map_err(|source| StoreError::from_io("lock state directory", dir.path(), source))?;
    create_private_file(&path)?;
    let connection = open_connection(&path);
    drop(folder);
    connection
}

/// Creates the database file with private permissions before SQLite opens it. SQLite gives its WAL and shared-memory
/// files the mode of the database file.
fn create_private_file(path: &Path) -> Result<(), StoreError> {
    private_file::open_options()
        .open(path)
        .map(drop)
        .map_err(|source| StoreError::from_io("open database", path, source))
}

fn open_connection(path: &Path) -> Result<Connection, StoreError> {
    let failed = |source| StoreError::from_sqlite(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    // A used approval must stay used after a power failure. In WAL mode, a lower level may lose the last commits.
    connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
    migrate_schema(&mut connection, path)?;
    Ok(connection)
}

fn migrate_schema(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let known = i64::try_from(MIGRATIONS.len()).expect("the number of migrations fits in i64");
    let found = apply_migrations(connection, known)
        .map_err(|source| StoreError::from_sqlite(path, source))?;
    if found > known {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known });
    }
    Ok(())
}

/// Applies the missing migrations. Returns the schema version found before.
fn apply_migrations(connection: &mut Connection, known: i64) -> rusqlite::Result<i64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The writes of SQLite are not on the simulated disk, so its settings are what makes a commit durable.
    #[test]
    fn every_connection_syncs_every_commit() {
        let temp = tempfile::tempdir().expect("a folder");
        let dir = StateDir::open(temp.path().join("state")).expect("a state directory");
        for _ in 0..2 {
            let connection = open_database(&dir).expect("a database");
            let synchronous: i64 = connection
                .pragma_query_value(None, "synchronous", |row| row.get(0))
                .expect("a known setting");
            assert_eq!(synchronous, 2, "a lower level than full loses commits in WAL mode");
            let journal: String = connection
                .pragma_query_value(None, "journal_mode", |row| row.get(0))
                .expect("a known setting");
            assert_eq!(journal, "wal");
        }
    }
}

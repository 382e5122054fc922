//! Reads the discoveries from the database of an earlier version, which was kept inside the project.
//!
//! A clone can contain such a file, so nothing in it may gain power: only typed rows are read, never the file as a whole.
//! Its triggers and views would otherwise approve what no person approved.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::StoredDiscovery;
use super::discoveries::{MAX_DISCOVERIES, list_discoveries};
use crate::StoreError;
use crate::sqlite::TransactionError;

/// Returns the discoveries in a copy of an earlier database, newest first.
///
/// The file must be a private copy: SQLite completes an interrupted transaction in it. Approvals, nonces, keys and
/// sessions are not read. Errors if the file is not a database or holds too many discoveries.
pub fn read_legacy_discoveries(path: &Path) -> Result<Vec<StoredDiscovery>, StoreError> {
    let found = read_rows(path).map_err(|failure| failure.into_store_error(path))?;
    if found.len() > MAX_DISCOVERIES {
        return Err(StoreError::TooManyDiscoveries { limit: MAX_DISCOVERIES });
    }
    Ok(found)
}

fn read_rows(path: &Path) -> Result<Vec<StoredDiscovery>, TransactionError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'discovery'";
    let has_table = connection.query_row(sql, [], |_| Ok(())).optional()?.is_some();
    if has_table { list_discoveries(&connection) } else { Ok(Vec::new()) }
}

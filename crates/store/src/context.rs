//! [`ContextStore`]: discoveries that people added, and the activity of callers (sessions and file accesses).
//!
//! It uses the same `vouch.db` as the approvals and is also shared by all processes of the project. Its methods block,
//! because its users run on threads of their own. One connection reads and one writes, so that a search never waits
//! for a write to disk. The types and statements are in `discoveries` and `activity`.
//!
//! The size is bounded: above [`MAX_DISCOVERIES`], adding is an error; above the limits of `activity`, the oldest
//! entries are deleted.

mod activity;
mod discoveries;
mod legacy;

use std::path::PathBuf;

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use self::activity::{
    FileAccess, MAX_FILES_PER_SESSION, MAX_SEARCHES_PER_SESSION, MAX_SESSIONS, SessionAction,
    SessionEvent, SessionFileRead, SessionKey, SessionRecord, SessionSearch,
};
pub use self::discoveries::{DiscoveryKind, MAX_DISCOVERIES, StoredDiscovery};
pub use self::legacy::read_legacy_discoveries;
use crate::sqlite::{TransactionError, connect};
use crate::{StateDir, StoreError};

/// A store of discoveries, sessions and file accesses.
pub struct ContextStore {
    // A panic while a connection is locked rolls its transaction back, so the connection stays usable.
    reader: Mutex<Connection>,
    writer: Mutex<Connection>,
    path: PathBuf,
}

/// The durability of a commit. Both levels survive a crash of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// The commit survives a power failure.
    Full,
    /// A power failure may lose the commit.
    Normal,
}

impl ContextStore {
    /// Opens the database and migrates its schema.
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        let path = dir.database_path();
        let writer = connect::open_database(dir)?;
        let reader = connect::open_database(dir)?;
        reader
            .pragma_update(None, "query_only", true)
            .map_err(|source| StoreError::from_sqlite(&path, source))?;
        Ok(Self { reader: Mutex::new(reader), writer: Mutex::new(writer), path })
    }

    /// Adds all discoveries in one transaction. Returns the number of new ones; an existing id is left unchanged.
    ///
    /// Errors without adding any if the store would exceed [`MAX_DISCOVERIES`].
    pub fn add_discoveries(&self, discoveries: &[StoredDiscovery]) -> Result<usize, StoreError> {
        self.with_transaction(Durability::Full, |tx| {
            discoveries::insert_discoveries(tx, discoveries)
        })
    }

    /// Returns all discoveries, newest first.
    pub fn list_discoveries(&self) -> Result<Vec<StoredDiscovery>, StoreError> {
        self.with_reader(discoveries::list_discoveries)
    }

    /// Returns the discovery with this id or unique id prefix.
    pub fn find_discovery(&self, id: &str) -> Result<StoredDiscovery, StoreError> {
        self.with_reader(|connection| discoveries::find_discovery(connection, id))
    }

    /// Removes the discovery with this id or unique id prefix, and returns it.
    pub fn remove_discovery(&self, id: &str) -> Result<StoredDiscovery, StoreError> {
        self.with_transaction(Durability::Full, |tx| discoveries::delete_discovery(tx, id))
    }

    /// Returns a number that grows with every change of the discoveries by any process. Takes a few microseconds.
    pub fn discovery_generation(&self) -> Result<i64, StoreError> {
        self.with_reader(|connection| read_generation(connection, "discoveries"))
    }

    /// Records events in one transaction. The last ones may be lost in a power failure, but not in a crash.
    pub fn record_events(&self, events: &[SessionEvent]) -> Result<(), StoreError> {
        self.with_transaction(Durability::Normal, |tx| activity::record_events(tx, events))
    }

    /// Returns a number that grows with every batch of events recorded by any process.
    pub fn activity_generation(&self) -> Result<i64, StoreError> {
        self.with_reader(|connection| read_generation(connection, "activity"))
    }

    /// Returns up to `limit` sessions of a principal, or of all, the most recently active first.
    pub fn list_sessions(
        &self,
        principal: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        self.with_reader(|connection| activity::list_sessions(connection, principal, limit))
    }

    /// Returns the session with this id.
    pub fn find_session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.with_reader(|connection| activity::find_session(connection, id))
    }

    /// Returns the last session of a principal and client, without its searches and files.
    pub fn find_last_session(
        &self,
        principal: &str,
        client: Option<&str>,
    ) -> Result<Option<SessionRecord>, StoreError> {
        self.with_reader(|connection| activity::find_last_session(connection, principal, client))
    }

    /// Returns the files that were accessed after a number from [`ContextStore::activity_generation`]; all for 0.
    pub fn list_accesses_since(&self, activity: i64) -> Result<Vec<FileAccess>, StoreError> {
        self.with_reader(|connection| activity::list_accesses_since(connection, activity))
    }

    /// Returns the files that were read in the same sessions as `path`, with the number of such sessions. The file
    /// with the most sessions comes first.
    pub fn list_files_read_together(
        &self,
        path: &str,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        self.with_reader(|connection| activity::list_files_read_together(connection, path, limit))
    }

    /// Runs a query on the reading connection.
    fn with_reader<T>(
        &self,
        action: impl FnOnce(&Connection) -> Result<T, TransactionError>,
    ) -> Result<T, StoreError> {
        action(&self.reader.lock()).map_err(|failure| failure.into_store_error(&self.path))
    }

    /// Runs a transaction on the writing connection. It holds SQLite's write lock from its start.
    fn with_transaction<T>(
        &self,
        durability: Durability,
        action: impl FnOnce(&Transaction<'_>) -> Result<T, TransactionError>,
    ) -> Result<T, StoreError> {
        let run = |connection: &mut Connection| {
            let level = if durability == Durability::Full { "full" } else { "normal" };
            connection.pragma_update(None, "synchronous", level)?;
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = action(&tx)?;
            tx.commit()?;
            Ok(value)
        };
        run(&mut self.writer.lock())
            .map_err(|failure: TransactionError| failure.into_store_error(&self.path))
    }
}

/// Returns the current number of a generation.
fn read_generation(connection: &Connection, name: &str) -> Result<i64, TransactionError> {
    let mut statement =
        connection.prepare_cached("SELECT value FROM generation WHERE name = $1")?;
    Ok(statement.query_row([name], |row| row.get(0))?)
}

/// Increments the generation and returns the new number.
fn increment_generation(tx: &Transaction<'_>, name: &str) -> Result<i64, TransactionError> {
    let mut statement = tx.prepare_cached(
        "UPDATE generation SET value = value + 1 WHERE name = $1 RETURNING value",
    )?;
    Ok(statement.query_row([name], |row| row.get(0))?)
}

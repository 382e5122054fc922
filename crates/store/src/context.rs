//! [`ContextStore`]: what people told the project (discoveries) and what callers looked at (sessions, file accesses).
//!
//! It lies in the same `vouch.db` as the approvals and is shared by every process of the project in the same way. Its
//! calls block, because those who use it have threads of their own. One connection reads and one writes, so that a
//! search never waits for the disk. The types and statements are in `discoveries` and `activity`.
//!
//! Growth is bounded: [`MAX_DISCOVERIES`] refuses, the bounds of `activity` forget the oldest.

mod activity;
mod discoveries;

use std::path::PathBuf;

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use self::activity::{
    Event, FileAccess, FileRead, MAX_FILES_OF_SESSION, MAX_SEARCHES_OF_SESSION, MAX_SESSIONS,
    SearchMade, Session, SessionKey, What,
};
pub use self::discoveries::{Kind, MAX_DISCOVERIES, StoredDiscovery};
use crate::sqlite::{Failure, connect};
use crate::{StateDir, StoreError};

pub struct ContextStore {
    // A panic while a connection is locked rolls its transaction back, so the connection stays usable.
    reader: Mutex<Connection>,
    writer: Mutex<Connection>,
    path: PathBuf,
}

/// Whether a commit must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

impl ContextStore {
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        let path = dir.database();
        let writer = connect::open(dir)?;
        let reader = connect::open(dir)?;
        reader
            .pragma_update(None, "query_only", true)
            .map_err(|source| StoreError::database(&path, source))?;
        Ok(Self { reader: Mutex::new(reader), writer: Mutex::new(writer), path })
    }

    /// Adds all or none. Returns how many were not there before; one that is there stays as it is.
    pub fn add(&self, discoveries: &[StoredDiscovery]) -> Result<usize, StoreError> {
        self.write(Durable::Yes, |tx| discoveries::add(tx, discoveries))
    }

    /// Newest first.
    pub fn discoveries(&self) -> Result<Vec<StoredDiscovery>, StoreError> {
        self.read(discoveries::list)
    }

    /// The one with this id, or whose id alone begins so.
    pub fn discovery(&self, id: &str) -> Result<StoredDiscovery, StoreError> {
        self.read(|connection| discoveries::find(connection, id))
    }

    /// Removes one and returns it. Takes the id or a unique beginning of it.
    pub fn remove(&self, id: &str) -> Result<StoredDiscovery, StoreError> {
        self.write(Durable::Yes, |tx| discoveries::remove(tx, id))
    }

    /// A number that grows with every change of the discoveries, by whichever process. A few microseconds.
    pub fn generation(&self) -> Result<i64, StoreError> {
        self.read(|connection| generation(connection, "discoveries"))
    }

    /// Records what callers did, in one transaction. A power cut may forget the last ones, a crash does not.
    pub fn record(&self, events: &[Event]) -> Result<(), StoreError> {
        self.write(Durable::No, |tx| activity::record(tx, events))
    }

    /// A number that grows with every recorded batch, by whichever process.
    pub fn activity(&self) -> Result<i64, StoreError> {
        self.read(|connection| generation(connection, "activity"))
    }

    /// The last sessions, newest first.
    pub fn sessions(&self, limit: usize) -> Result<Vec<Session>, StoreError> {
        self.read(|connection| activity::sessions(connection, limit))
    }

    pub fn session(&self, id: &str) -> Result<Option<Session>, StoreError> {
        self.read(|connection| activity::session(connection, id))
    }

    /// The last session of a principal and client, with nothing of what was done in it.
    pub fn last_session_of(
        &self,
        principal: &str,
        client: Option<&str>,
    ) -> Result<Option<Session>, StoreError> {
        self.read(|connection| activity::last_session_of(connection, principal, client))
    }

    /// The files whose accesses changed after a number that [`ContextStore::activity`] gave; all for 0.
    pub fn accesses_since(&self, activity: i64) -> Result<Vec<FileAccess>, StoreError> {
        self.read(|connection| activity::accesses_since(connection, activity))
    }

    /// Files that were read in the sessions in which `path` was, with the number of such sessions; most first.
    pub fn read_together(
        &self,
        path: &str,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        self.read(|connection| activity::read_together(connection, path, limit))
    }

    fn read<T>(
        &self,
        action: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        action(&self.reader.lock()).map_err(|failure| failure.at(&self.path))
    }

    fn write<T>(
        &self,
        durable: Durable,
        action: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let run = |connection: &mut Connection| {
            let level = if durable == Durable::Yes { "full" } else { "normal" };
            connection.pragma_update(None, "synchronous", level)?;
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = action(&tx)?;
            tx.commit()?;
            Ok(value)
        };
        run(&mut self.writer.lock()).map_err(|failure: Failure| failure.at(&self.path))
    }
}

fn generation(connection: &Connection, name: &str) -> Result<i64, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT value FROM generation WHERE name = $1")?;
    Ok(statement.query_row([name], |row| row.get(0))?)
}

/// Raises the number and returns it.
fn raise(tx: &Transaction<'_>, name: &str) -> Result<i64, Failure> {
    let mut statement = tx.prepare_cached(
        "UPDATE generation SET value = value + 1 WHERE name = $1 RETURNING value",
    )?;
    Ok(statement.query_row([name], |row| row.get(0))?)
}

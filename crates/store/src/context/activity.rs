//! Sessions and file accesses, and the SQL statements on them.
//!
//! Above a limit the oldest entries are deleted: whole sessions, searches and files within a session, and the least
//! recently read files.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};

use super::increment_generation;
use crate::sqlite::{TransactionError, timestamp_from_millis};

pub const MAX_SESSIONS: usize = 500;
pub const MAX_SEARCHES_PER_SESSION: usize = 200;
pub const MAX_FILES_PER_SESSION: usize = 500;
pub(crate) const MAX_FILES_ACCESSED: usize = 20_000;

/// Number of batches between enforcements of the limits, because counting costs more than recording.
const PRUNE_INTERVAL_BATCHES: i64 = 32;

/// Half-life of a read. Work on one topic lasts days rather than months, so a read a week ago counts half.
const HALF_LIFE_MS: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;

/// Identity of a session. The id is not a session handle, so it cannot be used to take over the session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    pub id: String,
    pub principal: String,
    pub client: Option<String>,
}

/// An action of a caller in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEvent {
    pub session: SessionKey,
    pub at: Timestamp,
    pub action: SessionAction,
}

/// A file read or a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionAction {
    Read { path: String },
    Search { query: String, results: u64 },
}

/// A stored session with its searches and file reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    pub key: SessionKey,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// Newest first.
    pub searches: Vec<SessionSearch>,
    /// Newest first.
    pub files: Vec<SessionFileRead>,
}

/// A query that was searched for in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSearch {
    pub query: String,
    /// Number of results of the last search.
    pub results: u64,
    /// Number of searches with this query.
    pub times: u64,
    /// Time of the last search.
    pub at: Timestamp,
}

/// A file that was read in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFileRead {
    pub path: String,
    /// Number of reads.
    pub times: u64,
    /// Time of the last read.
    pub at: Timestamp,
}

/// The reads of a file by all callers, as a total and weighted by age.
#[derive(Clone, Debug, PartialEq)]
pub struct FileAccess {
    pub path: String,
    pub times: u64,
    /// Number of reads, each halved for every week since, as of `last`.
    pub heat: f64,
    pub last: Timestamp,
    /// The session of the last read.
    pub session: String,
}

impl FileAccess {
    /// Returns the access of a file that was read once.
    pub fn from_first_read(path: String, at: Timestamp, session: String) -> Self {
        Self { path, times: 1, heat: 1.0, last: at, session }
    }

    /// Returns the heat at a later time. A time before `last` returns the heat as of `last`.
    pub fn heat_at(&self, now: Timestamp) -> f64 {
        let passed = now.as_millisecond().saturating_sub(self.last.as_millisecond()).max(0);
        let half_lives = passed as f64 / HALF_LIFE_MS;
        self.heat * (-half_lives).exp2()
    }

    /// Adds one read.
    pub fn add_read(&mut self, at: Timestamp, session: &str) {
        self.heat = self.heat_at(at) + 1.0;
        self.times += 1;
        self.last = self.last.max(at);
        session.clone_into(&mut self.session);
    }
}

pub(super) fn record_events(
    tx: &Transaction<'_>,
    events: &[SessionEvent],
) -> Result<(), TransactionError> {
    let generation = increment_generation(tx, "activity")?;
    for event in events {
        let session = &event.session;
        let ms = event.at.as_millisecond();
        tx.prepare_cached(
            "INSERT INTO session (id, principal, client, started_at, seen_at) VALUES ($1, $2, $3, $4, $4)
             ON CONFLICT (id) DO UPDATE SET
               seen_at = CASE WHEN excluded.seen_at > seen_at THEN excluded.seen_at ELSE seen_at END",
        )?
        .execute((&session.id, &session.principal, &session.client, ms))?;
        match &event.action {
            SessionAction::Search { query, results } => {
                tx.prepare_cached(
                    "INSERT INTO session_search (session_id, query, results, times, searched_at)
                     VALUES ($1, $2, $3, 1, $4) ON CONFLICT (session_id, query) DO UPDATE SET
                       results = excluded.results, times = times + 1, searched_at = excluded.searched_at",
                )?
                .execute((&session.id, query, to_sql_count(*results), ms))?;
            }
            SessionAction::Read { path } => {
                tx.prepare_cached(
                    "INSERT INTO session_file (session_id, path, times, read_at) VALUES ($1, $2, 1, $3)
                     ON CONFLICT (session_id, path) DO UPDATE SET
                       times = times + 1, read_at = excluded.read_at",
                )?
                .execute((&session.id, path, ms))?;
                record_access(tx, path, event.at, &session.id, generation)?;
            }
        }
    }
    if generation % PRUNE_INTERVAL_BATCHES == 0 {
        prune_activity(tx)?;
    }
    Ok(())
}

/// Records a read of a file. Not every database can compute the decay in SQL, so the row is read, changed and written
/// back under the write lock.
fn record_access(
    tx: &Transaction<'_>,
    path: &str,
    at: Timestamp,
    session: &str,
    generation: i64,
) -> Result<(), TransactionError> {
    let stored = tx
        .prepare_cached(&format!("SELECT {ACCESS_COLUMNS} FROM file_access WHERE path = $1"))?
        .query_row([path], access_from_row)
        .optional()?;
    let updated = match stored {
        Some(mut stored) => {
            stored.add_read(at, session);
            stored
        }
        None => FileAccess::from_first_read(path.to_owned(), at, session.to_owned()),
    };
    tx.prepare_cached(
        "INSERT INTO file_access (path, times, heat, read_at, session_id, changed)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (path) DO UPDATE SET
           times = excluded.times, heat = excluded.heat, read_at = excluded.read_at,
           session_id = excluded.session_id, changed = excluded.changed",
    )?
    .execute((
        path,
        to_sql_count(updated.times),
        updated.heat,
        updated.last.as_millisecond(),
        session,
        generation,
    ))?;
    Ok(())
}

/// Deletes the oldest entries above the limits.
fn prune_activity(tx: &Transaction<'_>) -> Result<(), TransactionError> {
    let keep = |limit: usize| to_sql_count(limit as u64);
    tx.execute(
        "DELETE FROM session WHERE id NOT IN
           (SELECT id FROM session ORDER BY seen_at DESC, id LIMIT $1)",
        [keep(MAX_SESSIONS)],
    )?;
    for (table, name, order, limit) in [
        ("session_search", "query", "searched_at", MAX_SEARCHES_PER_SESSION),
        ("session_file", "path", "read_at", MAX_FILES_PER_SESSION),
    ] {
        tx.execute(
            &format!("DELETE FROM {table} WHERE session_id NOT IN (SELECT id FROM session)"),
            [],
        )?;
        tx.execute(
            &format!(
                "DELETE FROM {table} WHERE (session_id, {name}) IN
                   (SELECT session_id, {name} FROM (SELECT session_id, {name}, ROW_NUMBER() OVER
                      (PARTITION BY session_id ORDER BY {order} DESC, {name}) AS place FROM {table}) AS placed
                    WHERE place > $1)"
            ),
            [keep(limit)],
        )?;
    }
    tx.execute(
        "DELETE FROM file_access WHERE path NOT IN
           (SELECT path FROM file_access ORDER BY read_at DESC, path LIMIT $1)",
        [keep(MAX_FILES_ACCESSED)],
    )?;
    Ok(())
}

const ACCESS_COLUMNS: &str = "path, times, heat, read_at, session_id";
const SESSION_COLUMNS: &str = "id, principal, client, started_at, seen_at";

pub(super) fn list_sessions(
    connection: &Connection,
    principal: Option<&str>,
    limit: usize,
) -> Result<Vec<SessionRecord>, TransactionError> {
    let sql = format!(
        "SELECT {SESSION_COLUMNS} FROM session WHERE principal = COALESCE($1, principal)
         ORDER BY seen_at DESC, id LIMIT $2"
    );
    let limit = to_sql_count(limit.min(MAX_SESSIONS) as u64);
    let mut sessions = connection
        .prepare_cached(&sql)?
        .query_map((principal, limit), session_from_row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for session in &mut sessions {
        load_session_activity(connection, session)?;
    }
    Ok(sessions)
}

pub(super) fn find_session(
    connection: &Connection,
    id: &str,
) -> Result<Option<SessionRecord>, TransactionError> {
    let mut session = connection
        .prepare_cached(&format!("SELECT {SESSION_COLUMNS} FROM session WHERE id = $1"))?
        .query_row([id], session_from_row)
        .optional()?;
    if let Some(session) = &mut session {
        load_session_activity(connection, session)?;
    }
    Ok(session)
}

pub(super) fn find_last_session(
    connection: &Connection,
    principal: &str,
    client: Option<&str>,
) -> Result<Option<SessionRecord>, TransactionError> {
    let sql = format!(
        "SELECT {SESSION_COLUMNS} FROM session WHERE principal = $1 AND COALESCE(client, '') = $2
         ORDER BY seen_at DESC, id LIMIT 1"
    );
    let row = connection
        .prepare_cached(&sql)?
        .query_row((principal, client.unwrap_or_default()), session_from_row);
    Ok(row.optional()?)
}

/// Loads the searches and files of a session.
fn load_session_activity(
    connection: &Connection,
    session: &mut SessionRecord,
) -> Result<(), TransactionError> {
    session.searches = connection
        .prepare_cached(
            "SELECT query, results, times, searched_at FROM session_search WHERE session_id = $1
             ORDER BY searched_at DESC, query LIMIT $2",
        )?
        .query_map((&session.key.id, to_sql_count(MAX_SEARCHES_PER_SESSION as u64)), |row| {
            Ok(SessionSearch {
                query: row.get(0)?,
                results: from_sql_count(row.get(1)?),
                times: from_sql_count(row.get(2)?),
                at: timestamp_from_millis(row.get(3)?)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    session.files = connection
        .prepare_cached(
            "SELECT path, times, read_at FROM session_file WHERE session_id = $1
             ORDER BY read_at DESC, path LIMIT $2",
        )?
        .query_map((&session.key.id, to_sql_count(MAX_FILES_PER_SESSION as u64)), |row| {
            Ok(SessionFileRead {
                path: row.get(0)?,
                times: from_sql_count(row.get(1)?),
                at: timestamp_from_millis(row.get(2)?)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(())
}

pub(super) fn list_accesses_since(
    connection: &Connection,
    generation: i64,
) -> Result<Vec<FileAccess>, TransactionError> {
    let rows = connection
        .prepare_cached(&format!("SELECT {ACCESS_COLUMNS} FROM file_access WHERE changed > $1"))?
        .query_map([generation], access_from_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(super) fn list_files_read_together(
    connection: &Connection,
    path: &str,
    limit: usize,
) -> Result<Vec<(String, u64)>, TransactionError> {
    let rows = connection
        .prepare_cached(
            "SELECT other.path, COUNT(*) AS sessions FROM session_file AS this
             JOIN session_file AS other ON other.session_id = this.session_id AND other.path <> this.path
             WHERE this.path = $1 GROUP BY other.path ORDER BY sessions DESC, other.path LIMIT $2",
        )?
        .query_map((path, to_sql_count(limit as u64)), |row| Ok((row.get(0)?, from_sql_count(row.get(1)?))))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn session_from_row(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    Ok(SessionRecord {
        key: SessionKey {
            id: row.get("id")?,
            principal: row.get("principal")?,
            client: row.get("client")?,
        },
        started_at: timestamp_from_millis(row.get("started_at")?)?,
        seen_at: timestamp_from_millis(row.get("seen_at")?)?,
        searches: Vec::new(),
        files: Vec::new(),
    })
}

fn access_from_row(row: &Row<'_>) -> rusqlite::Result<FileAccess> {
    Ok(FileAccess {
        path: row.get("path")?,
        times: from_sql_count(row.get("times")?),
        heat: row.get("heat")?,
        last: timestamp_from_millis(row.get("read_at")?)?,
        session: row.get("session_id")?,
    })
}

/// Converts a count to SQL, which has no unsigned integers. Saturates at `i64::MAX`, which no count reaches.
fn to_sql_count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn from_sql_count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

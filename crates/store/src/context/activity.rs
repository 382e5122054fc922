//! Sessions and file accesses, and the statements on them.
//!
//! All of it is a memory of what was done, so the oldest is forgotten where a bound is reached: whole sessions, searches
//! and files within a session, and files that were not read for longest.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction};

use super::raise;
use crate::sqlite::{Failure, time};

pub const MAX_SESSIONS: usize = 500;
pub const MAX_SEARCHES_OF_SESSION: usize = 200;
pub const MAX_FILES_OF_SESSION: usize = 500;
pub(crate) const MAX_FILES_ACCESSED: usize = 20_000;

/// The bounds are enforced once in so many batches: counting costs more than recording.
const BATCHES_BETWEEN_PRUNINGS: i64 = 32;

/// Work on one thing lasts days, not months: a file read a week ago counts half.
const HALF_LIFE_MS: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;

/// Whose session it is. The id is no handle that would let anybody take the session over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    pub id: String,
    pub principal: String,
    pub client: Option<String>,
}

/// One thing that a caller did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub session: SessionKey,
    pub at: Timestamp,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Read { path: String },
    Search { query: String, results: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub key: SessionKey,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// Newest first.
    pub searches: Vec<SearchMade>,
    /// Newest first.
    pub files: Vec<FileRead>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchMade {
    pub query: String,
    pub results: u64,
    pub times: u64,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    pub path: String,
    pub times: u64,
    pub at: Timestamp,
}

/// How often a file was read, by anyone, and how much of that is recent.
#[derive(Clone, Debug, PartialEq)]
pub struct FileAccess {
    pub path: String,
    pub times: u64,
    /// The number of reads, each halved for every week since; as of `last`.
    pub heat: f64,
    pub last: Timestamp,
    /// The session of the last read.
    pub session: String,
}

impl FileAccess {
    /// A file's first read.
    pub fn first(path: String, at: Timestamp, session: String) -> Self {
        Self { path, times: 1, heat: 1.0, last: at, session }
    }

    pub fn heat_at(&self, now: Timestamp) -> f64 {
        let passed = now.as_millisecond().saturating_sub(self.last.as_millisecond()).max(0);
        let half_lives = passed as f64 / HALF_LIFE_MS;
        self.heat * (-half_lives).exp2()
    }

    pub fn read_again(&mut self, at: Timestamp, session: &str) {
        self.heat = self.heat_at(at) + 1.0;
        self.times += 1;
        self.last = self.last.max(at);
        session.clone_into(&mut self.session);
    }
}

pub(super) fn record(tx: &Transaction<'_>, events: &[Event]) -> Result<(), Failure> {
    let generation = raise(tx, "activity")?;
    for Event { session, at, what } in events {
        let ms = at.as_millisecond();
        tx.prepare_cached(
            "INSERT INTO session (id, principal, client, started_at, seen_at) VALUES ($1, $2, $3, $4, $4)
             ON CONFLICT (id) DO UPDATE SET
               seen_at = CASE WHEN excluded.seen_at > seen_at THEN excluded.seen_at ELSE seen_at END",
        )?
        .execute((&session.id, &session.principal, &session.client, ms))?;
        match what {
            What::Search { query, results } => {
                tx.prepare_cached(
                    "INSERT INTO session_search (session_id, query, results, times, searched_at)
                     VALUES ($1, $2, $3, 1, $4) ON CONFLICT (session_id, query) DO UPDATE SET
                       results = excluded.results, times = times + 1, searched_at = excluded.searched_at",
                )?
                .execute((&session.id, query, count(*results), ms))?;
            }
            What::Read { path } => {
                tx.prepare_cached(
                    "INSERT INTO session_file (session_id, path, times, read_at) VALUES ($1, $2, 1, $3)
                     ON CONFLICT (session_id, path) DO UPDATE SET
                       times = times + 1, read_at = excluded.read_at",
                )?
                .execute((&session.id, path, ms))?;
                access(tx, path, *at, &session.id, generation)?;
            }
        }
    }
    if generation % BATCHES_BETWEEN_PRUNINGS == 0 {
        prune(tx)?;
    }
    Ok(())
}

/// Halving is not SQL that every database has, so the row is read, changed and written back under the write lock.
fn access(
    tx: &Transaction<'_>,
    path: &str,
    at: Timestamp,
    session: &str,
    generation: i64,
) -> Result<(), Failure> {
    let known = tx
        .prepare_cached(&format!("SELECT {ACCESS} FROM file_access WHERE path = $1"))?
        .query_row([path], access_from_row)
        .optional()?;
    let now = match known {
        Some(mut known) => {
            known.read_again(at, session);
            known
        }
        None => FileAccess::first(path.to_owned(), at, session.to_owned()),
    };
    tx.prepare_cached(
        "INSERT INTO file_access (path, times, heat, read_at, session_id, changed)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (path) DO UPDATE SET
           times = excluded.times, heat = excluded.heat, read_at = excluded.read_at,
           session_id = excluded.session_id, changed = excluded.changed",
    )?
    .execute((
        path,
        count(now.times),
        now.heat,
        now.last.as_millisecond(),
        session,
        generation,
    ))?;
    Ok(())
}

fn prune(tx: &Transaction<'_>) -> Result<(), Failure> {
    let keep = |limit: usize| count(limit as u64);
    tx.execute(
        "DELETE FROM session WHERE id NOT IN
           (SELECT id FROM session ORDER BY seen_at DESC, id LIMIT $1)",
        [keep(MAX_SESSIONS)],
    )?;
    for (table, name, order, limit) in [
        ("session_search", "query", "searched_at", MAX_SEARCHES_OF_SESSION),
        ("session_file", "path", "read_at", MAX_FILES_OF_SESSION),
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

const ACCESS: &str = "path, times, heat, read_at, session_id";
const SESSION: &str = "id, principal, client, started_at, seen_at";

pub(super) fn sessions(connection: &Connection, limit: usize) -> Result<Vec<Session>, Failure> {
    let sql = format!("SELECT {SESSION} FROM session ORDER BY seen_at DESC, id LIMIT $1");
    let mut sessions = connection
        .prepare_cached(&sql)?
        .query_map([count(limit.min(MAX_SESSIONS) as u64)], session_from_row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for session in &mut sessions {
        fill(connection, session)?;
    }
    Ok(sessions)
}

pub(super) fn session(connection: &Connection, id: &str) -> Result<Option<Session>, Failure> {
    let mut session = connection
        .prepare_cached(&format!("SELECT {SESSION} FROM session WHERE id = $1"))?
        .query_row([id], session_from_row)
        .optional()?;
    if let Some(session) = &mut session {
        fill(connection, session)?;
    }
    Ok(session)
}

pub(super) fn last_session_of(
    connection: &Connection,
    principal: &str,
    client: Option<&str>,
) -> Result<Option<Session>, Failure> {
    let sql = format!(
        "SELECT {SESSION} FROM session WHERE principal = $1 AND COALESCE(client, '') = $2
         ORDER BY seen_at DESC, id LIMIT 1"
    );
    let row = connection
        .prepare_cached(&sql)?
        .query_row((principal, client.unwrap_or_default()), session_from_row);
    Ok(row.optional()?)
}

fn fill(connection: &Connection, session: &mut Session) -> Result<(), Failure> {
    session.searches = connection
        .prepare_cached(
            "SELECT query, results, times, searched_at FROM session_search WHERE session_id = $1
             ORDER BY searched_at DESC, query LIMIT $2",
        )?
        .query_map((&session.key.id, count(MAX_SEARCHES_OF_SESSION as u64)), |row| {
            Ok(SearchMade {
                query: row.get(0)?,
                results: uncount(row.get(1)?),
                times: uncount(row.get(2)?),
                at: time(row.get(3)?)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    session.files = connection
        .prepare_cached(
            "SELECT path, times, read_at FROM session_file WHERE session_id = $1
             ORDER BY read_at DESC, path LIMIT $2",
        )?
        .query_map((&session.key.id, count(MAX_FILES_OF_SESSION as u64)), |row| {
            Ok(FileRead { path: row.get(0)?, times: uncount(row.get(1)?), at: time(row.get(2)?)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(())
}

pub(super) fn accesses_since(
    connection: &Connection,
    generation: i64,
) -> Result<Vec<FileAccess>, Failure> {
    let rows = connection
        .prepare_cached(&format!("SELECT {ACCESS} FROM file_access WHERE changed > $1"))?
        .query_map([generation], access_from_row)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

pub(super) fn read_together(
    connection: &Connection,
    path: &str,
    limit: usize,
) -> Result<Vec<(String, u64)>, Failure> {
    let rows = connection
        .prepare_cached(
            "SELECT other.path, COUNT(*) AS sessions FROM session_file AS this
             JOIN session_file AS other ON other.session_id = this.session_id AND other.path <> this.path
             WHERE this.path = $1 GROUP BY other.path ORDER BY sessions DESC, other.path LIMIT $2",
        )?
        .query_map((path, count(limit as u64)), |row| Ok((row.get(0)?, uncount(row.get(1)?))))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn session_from_row(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        key: SessionKey {
            id: row.get("id")?,
            principal: row.get("principal")?,
            client: row.get("client")?,
        },
        started_at: time(row.get("started_at")?)?,
        seen_at: time(row.get("seen_at")?)?,
        searches: Vec::new(),
        files: Vec::new(),
    })
}

fn access_from_row(row: &Row<'_>) -> rusqlite::Result<FileAccess> {
    Ok(FileAccess {
        path: row.get("path")?,
        times: uncount(row.get("times")?),
        heat: row.get("heat")?,
        last: time(row.get("read_at")?)?,
        session: row.get("session_id")?,
    })
}

/// SQL has no unsigned numbers; no count of ours comes near the difference.
fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn uncount(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

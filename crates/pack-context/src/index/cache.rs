//! The content cache on disk: analyses, trigrams and vectors, keyed by content.
//!
//! ```text
//! index.db    SQLite in WAL mode, shared by all processes and worktrees of a project
//!   files     root, path → size, times, key    a file with an unchanged stamp is not read again
//!   analyses  key → blob                       a serialized `FileAnalysis`
//!   trigrams  key → blob                       the three-byte sequences of the file, for grep
//!   vectors   model, text key → i8 row         one per embedded text
//! ```
//!
//! Every row is keyed by its inputs, so a row is either correct or never looked up. Writers insert or ignore; a crash,
//! a second process or another branch can only make rows missing or unused. The cache does not determine which files
//! exist; the walk over the files does. So every error is handled alike: a file that is not a cache database is set
//! aside, and a row that cannot be read counts as missing.
//!
//! `location.rs` chooses the folder, `database.rs` opens the file, `analyses.rs` and `vectors.rs` access the rows.

mod analyses;
mod database;
mod location;
mod vectors;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::Connection;

pub(crate) use self::analyses::{CachedStamps, StampedFile, is_settled};
pub(crate) use self::location::CacheLocation;

/// Key of a file's path and content, or of an embedded text: 128 bits of a SHA-256.
pub(crate) type ContentKey = [u8; 16];

const DATABASE_NAME: &str = "index.db";
/// Size limit; above it, the least recently used rows are deleted.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Interval at which a process without a cache tries to open it again.
const REOPEN_INTERVAL: Duration = Duration::from_secs(10);

/// Content cache of a project. Errors are logged and count as misses.
pub(crate) struct ContentCache {
    path: PathBuf,
    connection: Mutex<CacheConnection>,
}

struct CacheConnection {
    /// `None` while there is no usable file: every lookup misses, and nothing is stored.
    connection: Option<Connection>,
    /// Time of the last attempt to open the file.
    tried: Instant,
}

impl CacheConnection {
    fn open(path: &Path) -> Self {
        let connection =
            path.parent().is_some_and(Path::is_dir).then(|| database::open_or_replace(path));
        Self { connection: connection.flatten(), tried: Instant::now() }
    }
}

impl ContentCache {
    /// Opens the file. Never fails: without a cache, the index only starts more slowly.
    pub(crate) fn open(location: &CacheLocation) -> Self {
        let path = location.create_folder().unwrap_or_default().join(DATABASE_NAME);
        Self { connection: Mutex::new(CacheConnection::open(&path)), path }
    }

    /// Returns the path of the lock file held by the process that embeds.
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.path.with_file_name("index.lock")
    }

    /// Deletes all rows; returns false if that failed.
    pub(crate) fn delete_all(&self) -> bool {
        let done = self.with_connection("clear", |connection| {
            connection.execute_batch(
                "BEGIN IMMEDIATE;
                 DELETE FROM files; DELETE FROM analyses; DELETE FROM trigrams; DELETE FROM vectors;
                 COMMIT; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);",
            )
        });
        done.is_some()
    }

    /// Returns a number that changes when another process writes.
    pub(crate) fn data_version(&self) -> Option<i64> {
        self.with_connection("read version", |connection| {
            connection.pragma_query_value(None, "data_version", |row| row.get(0))
        })
    }

    /// Shrinks the file to its size limit by deleting the least recently used analyses and vectors.
    pub(crate) fn trim_to_limit(&self) {
        self.trim_to(MAX_BYTES);
    }

    fn trim_to(&self, bytes: u64) {
        for _ in 0..8 {
            if database_size(&self.path) <= bytes {
                return;
            }
            let oldest = self.with_connection("trim", |connection| {
                let day: Option<i64> = connection.query_row(
                    "SELECT MIN(used) FROM (SELECT used FROM analyses UNION ALL SELECT used FROM vectors)",
                    [],
                    |row| row.get(0),
                )?;
                let Some(day) = day.filter(|day| *day < current_day()) else { return Ok(false) };
                connection.execute_batch(&format!(
                    "BEGIN IMMEDIATE;
                     DELETE FROM trigrams WHERE key IN (SELECT key FROM analyses WHERE used <= {day});
                     DELETE FROM analyses WHERE used <= {day};
                     DELETE FROM vectors WHERE used <= {day};
                     COMMIT; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"
                ))?;
                Ok(true)
            });
            if oldest != Some(true) {
                return;
            }
        }
    }

    /// Runs one operation on the database. Returns `None` and logs if it fails. A corrupt file is set aside and
    /// replaced with a new one.
    fn with_connection<T>(
        &self,
        action: &str,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Option<T> {
        let mut slot = self.connection.lock();
        if slot.connection.is_none() && slot.tried.elapsed() > REOPEN_INTERVAL {
            // It may have been locked temporarily.
            *slot = CacheConnection::open(&self.path);
        }
        let error = match work(slot.connection.as_mut()?) {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        if database::is_corrupt(&error) {
            tracing::warn!(%error, "index cache corrupt; replacing it");
            slot.connection = None;
            database::set_aside(&self.path);
            *slot = CacheConnection::open(&self.path);
        } else {
            tracing::warn!(%error, action, "index cache operation failed");
        }
        None
    }
}

/// Returns the size of the cache on disk, including the write-ahead log. Does not create the cache.
pub(crate) fn disk_usage(location: &CacheLocation) -> u64 {
    location.existing_folder().map_or(0, |folder| database_size(&folder.join(DATABASE_NAME)))
}

fn database_size(database: &Path) -> u64 {
    let files = database::database_files(database);
    files.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Returns the days since 1970. The last use of a row is stored with this precision, so that most uses write nothing.
fn current_day() -> i64 {
    jiff::Timestamp::now().as_second() / 86_400
}

#[cfg(test)]
mod tests;

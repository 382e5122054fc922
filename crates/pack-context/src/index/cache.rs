//! The cache on disk: what looking at a file once has told, found again by what the file says.
//!
//! ```text
//! .vouch/index.db    SQLite in WAL mode, shared by all processes and worktrees of a project
//!   files     root, path → size, times, key    a file that looks the same need not be read again
//!   analyses  key → blob                       what `Analysis` holds
//!   trigrams  key → blob                       the three-byte pieces of the file, for grep
//!   vectors   model, text key → i8 row         one for each text that was embedded
//! ```
//!
//! Every row is named by what it was made from, so a row is either right or not asked for. Writers insert or ignore; a
//! crash, a second process or another branch can only make rows missing or unused. The truth is the walk over the
//! files: nothing here says which files there are. So the answer to any trouble is the same: a file that is no
//! database of ours is set aside, and a row that cannot be read counts as missing.
//!
//! `place.rs` says where the file is, `open.rs` opens it, `analyses.rs` and `vectors.rs` hold the rows.

mod analyses;
mod open;
mod place;
mod vectors;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::Connection;

pub(crate) use self::analyses::{Found, Stamps, is_settled};
pub(crate) use self::place::Place;

/// Names a file's content under its path, or an embedded text: 128 bits of a SHA-256.
pub(crate) type Key = [u8; 16];

const NAME: &str = "index.db";
/// Over this many bytes the rows that nobody used for longest are dropped.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// How long a process goes on without a cache before it tries to open it again.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(10);

pub(crate) struct Cache {
    path: PathBuf,
    held: Mutex<Held>,
}

struct Held {
    /// None while there is no usable file: then every look-up misses, and nothing is kept.
    connection: Option<Connection>,
    /// When it was last tried to open one.
    tried: Instant,
}

impl Held {
    fn open(path: &Path) -> Self {
        let connection =
            path.parent().is_some_and(Path::is_dir).then(|| open::open_or_replace(path));
        Self { connection: connection.flatten(), tried: Instant::now() }
    }
}

impl Cache {
    /// Opens the file. It never fails: without a cache the index is only slower to start.
    pub(crate) fn open(place: &Place) -> Self {
        let path = place.make().unwrap_or_default().join(NAME);
        Self { held: Mutex::new(Held::open(&path)), path }
    }

    /// Held by the process that embeds.
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.path.with_file_name("index.lock")
    }

    /// Forgets everything; false if that could not be done.
    pub(crate) fn clear(&self) -> bool {
        let done = self.run("clear", |connection| {
            connection.execute_batch(
                "BEGIN IMMEDIATE;
                 DELETE FROM files; DELETE FROM analyses; DELETE FROM trigrams; DELETE FROM vectors;
                 COMMIT; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);",
            )
        });
        done.is_some()
    }

    /// A number that changes when another process has written.
    pub(crate) fn version(&self) -> Option<i64> {
        self.run("look at", |connection| {
            connection.pragma_query_value(None, "data_version", |row| row.get(0))
        })
    }

    /// Keeps the file under its bound: of the analyses and vectors, those not used for longest go first.
    pub(crate) fn trim(&self) {
        self.trim_to(MAX_BYTES);
    }

    fn trim_to(&self, bytes: u64) {
        for _ in 0..8 {
            if size(&self.path) <= bytes {
                return;
            }
            let oldest = self.run("trim", |connection| {
                let day: Option<i64> = connection.query_row(
                    "SELECT MIN(used) FROM (SELECT used FROM analyses UNION ALL SELECT used FROM vectors)",
                    [],
                    |row| row.get(0),
                )?;
                let Some(day) = day.filter(|day| *day < today()) else { return Ok(false) };
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

    /// Runs one piece of work on the database. Trouble is logged and counts as nothing found; a file that turns out
    /// to be corrupt is set aside and a new one begun.
    fn run<T>(
        &self,
        action: &str,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Option<T> {
        let mut held = self.held.lock();
        if held.connection.is_none() && held.tried.elapsed() > TRY_AGAIN_AFTER {
            // It may have been locked for a while.
            *held = Held::open(&self.path);
        }
        let error = match work(held.connection.as_mut()?) {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        if open::is_corrupt(&error) {
            tracing::warn!(%error, "the index cache is corrupt: it is set aside and made again");
            held.connection = None;
            open::set_aside(&self.path);
            *held = Held::open(&self.path);
        } else {
            tracing::warn!(%error, action, "the index cache could not be used");
        }
        None
    }
}

/// What the cache takes, database and write-ahead log together. It is not made for the question.
pub(crate) fn bytes(place: &Place) -> u64 {
    place.find().map_or(0, |folder| size(&folder.join(NAME)))
}

fn size(database: &Path) -> u64 {
    let files = open::files(database);
    files.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Days since 1970: how fine the last use of a row is kept, so that most uses write nothing.
fn today() -> i64 {
    jiff::Timestamp::now().as_second() / 86_400
}

#[cfg(test)]
mod tests;

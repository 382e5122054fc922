//! The rows of `files`, `analyses` and `trigrams`.
//!
//! How a file looks stands for what it says only where the two cannot have parted unseen. A file that was changed twice
//! within one tick of the file system's clock looks the same after the second change; so, as Git does, how a file looks
//! is kept only when its times were already some while in the past when it was read.

use std::collections::HashMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{OptionalExtension, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use tree::Stamp;
use tree::trigram::Set;

use super::{Cache, Key, today};

/// Longer than the tick of any file system's clock (two seconds on FAT).
const RACY_NANOSECONDS: i64 = 3_000_000_000;

/// Whether a change of the file after this look at it would show.
pub(crate) fn is_settled(stamp: Stamp, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    stamp.modified.max(stamp.changed).saturating_add(RACY_NANOSECONDS) < now
}

/// What files said when they had these stamps.
pub(crate) type Stamps = HashMap<Box<str>, (Stamp, Key)>;

/// What one file is known to be.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) path: Box<str>,
    pub(crate) stamp: Stamp,
    pub(crate) key: Key,
}

impl Cache {
    /// The stamps of the files below `root`, and what the files said when they had them.
    pub(crate) fn stamps(&self, root: &Path) -> Stamps {
        self.run("read files of", |connection| {
            let mut find = connection.prepare_cached(
                "SELECT f.path, f.size, f.modified, f.changed, f.key
                 FROM files f JOIN roots r ON r.id = f.root WHERE r.path = ?1",
            )?;
            find.query_map([path_bytes(root)], |row| {
                let stamp = Stamp {
                    size: row.get::<_, i64>(1)?.cast_unsigned(),
                    modified: row.get(2)?,
                    changed: row.get(3)?,
                };
                let path: String = row.get(0)?;
                Ok((path.into_boxed_str(), (stamp, row.get(4)?)))
            })?
            .collect()
        })
        .unwrap_or_default()
    }

    /// Remembers the stamps of files, those that are settled; forgets files that are gone.
    pub(crate) fn keep_stamps(&self, root: &Path, seen: &[Found], gone: &[Box<str>]) {
        let now = SystemTime::now();
        self.run("write files to", |connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute("INSERT OR IGNORE INTO roots (path) VALUES (?1)", [path_bytes(root)])?;
            let root: i64 =
                tx.query_row("SELECT id FROM roots WHERE path = ?1", [path_bytes(root)], |row| {
                    row.get(0)
                })?;
            let mut keep = tx.prepare_cached(
                "INSERT OR REPLACE INTO files (root, path, size, modified, changed, key)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for Found { path, stamp, key } in
                seen.iter().filter(|found| is_settled(found.stamp, now))
            {
                let size = stamp.size.cast_signed();
                keep.execute(params![root, path, size, stamp.modified, stamp.changed, key])?;
            }
            drop(keep);
            let mut forget =
                tx.prepare_cached("DELETE FROM files WHERE root = ?1 AND path = ?2")?;
            for path in gone {
                forget.execute(params![root, path])?;
            }
            drop(forget);
            tx.commit()
        });
    }

    /// The blob under this key, if it is whole.
    pub(crate) fn analysis(&self, key: &Key) -> Option<Vec<u8>> {
        self.run("read an analysis of", |connection| {
            let row: Option<(Vec<u8>, i64)> = connection
                .prepare_cached("SELECT blob, used FROM analyses WHERE key = ?1")?
                .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            if row.as_ref().is_some_and(|(_, used)| *used != today()) {
                // A date that cannot be noted now takes nothing from what was read.
                connection
                    .prepare_cached("UPDATE analyses SET used = ?2 WHERE key = ?1")?
                    .execute(params![key, today()])
                    .ok();
            }
            Ok(row)
        })?
        .and_then(|(blob, _)| unsealed(blob))
    }

    /// The trigrams under this key, if they are whole.
    pub(crate) fn trigrams(&self, key: &Key) -> Option<Vec<u8>> {
        self.run("read trigrams of", |connection| {
            connection
                .prepare_cached("SELECT blob FROM trigrams WHERE key = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()
        })?
        .and_then(unsealed)
    }

    /// Keeps what files were found to say: key, analysis, trigrams where the file has them.
    pub(crate) fn add_analyses(&self, rows: &[(Key, Vec<u8>, Option<Set>)]) {
        self.run("write analyses to", |connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut analysis = tx.prepare_cached(
                "INSERT OR REPLACE INTO analyses (key, used, blob) VALUES (?1, ?2, ?3)",
            )?;
            let mut trigram =
                tx.prepare_cached("INSERT OR REPLACE INTO trigrams (key, blob) VALUES (?1, ?2)")?;
            for (key, blob, trigrams) in rows {
                analysis.execute(params![key, today(), sealed(blob)])?;
                if let Some(trigrams) = trigrams {
                    trigram.execute(params![key, sealed(trigrams.as_bytes())])?;
                }
            }
            drop((analysis, trigram));
            tx.commit()
        });
    }
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

const SEAL_BYTES: usize = 8;

/// SQLite finds a broken page, not a broken row: a few bytes of digest at the end do.
fn sealed(blob: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(blob.len() + SEAL_BYTES);
    sealed.extend_from_slice(blob);
    sealed.extend_from_slice(&Sha256::digest(blob)[..SEAL_BYTES]);
    sealed
}

fn unsealed(mut blob: Vec<u8>) -> Option<Vec<u8>> {
    let at = blob.len().checked_sub(SEAL_BYTES)?;
    let whole = Sha256::digest(&blob[..at])[..SEAL_BYTES] == blob[at..];
    blob.truncate(at);
    whole.then_some(blob)
}

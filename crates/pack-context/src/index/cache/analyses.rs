//! Reads and writes the tables `files`, `analyses` and `trigrams`.
//!
//! A stamp (size and times) identifies a file's content only if every later change alters it. A file that changes twice
//! within one tick of the file system's clock has the same stamp after the second change. So, as in Git, a stamp is
//! stored only if its times were already some seconds in the past when the file was read.

use std::collections::HashMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{OptionalExtension, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use tree::FileStamp;
use tree::trigram::TrigramSet;

use super::{ContentCache, ContentKey, current_day};

/// Minimum age of a stored stamp; longer than the tick of any file system's clock (two seconds on FAT).
const RACY_NANOSECONDS: i64 = 3_000_000_000;

/// Returns true if any change of the file after `now` alters its stamp.
pub(crate) fn is_settled(stamp: FileStamp, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    stamp.modified.max(stamp.changed).saturating_add(RACY_NANOSECONDS) < now
}

/// Stamps of files by path, each with the key of the content that the file had then.
pub(crate) type CachedStamps = HashMap<Box<str>, (FileStamp, ContentKey)>;

/// A file's stamp, with the key of its content at that time.
#[derive(Clone, Debug)]
pub(crate) struct StampedFile {
    pub(crate) path: Box<str>,
    pub(crate) stamp: FileStamp,
    pub(crate) key: ContentKey,
}

impl ContentCache {
    /// Returns the stamps of the files below `root`, with the keys of their contents.
    pub(crate) fn read_stamps(&self, root: &Path) -> CachedStamps {
        self.with_connection("read files", |connection| {
            let mut find = connection.prepare_cached(
                "SELECT f.path, f.size, f.modified, f.changed, f.key
                 FROM files f JOIN roots r ON r.id = f.root WHERE r.path = ?1",
            )?;
            find.query_map([encode_path(root)], |row| {
                let stamp = FileStamp {
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

    /// Stores the stamps of files that are settled, and deletes files that are gone.
    pub(crate) fn write_stamps(&self, root: &Path, files: &[StampedFile], gone: &[Box<str>]) {
        let now = SystemTime::now();
        self.with_connection("write files", |connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute("INSERT OR IGNORE INTO roots (path) VALUES (?1)", [encode_path(root)])?;
            let root: i64 =
                tx.query_row("SELECT id FROM roots WHERE path = ?1", [encode_path(root)], |row| {
                    row.get(0)
                })?;
            let mut insert = tx.prepare_cached(
                "INSERT OR REPLACE INTO files (root, path, size, modified, changed, key)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for StampedFile { path, stamp, key } in
                files.iter().filter(|file| is_settled(file.stamp, now))
            {
                let size = stamp.size.cast_signed();
                insert.execute(params![root, path, size, stamp.modified, stamp.changed, key])?;
            }
            drop(insert);
            let mut delete =
                tx.prepare_cached("DELETE FROM files WHERE root = ?1 AND path = ?2")?;
            for path in gone {
                delete.execute(params![root, path])?;
            }
            drop(delete);
            tx.commit()
        });
    }

    /// Returns the analysis stored under this key; `None` if it is missing or damaged.
    pub(crate) fn read_analysis(&self, key: &ContentKey) -> Option<Vec<u8>> {
        self.with_connection("read analysis", |connection| {
            let row: Option<(Vec<u8>, i64)> = connection
                .prepare_cached("SELECT blob, used FROM analyses WHERE key = ?1")?
                .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            if row.as_ref().is_some_and(|(_, used)| *used != current_day()) {
                // Failing to update the date does not affect the row that was read.
                connection
                    .prepare_cached("UPDATE analyses SET used = ?2 WHERE key = ?1")?
                    .execute(params![key, current_day()])
                    .ok();
            }
            Ok(row)
        })?
        .and_then(|(blob, _)| strip_checksum(blob))
    }

    /// Returns the trigrams stored under this key; `None` if they are missing or damaged.
    pub(crate) fn read_trigrams(&self, key: &ContentKey) -> Option<Vec<u8>> {
        self.with_connection("read trigrams", |connection| {
            connection
                .prepare_cached("SELECT blob FROM trigrams WHERE key = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()
        })?
        .and_then(strip_checksum)
    }

    /// Stores rows of key, analysis, and trigrams if the file has them.
    pub(crate) fn add_analyses(&self, rows: &[(ContentKey, Vec<u8>, Option<TrigramSet>)]) {
        self.with_connection("write analyses", |connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut analysis = tx.prepare_cached(
                "INSERT OR REPLACE INTO analyses (key, used, blob) VALUES (?1, ?2, ?3)",
            )?;
            let mut trigram =
                tx.prepare_cached("INSERT OR REPLACE INTO trigrams (key, blob) VALUES (?1, ?2)")?;
            for (key, blob, trigrams) in rows {
                analysis.execute(params![key, current_day(), append_checksum(blob)])?;
                if let Some(trigrams) = trigrams {
                    trigram.execute(params![key, append_checksum(trigrams.as_bytes())])?;
                }
            }
            drop((analysis, trigram));
            tx.commit()
        });
    }
}

fn encode_path(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

const CHECKSUM_BYTES: usize = 8;

/// Returns the blob followed by a truncated digest. SQLite detects a damaged page, but not a damaged row.
fn append_checksum(blob: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(blob.len() + CHECKSUM_BYTES);
    out.extend_from_slice(blob);
    out.extend_from_slice(&Sha256::digest(blob)[..CHECKSUM_BYTES]);
    out
}

/// Returns the blob without its checksum; `None` if the checksum does not match.
fn strip_checksum(mut blob: Vec<u8>) -> Option<Vec<u8>> {
    let at = blob.len().checked_sub(CHECKSUM_BYTES)?;
    let is_intact = Sha256::digest(&blob[..at])[..CHECKSUM_BYTES] == blob[at..];
    blob.truncate(at);
    is_intact.then_some(blob)
}

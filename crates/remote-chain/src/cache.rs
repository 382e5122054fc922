//! Files with fetched state, so that a campaign repeats without a node.
//!
//! ```text
//! <cache>/forks/                          0700; deleting it costs time only
//!   <digest of the URL>/
//!     endpoint.json                       chain id of the endpoint, and the hashes of the blocks that were used
//!     <chain id>-<number>-<hash>/
//!       block.json                        header of the block
//!       <digest>.jsonl                    fetched values, one per line; never changed
//! ```
//!
//! What one endpoint answered is never used for another one, also not for the same block: block hashes are public, so that
//! a wrong node can name the hash of a block whose state it does not have.
//!
//! A file is written under a temporary name, synced and renamed. Its first line names its place and holds the digest of
//! both. A damaged file, or one from another place, is removed, and its values are fetched again. Several processes may use
//! the cache: they only add files.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use alloy_primitives::{B256, hex};
use disk::Disk;
use fuzz::chain::RemoteBlock;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::entries::{StateEntry, StoredBlock};

/// Maximum size of a file, and of the values of one block.
const MAX_FILE: u64 = 64 << 20;
const MAX_BLOCK: u64 = 512 << 20;
/// Bytes of all blocks that are kept.
const MAX_BYTES: u64 = 2 << 30;
/// Values of a file that is being filled, and its age, at which it is written.
const FLUSHED_VALUES: usize = 4096;
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);
/// Files of one block that are replaced by a single one.
const MERGED_FILES: usize = 32;
/// Blocks that are remembered of one endpoint.
const REMEMBERED_BLOCKS: usize = 512;

const FORMAT: u32 = 2;

/// All files.
#[derive(Clone, Debug)]
pub(crate) struct ForkCache {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    warnings: Arc<Mutex<Vec<String>>>,
}

/// What is known of an endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct EndpointRecord {
    chain_id: u64,
    blocks: BTreeMap<u64, B256>,
}

/// First line of a file.
#[derive(Serialize, Deserialize)]
struct FileHeader {
    format: u32,
    /// Path below the folder of all forks.
    place: String,
    sha256: String,
}

/// The files of one block.
#[derive(Debug)]
pub(crate) struct BlockCache {
    cache: ForkCache,
    folder: PathBuf,
    pending: Mutex<PendingValues>,
    /// Bytes of all files, read or written.
    bytes: AtomicU64,
}

/// Values that are not written yet.
#[derive(Debug)]
struct PendingValues {
    entries: Vec<StateEntry>,
    since: Instant,
    /// Nothing is written anymore.
    is_closed: bool,
}

/// Numbers temporary files of this process.
static WRITES: AtomicU64 = AtomicU64::new(0);

impl ForkCache {
    pub(crate) fn new(cache: &Path, disk: Arc<dyn Disk>) -> Self {
        Self { folder: cache.join("forks"), disk, warnings: Arc::default() }
    }

    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock())
    }

    fn warn(&self, text: impl Into<String>) {
        let (mut warnings, text) = (self.warnings.lock(), text.into());
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Returns the header of a block that was used with this endpoint before.
    pub(crate) fn find_block(&self, endpoint: &str, number: u64) -> Option<StoredBlock> {
        let record = self.read_endpoint(endpoint)?;
        let hash = record.blocks.get(&number)?;
        let folder = self.block_folder(endpoint, record.chain_id, number, *hash);
        let block: StoredBlock =
            serde_json::from_str(&self.read_file(&folder.join("block.json"))?).ok()?;
        let is_right = block.chain_id == record.chain_id
            && block.hash == *hash
            && block.to_block().number == number;
        is_right.then_some(block)
    }

    /// Remembers that an endpoint has a block.
    pub(crate) fn remember_block(&self, endpoint: &str, chain_id: u64, block: &RemoteBlock) {
        let known = self.read_endpoint(endpoint).filter(|it| it.chain_id == chain_id);
        let mut record =
            known.unwrap_or_else(|| EndpointRecord { chain_id, blocks: BTreeMap::new() });
        record.blocks.insert(block.number, block.hash);
        while record.blocks.len() > REMEMBERED_BLOCKS {
            record.blocks.pop_first();
        }
        let folder = self.block_folder(endpoint, chain_id, block.number, block.hash);
        let stored = to_json(&StoredBlock::new(chain_id, block));
        let written = self
            .write_file(&folder.join("block.json"), &stored)
            .and_then(|()| self.write_file(&self.endpoint_path(endpoint), &to_json(&record)));
        if let Err(error) = written {
            self.warn_unwritable(&error);
        }
    }

    /// Forgets a block that the endpoint no longer has.
    pub(crate) fn forget_block(&self, endpoint: &str, number: u64) {
        let Some(mut record) = self.read_endpoint(endpoint) else { return };
        record.blocks.remove(&number);
        if let Err(error) = self.write_file(&self.endpoint_path(endpoint), &to_json(&record)) {
            self.warn_unwritable(&error);
        }
    }

    /// Opens the files with what an endpoint answered about a block, and returns the values in them.
    pub(crate) fn open_block(
        &self,
        endpoint: &str,
        chain_id: u64,
        block: &RemoteBlock,
    ) -> (BlockCache, Vec<StateEntry>) {
        let folder = self.block_folder(endpoint, chain_id, block.number, block.hash);
        self.remove_oldest(&folder);
        let pending =
            PendingValues { entries: Vec::new(), since: Instant::now(), is_closed: false };
        let cache = BlockCache {
            cache: self.clone(),
            folder,
            pending: Mutex::new(pending),
            bytes: AtomicU64::new(0),
        };
        let entries = cache.load();
        (cache, entries)
    }

    fn block_folder(&self, endpoint: &str, chain_id: u64, number: u64, hash: B256) -> PathBuf {
        let name = format!("{chain_id}-{number}-{}", hex::encode(hash));
        self.folder.join(endpoint).join(name)
    }

    fn endpoint_path(&self, endpoint: &str) -> PathBuf {
        self.folder.join(endpoint).join("endpoint.json")
    }

    /// Returns the path of a file below the folder of all forks, which its first line names.
    fn place_of(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn read_endpoint(&self, endpoint: &str) -> Option<EndpointRecord> {
        serde_json::from_str(&self.read_file(&self.endpoint_path(endpoint))?).ok()
    }

    /// Returns the content of a file; `None` if it is missing. A damaged file is removed.
    fn read_file(&self, path: &Path) -> Option<String> {
        match read_sealed(path, &self.place_of(path)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => {
                self.warn(
                    "a damaged file in the cache of forks was removed; its state is fetched again",
                );
                let _ = self.disk.remove_file(path);
                None
            }
        }
    }

    fn write_file(&self, path: &Path, text: &str) -> io::Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        self.disk.create_folders(folder, 0o700)?;
        let place = self.place_of(path);
        let sha256 = seal_content(&place, text);
        let header = to_json(&FileHeader { format: FORMAT, place, sha256 });
        let count = WRITES.fetch_add(1, Ordering::Relaxed);
        let name = name.to_string_lossy();
        let temporary = folder.join(format!(".{name}.{}-{count}.tmp", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let written = self
            .disk
            .write_all(&file, format!("{header}\n{text}").as_bytes())
            .and_then(|()| self.disk.sync_all(&file))
            .and_then(|()| self.disk.rename(&temporary, path));
        if written.is_err() {
            let _ = self.disk.remove_file(&temporary);
        }
        written.and_then(|()| self.disk.sync_folder_at(folder))
    }

    fn warn_unwritable(&self, error: &io::Error) {
        self.warn(format!("failed to write the cache of forks: {error}"));
    }

    /// Removes the blocks that were not used for the longest time, until all others are within the limit.
    fn remove_oldest(&self, in_use: &Path) {
        let mut blocks: Vec<_> = list_folder(&self.folder)
            .flat_map(|endpoint| list_folder(&endpoint).collect::<Vec<_>>())
            .filter(|block| block != in_use && block.is_dir())
            .map(|block| (last_use(&block), folder_size(&block), block))
            .collect();
        blocks.sort();
        let mut bytes: u64 = blocks.iter().map(|(_, size, _)| size).sum();
        for (_, size, block) in blocks {
            if bytes <= MAX_BYTES {
                break;
            }
            drop(fs::remove_dir_all(&block));
            bytes -= size;
        }
    }
}

impl BlockCache {
    /// Adds a value. It is written with others.
    pub(crate) fn push(&self, entry: StateEntry) {
        let mut pending = self.pending.lock();
        if pending.is_closed {
            return;
        }
        if pending.entries.is_empty() {
            pending.since = Instant::now();
        }
        pending.entries.push(entry);
        let is_due =
            pending.entries.len() >= FLUSHED_VALUES || pending.since.elapsed() >= FLUSH_INTERVAL;
        drop(pending);
        if is_due {
            self.flush();
        }
    }

    /// Writes the values that are not written yet.
    pub(crate) fn flush(&self) {
        let entries = std::mem::take(&mut self.pending.lock().entries);
        if let Err(error) = self.write_entries(&entries) {
            self.pending.lock().is_closed = true;
            self.cache.warn_unwritable(&error);
        }
    }

    fn write_entries(&self, mut entries: &[StateEntry]) -> io::Result<()> {
        while !entries.is_empty() {
            let mut text = String::new();
            while let Some((entry, rest)) = entries.split_first() {
                let line = to_json(entry);
                if !text.is_empty() && (text.len() + line.len()) as u64 > MAX_FILE / 2 {
                    break;
                }
                text.push_str(&line);
                text.push('\n');
                entries = rest;
            }
            let size = text.len() as u64;
            if self.bytes.fetch_add(size, Ordering::Relaxed) + size > MAX_BLOCK {
                return Err(io::Error::other("the state of one block is too large"));
            }
            let digest = hex::encode(&Sha256::digest(text.as_bytes())[..16]);
            self.cache.write_file(&self.folder.join(format!("{digest}.jsonl")), &text)?;
        }
        Ok(())
    }

    /// Returns the values of all files. Many small files are replaced by one.
    fn load(&self) -> Vec<StateEntry> {
        let is_values = |path: &PathBuf| path.extension().is_some_and(|it| it == "jsonl");
        let mut files: Vec<_> = list_folder(&self.folder).filter(is_values).collect();
        files.sort();
        let mut entries = Vec::new();
        let mut loaded = Vec::new();
        for file in &files {
            let Some(text) = self.cache.read_file(file) else { continue };
            let parsed: Option<Vec<StateEntry>> =
                text.lines().map(|line| serde_json::from_str(line).ok()).collect();
            let Some(parsed) = parsed.filter(|all| all.iter().all(StateEntry::is_valid)) else {
                self.cache.warn(
                    "a damaged file in the cache of forks was removed; its state is fetched again",
                );
                let _ = self.cache.disk.remove_file(file);
                continue;
            };
            let size = text.len() as u64;
            if self.bytes.fetch_add(size, Ordering::Relaxed) + size > MAX_BLOCK {
                break;
            }
            entries.extend(parsed);
            loaded.push(file);
        }
        // What was used last is removed last. The time is all that is lost if it cannot be set.
        let header = File::options().append(true).open(self.folder.join("block.json"));
        drop(header.map(|file| file.set_modified(SystemTime::now())));
        if loaded.len() >= MERGED_FILES {
            let before = self.bytes.swap(0, Ordering::Relaxed);
            if self.write_entries(&entries).is_ok() {
                for file in loaded {
                    let _ = self.cache.disk.remove_file(file);
                }
            } else {
                self.bytes.store(before, Ordering::Relaxed);
            }
        }
        entries
    }
}

impl Drop for BlockCache {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Returns the digest of a file's content and place.
fn seal_content(place: &str, content: &str) -> String {
    hex::encode(
        Sha256::new().chain_update(place).chain_update("\n").chain_update(content).finalize(),
    )
}

/// Reads a file, and checks its digest and that it was written for this place.
fn read_sealed(path: &Path, place: &str) -> io::Result<String> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    // A pipe or a link has no place here.
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err(damaged());
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    let (header, content) = text.split_once('\n').ok_or_else(damaged)?;
    let header: FileHeader = serde_json::from_str(header).map_err(|_| damaged())?;
    let digest = seal_content(place, content);
    if header.format != FORMAT || header.place != place || header.sha256 != digest {
        return Err(damaged());
    }
    Ok(content.to_owned())
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and maps by number serialize to JSON")
}

fn list_folder(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path())
}

fn last_use(block: &Path) -> SystemTime {
    let modified = fs::metadata(block.join("block.json")).and_then(|it| it.modified());
    modified.unwrap_or(SystemTime::UNIX_EPOCH)
}

fn folder_size(block: &Path) -> u64 {
    list_folder(block).filter_map(|file| file.metadata().ok()).map(|it| it.len()).sum()
}

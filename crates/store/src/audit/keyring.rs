//! The key file of a log: the current key, and earlier keys to verify what was written with them.
//!
//! ```text
//! <key folder>/      0700, outside the project and outside the state directory
//!   keys.json        0600, chain id and keys; `key_file` may name another place
//!   mark             0600, a copy of the head, see `head`
//! ```
//!
//! A key is added in two steps, because the log and this file cannot change at once: the new key is stored first, then
//! the log names it in an event, and then it becomes the current one. A writer that finds the event finishes the last
//! step.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::Disk;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::key::{ChainKey, KeyId};
use crate::files::FileWriter;
use crate::private_file::{PrivateFileError, read_private_file};
use crate::{StateDir, StoreError, hex, random};

const VERSION: u32 = 1;
const KEY_FILE_NAME: &str = "keys.json";
const MARK_NAME: &str = "mark";

/// The place of the keys of a log.
#[derive(Clone, Debug)]
pub struct AuditKeyLocation {
    folder: PathBuf,
    key_file: Option<PathBuf>,
}

impl AuditKeyLocation {
    /// Returns the place in a folder, which is created when it is first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), key_file: None }
    }

    /// Uses a key file at another place. The copy of the head stays in the folder.
    pub fn with_key_file(self, key_file: Option<PathBuf>) -> Self {
        Self { key_file, ..self }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the key file.
    pub fn key_file(&self) -> PathBuf {
        self.key_file.clone().unwrap_or_else(|| self.folder.join(KEY_FILE_NAME))
    }

    /// Returns the path of the copy of the head.
    pub(super) fn mark_path(&self) -> PathBuf {
        self.folder.join(MARK_NAME)
    }

    /// Creates the folder, with access for its owner only.
    pub(super) fn create_folder_on(&self, disk: Arc<dyn Disk>) -> Result<(), StoreError> {
        StateDir::open_on_disk(&self.folder, disk).map(drop)
    }
}

/// An error of the key file.
#[derive(Debug, thiserror::Error)]
pub enum AuditKeyError {
    #[error("failed to use the keys of the audit log")]
    File(#[from] PrivateFileError),
    #[error("invalid audit keys in {}: {why}", path.display())]
    Invalid { path: PathBuf, why: String },
}

impl AuditKeyError {
    /// Returns a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::File(
                PrivateFileError::Exposed { .. } | PrivateFileError::ForeignOwner { .. },
            ) => Some("run `chmod 600` on the file and make it yours with `chown`"),
            Self::File(_) => None,
            Self::Invalid { .. } => Some(
                "restore the file from a backup; if there is none, move it away: the next start begins a new chain and records that",
            ),
        }
    }
}

/// The keys of a log.
#[derive(Clone)]
pub(super) struct KeySet {
    pub(super) chain: String,
    keys: Vec<StoredKey>,
    current: usize,
}

#[derive(Clone)]
struct StoredKey {
    key: ChainKey,
    created: Timestamp,
    /// Sequence number of the last line that this key protects, once another key follows it.
    retired: Option<u64>,
}

impl KeySet {
    /// Returns a set without keys, to verify a log whose keys are lost or that has none.
    pub(super) fn empty() -> Self {
        Self { chain: String::new(), keys: vec![], current: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn generate() -> Result<Self, StoreError> {
        let mut keys = Self { chain: random::generate_id()?, keys: vec![], current: 0 };
        keys.add_key()?;
        Ok(keys)
    }

    pub(super) fn current(&self) -> &ChainKey {
        &self.keys[self.current].key
    }

    pub(super) fn find(&self, id: KeyId) -> Option<&ChainKey> {
        self.keys.iter().map(|stored| &stored.key).find(|key| key.id == id)
    }

    /// Returns the key if it may have signed a head with this sequence number.
    pub(super) fn find_for_head(&self, id: KeyId, seq: u64) -> Option<&ChainKey> {
        let stored = self.keys.iter().find(|stored| stored.key.id == id)?;
        stored.retired.is_none_or(|last| seq <= last).then_some(&stored.key)
    }

    /// Adds a new key, which is not the current one yet. Returns its id.
    pub(super) fn add_key(&mut self) -> Result<KeyId, StoreError> {
        let key = ChainKey::new(random::generate_key()?);
        let id = key.id;
        self.keys.push(StoredKey { key, created: Timestamp::now(), retired: None });
        Ok(id)
    }

    /// Makes another key the current one, from the line after `seq`. Returns false if there is no such key.
    pub(super) fn make_current(&mut self, id: KeyId, seq: u64) -> bool {
        let Some(at) = self.keys.iter().position(|stored| stored.key.id == id) else {
            return false;
        };
        self.keys[self.current].retired = Some(seq);
        self.current = at;
        true
    }

    /// Reads the key file. Returns `None` if there is none.
    pub(super) fn load(location: &AuditKeyLocation) -> Result<Option<Self>, AuditKeyError> {
        let path = location.key_file();
        match read_private_file(&path) {
            Ok(text) => {
                Self::parse(&text).map(Some).map_err(|why| AuditKeyError::Invalid { path, why })
            }
            Err(PrivateFileError::Read { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the keys, which are created if they are missing. Of several processes that create them at once, one wins.
    pub(super) fn load_or_create(
        location: &AuditKeyLocation,
        disk: &dyn Disk,
    ) -> Result<Self, StoreError> {
        if let Some(keys) = Self::load(location)? {
            return Ok(keys);
        }
        let (keys, path) = (Self::generate()?, location.key_file());
        let created = FileWriter::new(disk)
            .create_private_file(&path, keys.to_text().as_bytes())
            .map_err(|source| StoreError::from_io("create", &path, source))?;
        if created {
            return Ok(keys);
        }
        let why = "the file disappeared while it was read".to_owned();
        Ok(Self::load(location)?.ok_or(AuditKeyError::Invalid { path, why })?)
    }

    /// Replaces the key file. A power failure leaves the earlier one or the new one.
    pub(super) fn save(
        &self,
        location: &AuditKeyLocation,
        disk: &dyn Disk,
    ) -> Result<(), StoreError> {
        let path = location.key_file();
        FileWriter::new(disk)
            .replace_private_file(&path, self.to_text().as_bytes())
            .map_err(|source| StoreError::from_io("write", &path, source))
    }

    fn to_text(&self) -> String {
        let keys = self.keys.iter().map(|StoredKey { key, created, retired }| KeyEntry {
            id: key.id.to_string(),
            key: hex::encode(key.expose_secret()),
            created: *created,
            retired: *retired,
        });
        let file = KeyFile {
            version: VERSION,
            chain: self.chain.clone(),
            current: self.current().id.to_string(),
            keys: keys.collect(),
        };
        let mut text = serde_json::to_string_pretty(&file).expect("strings and numbers serialize");
        text.push('\n');
        text
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: KeyFile = serde_json::from_str(text).map_err(|error| {
            // The message of serde could quote a key.
            format!("not a key file (line {})", error.line())
        })?;
        if file.version != VERSION {
            return Err(format!("version {} is not supported", file.version));
        }
        let mut keys = Vec::with_capacity(file.keys.len());
        for KeyEntry { id, key, created, retired } in file.keys {
            let secret = hex::decode(&key).ok_or("a key is not 64 hexadecimal digits")?;
            let key = ChainKey::new(secret);
            if key.id.to_string() != id {
                return Err("a key does not match its id".to_owned());
            }
            keys.push(StoredKey { key, created, retired });
        }
        let current = keys.iter().position(|stored| stored.key.id.to_string() == file.current);
        let current = current.ok_or("the current key is missing")?;
        Ok(Self { chain: file.chain, keys, current })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    version: u32,
    chain: String,
    current: String,
    keys: Vec<KeyEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyEntry {
    id: String,
    key: String,
    created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retired: Option<u64>,
}

//! The records of trusted folders in the user's data directory.
//!
//! A record of another user, or one that others can write, does not count: it may have been put there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::sha256_digest;
use disk::Disk;
use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use store::ProjectIdentity;
use store::files::FileWriter;

use super::evidence::FolderEvidence;
use super::file_access::current_user;
use super::power::FolderPower;
use crate::env::Environment;

const VERSION: u32 = 1;
/// Maximum size of a record. Ten thousand files fit.
const MAX_BYTES: u64 = 16 << 20;
/// File that is locked while a trusted file and its record change.
const LOCK_NAME: &str = ".lock";

/// What the user agreed to for one folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustRecord {
    version: u32,
    /// Canonical path of the folder; invalid UTF-8 is replaced.
    pub root: String,
    /// Configuration file, if it is not the folder's own `vouch.toml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Identity of the folder, so that another folder at the same path is not trusted.
    pub(super) identity: String,
    pub trusted_at: Timestamp,
    /// Digests of the files that grant power.
    pub(super) files: FolderEvidence,
    /// Digests of the compilers that the folder contains.
    pub(super) compilers: BTreeMap<String, String>,
    pub powers: Vec<FolderPower>,
}

/// The folder of records.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
}

/// A failure to read or write records.
#[derive(Debug, thiserror::Error)]
pub enum TrustStoreError {
    #[error("failed to find the data folder: neither XDG_DATA_HOME nor HOME is set")]
    NoDataFolder,
    #[error("failed to read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("invalid trust record {}", path.display())]
    Invalid { path: PathBuf, source: serde_json::Error },
    #[error("{} {why}, so its trust records do not count", path.display())]
    Exposed { path: PathBuf, why: &'static str },
    #[error("{} belongs to another user", paths.join(", "))]
    ForeignFiles { paths: Vec<String> },
    #[error("failed to hash {}: not a readable file inside the folder", paths.join(", "))]
    UnreadableFiles { paths: Vec<String> },
    #[error("the folder changed while it was being reviewed")]
    ChangedMeanwhile,
    #[error("failed to identify folder {}", path.display())]
    Identity { path: PathBuf, source: io::Error },
    #[error("failed to hash the compiler {}", path.display())]
    Compiler { path: PathBuf, source: io::Error },
}

impl TrustStoreError {
    /// Returns a suggestion how to correct the error.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDataFolder => "set HOME, or pass `--trust` to trust one run".to_owned(),
            Self::Exposed { path, .. } => {
                format!("remove it, then run `vouch trust` again: rm -r {}", path.display())
            }
            Self::Invalid { path, .. } => {
                format!("remove it, then run `vouch trust` again: rm {}", path.display())
            }
            Self::ForeignFiles { .. } => {
                "make them yours with `chown`, or pass `--trust` to trust one run".to_owned()
            }
            Self::UnreadableFiles { .. } => {
                "remove them, or replace links by files, then run `vouch trust` again".to_owned()
            }
            Self::ChangedMeanwhile => "run `vouch trust` again".to_owned(),
            Self::Read { .. } | Self::Write { .. } | Self::Identity { .. } => {
                "make it accessible, or pass `--trust` to trust one run".to_owned()
            }
            Self::Compiler { .. } => "remove it, or replace its links by files".to_owned(),
        }
    }
}

impl TrustRecord {
    pub(super) fn new(
        root: &Path,
        config: Option<&Path>,
        files: FolderEvidence,
        powers: Vec<FolderPower>,
    ) -> Result<Self, TrustStoreError> {
        Ok(Self {
            version: VERSION,
            root: root.to_string_lossy().into_owned(),
            config: config.map(|path| path.to_string_lossy().into_owned()),
            identity: folder_identity(root)?,
            trusted_at: Timestamp::now(),
            files,
            compilers: BTreeMap::new(),
            powers,
        })
    }
}

/// Returns the identity of a folder. A folder that is moved to the path of another has a different one.
pub(super) fn folder_identity(root: &Path) -> Result<String, TrustStoreError> {
    let failed = |source| TrustStoreError::Identity { path: root.to_owned(), source };
    Ok(ProjectIdentity::read(root).map_err(failed)?.directory_name())
}

impl TrustStore {
    /// Returns the store of the user: `$XDG_DATA_HOME/vouch/trust`, by default below `~/.local/share`.
    pub fn from_environment(environment: &Environment) -> Result<Self, TrustStoreError> {
        let data = environment.data_folder().ok_or(TrustStoreError::NoDataFolder)?;
        Ok(Self { folder: data.join("vouch").join("trust"), disk: disk::system_disk() })
    }

    /// Returns the folder of the records.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the record of a folder, if there is one.
    pub(super) fn load(
        &self,
        root: &Path,
        config: Option<&Path>,
    ) -> Result<Option<TrustRecord>, TrustStoreError> {
        self.check_folder()?;
        let path = self.record_path(root, config);
        let record = self.read_record(&path)?;
        // The name is a hash of the path; a record under the name of another folder was copied there.
        Ok(record.filter(|record| record.root == root.to_string_lossy()))
    }

    fn read_record(&self, path: &Path) -> Result<Option<TrustRecord>, TrustStoreError> {
        let failed = |source| TrustStoreError::Read { path: path.to_owned(), source };
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = match File::options().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        check_private(path, &file.metadata().map_err(failed)?)?;
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(failed)?;
        serde_json::from_str(&text)
            .map(|record: TrustRecord| (record.version == VERSION).then_some(record))
            .map_err(|source| TrustStoreError::Invalid { path: path.to_owned(), source })
    }

    /// Writes a record. The caller holds the lock.
    pub(super) fn save(
        &self,
        root: &Path,
        config: Option<&Path>,
        record: &TrustRecord,
    ) -> Result<(), TrustStoreError> {
        let path = self.record_path(root, config);
        let failed = |source| TrustStoreError::Write { path: path.clone(), source };
        let text = serde_json::to_string_pretty(record)
            .map_err(|source| TrustStoreError::Invalid { path: path.clone(), source })?;
        let writer = FileWriter::new(&*self.disk);
        writer.replace_private_file(&path, text.as_bytes()).map_err(failed)
    }

    /// Removes all records of a folder. Returns the number of removed records.
    pub fn remove(&self, root: &Path) -> Result<usize, TrustStoreError> {
        let _lock = self.lock()?;
        let own = root.to_string_lossy();
        let mut removed = 0;
        for (path, _) in self.read_all()?.into_iter().filter(|(_, record)| record.root == own) {
            self.disk
                .remove_file(&path)
                .map_err(|source| TrustStoreError::Write { path, source })?;
            removed += 1;
        }
        // A removed record must not come back after a power failure.
        if self.folder.is_dir() {
            self.disk
                .sync_folder_at(&self.folder)
                .map_err(|source| TrustStoreError::Write { path: self.folder.clone(), source })?;
        }
        Ok(removed)
    }

    /// Returns all records, by path of their folder.
    pub fn list(&self) -> Result<Vec<ListedRecord>, TrustStoreError> {
        let mut records: Vec<_> = self
            .read_all()?
            .into_iter()
            .map(|(_, record)| ListedRecord { status: RecordStatus::of(&record), record })
            .collect();
        records.sort_by(|a, b| a.record.root.cmp(&b.record.root));
        Ok(records)
    }

    fn read_all(&self) -> Result<Vec<(PathBuf, TrustRecord)>, TrustStoreError> {
        self.check_folder()?;
        let failed = |source| TrustStoreError::Read { path: self.folder.clone(), source };
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut records = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|it| it == "json") {
                records.extend(self.read_record(&path)?.map(|record| (path, record)));
            }
        }
        Ok(records)
    }

    /// Creates the folder and locks it until the returned file is dropped.
    pub(super) fn lock(&self) -> Result<File, TrustStoreError> {
        let failed = |source| TrustStoreError::Write { path: self.folder.clone(), source };
        self.disk.create_folders(&self.folder, 0o700).map_err(failed)?;
        self.check_folder()?;
        let path = self.folder.join(LOCK_NAME);
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = File::options();
        options.create(true).truncate(false).write(true).mode(0o600).custom_flags(flags);
        let file = options.open(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    /// Errors if others could have written the records. A missing folder is fine.
    fn check_folder(&self) -> Result<(), TrustStoreError> {
        for folder in [self.folder.parent().unwrap_or(&self.folder), &self.folder] {
            match std::fs::symlink_metadata(folder) {
                Ok(metadata) => check_private(folder, &metadata)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(TrustStoreError::Read { path: folder.to_owned(), source });
                }
            }
        }
        Ok(())
    }

    fn record_path(&self, root: &Path, config: Option<&Path>) -> PathBuf {
        let mut key = root.as_os_str().as_bytes().to_vec();
        if let Some(config) = config {
            key.push(0);
            key.extend(config.as_os_str().as_bytes());
        }
        let digest = sha256_digest(&key);
        let name = digest.trim_start_matches("sha256:");
        self.folder.join(format!("{name}.json"))
    }
}

/// Errors if a file or folder belongs to another user, can be written by others, or is a link.
fn check_private(path: &Path, metadata: &std::fs::Metadata) -> Result<(), TrustStoreError> {
    let why = if metadata.uid() != current_user() {
        "belongs to another user"
    } else if metadata.mode() & 0o022 != 0 {
        "can be written by other users"
    } else if metadata.file_type().is_symlink() {
        "is a link"
    } else {
        return Ok(());
    };
    Err(TrustStoreError::Exposed { path: path.to_owned(), why })
}

/// A record, with the state of its folder.
#[derive(Debug)]
pub struct ListedRecord {
    pub record: TrustRecord,
    pub status: RecordStatus,
}

/// The state of a recorded folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordStatus {
    /// The folder is there. Its files are compared when it is used.
    Present,
    /// Another folder is at its path.
    Replaced,
    /// There is no such folder.
    Missing,
}

impl RecordStatus {
    fn of(record: &TrustRecord) -> Self {
        match folder_identity(Path::new(&record.root)) {
            Ok(identity) if identity == record.identity => Self::Present,
            Ok(_) => Self::Replaced,
            Err(_) => Self::Missing,
        }
    }

    /// Returns the word for the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Replaced => "replaced",
            Self::Missing => "missing",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use disk::simulated::{DurableFeature, SimulatedDisk, check_durability};

    use super::*;

    fn open_store(root: &Path, disk: Arc<dyn Disk>) -> TrustStore {
        TrustStore { folder: root.join("vouch/trust"), disk }
    }

    fn read(root: &Path) -> Result<bool, String> {
        let store = open_store(root, disk::system_disk());
        let record = store.load(&root.join("app"), None).map_err(|error| error.to_string())?;
        Ok(record.is_some())
    }

    fn save(root: &Path, disk: Arc<dyn Disk>) -> Result<(), TrustStoreError> {
        let (store, app) = (open_store(root, disk), root.join("app"));
        let record = TrustRecord::new(&app, None, FolderEvidence::default(), Vec::new())?;
        let _lock = store.lock()?;
        store.save(&app, None, &record)
    }

    /// The record of a folder that the user trusts.
    struct SavedRecord;

    impl DurableFeature for SavedRecord {
        fn prepare(&self, root: &Path) {
            fs::create_dir(root.join("app")).unwrap();
        }

        fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
            save(root, disk).map_err(|error| error.to_string())
        }

        fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
            let is_found = read(root)?;
            if is_found || !is_acknowledged { Ok(()) } else { Err("the record is lost".into()) }
        }
    }

    /// The record of a folder that the user no longer trusts.
    struct RemovedRecord;

    impl DurableFeature for RemovedRecord {
        fn prepare(&self, root: &Path) {
            fs::create_dir(root.join("app")).unwrap();
            save(root, disk::system_disk()).unwrap();
        }

        fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
            let removed = open_store(root, disk).remove(&root.join("app"));
            removed.map(drop).map_err(|error| error.to_string())
        }

        fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
            let is_found = read(root)?;
            if !is_found || !is_acknowledged { Ok(()) } else { Err("the record is back".into()) }
        }
    }

    #[test]
    fn saved_record_survives_any_fault_of_the_disk() {
        let root = tempfile::tempdir().unwrap();
        let operations = check_durability(root.path(), &SavedRecord).unwrap();
        assert_eq!(operations.len(), 6, "two new folders, write, sync, rename, sync of the folder");
    }

    #[test]
    fn removed_record_stays_removed_after_any_fault_of_the_disk() {
        let root = tempfile::tempdir().unwrap();
        let operations = check_durability(root.path(), &RemovedRecord).unwrap();
        assert_eq!(operations.len(), 2, "remove, sync of the folder");
    }
}

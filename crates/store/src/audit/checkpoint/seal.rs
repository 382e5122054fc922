//! Creates checkpoints: reads the ends of logs, signs them, and stores them for delivery.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use disk::{Disk, SystemDisk};
use ed25519_dalek::{Signer, SigningKey};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::queue::{CheckpointQueue, SealLock, create_folder};
use super::tip::read_tip;
pub(super) use super::tip::{chain_of, read_line_at};
use super::{Checkpoint, CheckpointKey, CheckpointTip, SignedCheckpoint, VERSION, signed_text};
use crate::audit::keyring::{AuditKeyError, AuditKeyLocation};
use crate::files::FileWriter;
use crate::private_file::{PrivateFileError, read_private_file};
use crate::{IoError, StoreError, hex, private_file, random};

const KEY_FILE_NAME: &str = "seal-key.json";

/// The signing key of checkpoints. It does not print.
pub struct CheckpointSigner {
    key: SigningKey,
    location: AuditKeyLocation,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignerFile {
    version: u32,
    created: Timestamp,
    key: String,
}

impl CheckpointSigner {
    /// Opens the signing key in the key folder, or in another file; creates it if it is missing.
    pub fn open_or_create(
        location: &AuditKeyLocation,
        key_file: Option<&Path>,
    ) -> Result<Self, StoreError> {
        Self::open_or_create_on_disk(location, key_file, &SystemDisk)
    }

    /// Opens the signing key like [`CheckpointSigner::open_or_create`], on this disk.
    pub fn open_or_create_on_disk(
        location: &AuditKeyLocation,
        key_file: Option<&Path>,
        disk: &dyn Disk,
    ) -> Result<Self, StoreError> {
        if let Some(signer) = Self::open(location, key_file)? {
            return Ok(signer);
        }
        create_folder(location.folder(), disk)?;
        let path = signer_path(location, key_file);
        let file = SignerFile {
            version: VERSION,
            created: Timestamp::now(),
            key: hex::encode(&random::generate_key()?),
        };
        let text = serde_json::to_string_pretty(&file).expect("strings serialize") + "\n";
        FileWriter::new(disk)
            .create_private_file(&path, text.as_bytes())
            .map_err(|source| StoreError::from_io("create", &path, source))?;
        let why = "the file disappeared while it was read".to_owned();
        Self::open(location, key_file)?.ok_or(AuditKeyError::Invalid { path, why }.into())
    }

    /// Opens the signing key. Returns `None` if there is none.
    pub fn open(
        location: &AuditKeyLocation,
        key_file: Option<&Path>,
    ) -> Result<Option<Self>, StoreError> {
        let path = signer_path(location, key_file);
        let text = match read_private_file(&path) {
            Ok(text) => text,
            Err(PrivateFileError::Read { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                return Ok(None);
            }
            Err(error) => return Err(AuditKeyError::from(error).into()),
        };
        let file: Option<SignerFile> = serde_json::from_str(&text).ok();
        let secret =
            file.filter(|file| file.version == VERSION).and_then(|it| hex::decode(&it.key));
        let why = || "not a signing key".to_owned();
        let secret = secret.ok_or_else(|| AuditKeyError::Invalid { path, why: why() })?;
        let key = SigningKey::from_bytes(&secret);
        Ok(Some(Self { key, location: location.clone() }))
    }

    /// Returns the public key.
    pub fn public_key(&self) -> CheckpointKey {
        CheckpointKey(self.key.verifying_key())
    }

    /// Signs a checkpoint of these logs, and stores it for delivery. Errors if one of them is missing or has no lines.
    ///
    /// One process seals at a time, so that the next checkpoint follows this one.
    pub fn seal(&self, logs: &[PathBuf], disk: &dyn Disk) -> Result<SignedCheckpoint, StoreError> {
        let queue = CheckpointQueue::new(&self.location, disk);
        let lock = queue.lock_sealing()?;
        let chains = logs.iter().map(|log| require_tip(log, disk)).collect::<Result<_, _>>()?;
        self.sign(&queue, &lock, chains)
    }

    /// Signs a checkpoint like [`CheckpointSigner::seal`]. Other logs that cannot be sealed are left out; their errors are
    /// returned too.
    pub fn seal_readable(
        &self,
        log: &Path,
        others: &[PathBuf],
        disk: &dyn Disk,
    ) -> Result<(SignedCheckpoint, Vec<StoreError>), StoreError> {
        let queue = CheckpointQueue::new(&self.location, disk);
        let lock = queue.lock_sealing()?;
        let mut chains = vec![require_tip(log, disk)?];
        let mut left_out = vec![];
        for other in others {
            match require_tip(other, disk) {
                Ok(tip) => chains.push(tip),
                Err(error) => left_out.push(error),
            }
        }
        Ok((self.sign(&queue, &lock, chains)?, left_out))
    }

    fn sign(
        &self,
        queue: &CheckpointQueue<'_>,
        lock: &SealLock,
        chains: Vec<CheckpointTip>,
    ) -> Result<SignedCheckpoint, StoreError> {
        let before = queue.read_last()?;
        let checkpoint = Checkpoint {
            version: VERSION,
            number: before.as_ref().map_or(1, |last| last.checkpoint.number + 1),
            time: Timestamp::now(),
            chains,
            previous: before.as_ref().map(SignedCheckpoint::hash),
        };
        let signature = self.key.sign(&signed_text(&checkpoint));
        let signed = SignedCheckpoint {
            signer: self.public_key().to_string(),
            signature: hex::encode(&signature.to_bytes()),
            checkpoint,
        };
        queue.push(lock, &signed)?;
        Ok(signed)
    }
}

fn require_tip(log: &Path, disk: &dyn Disk) -> Result<CheckpointTip, StoreError> {
    let tip = read_tip(log, disk).map_err(|source| IoError::new("read audit log", log, source))?;
    tip.ok_or_else(|| StoreError::NothingToSeal { path: log.to_owned() })
}

fn signer_path(location: &AuditKeyLocation, key_file: Option<&Path>) -> PathBuf {
    key_file.map_or_else(|| location.folder().join(KEY_FILE_NAME), Path::to_owned)
}

/// Appends a checkpoint to a file, or writes it to a new file in an existing folder. Returns the written file.
pub fn append_checkpoint(
    target: &Path,
    signed: &SignedCheckpoint,
    disk: &dyn Disk,
) -> Result<PathBuf, StoreError> {
    let line = format!("{}\n", signed.to_line());
    let path = if target.is_dir() {
        let signer = signed.signer.rsplit(':').next().unwrap_or_default();
        let signer = signer.get(..16).unwrap_or_default();
        target.join(format!("checkpoint-{signer}-{:08}.json", signed.checkpoint.number))
    } else {
        target.to_owned()
    };
    write_line(&path, line.as_bytes(), disk)
        .map_err(|source| StoreError::from_io("write checkpoint to", &path, source))?;
    Ok(path)
}

/// Appends a line to a file and waits until it is on disk. What an attempt that failed has written is removed again.
fn write_line(path: &Path, line: &[u8], disk: &dyn Disk) -> io::Result<()> {
    let file = private_file::open_options().append(true).open(path)?;
    // Several servers may share the file; none of them may remove a line of another one.
    file.lock()?;
    let length = file.metadata()?.len();
    let write = || -> io::Result<()> {
        if length > 0 && !ends_with_newline(path)? {
            disk.write_all(&file, b"\n")?;
        }
        disk.write_all(&file, line)?;
        disk.sync_data(&file)?;
        // Also for an existing file: an attempt that failed may have created it. The folder may belong to another user,
        // who then created the file.
        match disk.sync_parent(path) {
            Err(error) if length > 0 && error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            synced => synced,
        }
    };
    write().inspect_err(|_| {
        // After a failed sync, the system may forget the line and keep its length. A file that only grows stays as it is.
        let _ = disk.set_len(&file, length);
    })
}

fn ends_with_newline(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let file = File::open(path)?;
    let mut last = [0];
    file.read_exact_at(&mut last, file.metadata()?.len() - 1)?;
    Ok(last == *b"\n")
}

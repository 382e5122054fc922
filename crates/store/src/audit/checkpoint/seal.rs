//! Creates checkpoints: reads the ends of logs, signs them, and remembers the last checkpoint.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use disk::Disk;
use ed25519_dalek::{Signer, SigningKey};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Checkpoint, CheckpointKey, CheckpointTip, SignedCheckpoint, VERSION, signed_text};
use crate::audit::keyring::{AuditKeyError, AuditKeyLocation};
use crate::audit::line_reader::{LineReader, find_last_lines};
use crate::audit::log_files::{hash_file, list_closed};
use crate::audit::record::{AuditEntry, AuditLogEvent, AuditRecord};
use crate::private_file::{PrivateFileError, read_private_file};
use crate::{IoError, StoreError, files, hex, private_file, random};

const KEY_FILE_NAME: &str = "seal-key.json";
const LAST_NAME: &str = "last-checkpoint.json";

/// The signing key of checkpoints, and the last checkpoint that it signed. The key does not print.
pub struct CheckpointSigner {
    key: SigningKey,
    last: PathBuf,
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
        if let Some(signer) = Self::open(location, key_file)? {
            return Ok(signer);
        }
        location.create_folder()?;
        let path = signer_path(location, key_file);
        let file = SignerFile {
            version: VERSION,
            created: Timestamp::now(),
            key: hex::encode(&random::generate_key()?),
        };
        let text = serde_json::to_string_pretty(&file).expect("strings serialize") + "\n";
        files::create_private_file(&path, text.as_bytes())
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
        let last = location.folder().join(LAST_NAME);
        Ok(Some(Self { key: SigningKey::from_bytes(&secret), last }))
    }

    /// Returns the public key.
    pub fn public_key(&self) -> CheckpointKey {
        CheckpointKey(self.key.verifying_key())
    }

    /// Signs a checkpoint of these logs, and remembers it. Logs without lines are left out.
    pub fn seal(&self, logs: &[PathBuf], disk: &dyn Disk) -> Result<SignedCheckpoint, StoreError> {
        let mut chains = vec![];
        for log in logs {
            let tip = read_tip(log, disk)
                .map_err(|source| IoError::new("read audit log", log, source))?;
            chains.extend(tip);
        }
        let before = self.read_last()?;
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
        let text = format!("{}\n", signed.to_line());
        files::replace_private_file(&self.last, text.as_bytes())
            .map_err(|source| StoreError::from_io("write", &self.last, source))?;
        Ok(signed)
    }

    fn read_last(&self) -> Result<Option<SignedCheckpoint>, StoreError> {
        match std::fs::read_to_string(&self.last) {
            // A file that was changed is not continued; the gap in the numbers is found later.
            Ok(text) => Ok(serde_json::from_str(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::from_io("read", &self.last, error)),
        }
    }
}

fn signer_path(location: &AuditKeyLocation, key_file: Option<&Path>) -> PathBuf {
    key_file.map_or_else(|| location.folder().join(KEY_FILE_NAME), Path::to_owned)
}

/// Returns the number of bytes in the current file of a log; 0 if it does not exist.
pub fn read_log_length(log: &Path) -> u64 {
    log.metadata().map_or(0, |metadata| metadata.len())
}

/// Returns the end of a log, after its lines were synced; `None` if it has no lines.
fn read_tip(log: &Path, disk: &dyn Disk) -> io::Result<Option<CheckpointTip>> {
    let file = match private_file::read_options().open(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    file.lock_shared()?;
    let snapshot = list_closed(log).and_then(|closed| Ok((closed, file.metadata()?.len())));
    file.unlock()?;
    let (closed, length) = snapshot?;
    // A line that a power failure can still remove must not be in a checkpoint.
    disk.sync_data(&file)?;
    let bytes = find_last_lines(&file, length, 0)?;
    let number = closed.last().map_or(1, |last| last + 1);
    let first = read_line_at(&file, 0, bytes)?;
    let last = read_line_at(&file, find_last_lines(&file, bytes, 1)?, bytes)?;
    let Some((first, last)) = first.zip(last) else { return Ok(None) };
    io::Seek::rewind(&mut &file)?;
    let sha256 = hash_file(file, bytes)?;
    let chain = chain_of(&first).unwrap_or_default();
    Ok(Some(CheckpointTip { chain, seq: last.seq, file: number, bytes, sha256 }))
}

/// Returns the id of the chain that the first line of a file names.
pub(super) fn chain_of(first: &AuditRecord) -> Option<String> {
    match &first.entry {
        AuditEntry::Event {
            event: AuditLogEvent::Chain { chain, .. } | AuditLogEvent::File { chain, .. },
            ..
        } => Some(chain.clone()),
        _ => None,
    }
}

/// Returns the record at an offset of a file.
pub(super) fn read_line_at(
    mut file: &File,
    start: u64,
    end: u64,
) -> io::Result<Option<AuditRecord>> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(start))?;
    let source = io::BufReader::new(io::Read::take(file, end - start));
    let mut reader = LineReader::new(source);
    Ok(reader.next_line()?.and_then(|line| AuditRecord::parse(line.bytes)))
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

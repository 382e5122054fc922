//! Signed checkpoints: the lengths and hashes of logs at a time, signed with Ed25519 and kept elsewhere.
//!
//! ```text
//! {"checkpoint":{"version":1,"number":7,"time":…,"chains":[{"chain":…,"seq":…,"file":1,"bytes":…,"sha256":…}],
//!                "previous":"sha256:<hash of checkpoint 6>"},
//!  "signer":"ed25519:<public key>","signature":"<of the checkpoint>"}
//! ```
//!
//! A checkpoint needs no key of the log to be checked: `sha256` is the hash of the first `bytes` bytes of the file, and the
//! first line of that file contains the hash of the file before it. One checkpoint may name several logs.
//!
//! `seal` creates checkpoints from what `tip` finds, `queue` keeps them until each target has them, `proof` compares logs
//! with them, `retention` decides which files may be missing.

mod proof;
mod queue;
mod retention;
mod seal;
mod tip;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ed25519_dalek::{Signature, VerifyingKey};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::chain::{self, Hash};
use crate::{IoError, StoreError, hex};

pub use self::proof::{CheckpointEvidence, CheckpointSummary, verify_checkpoints};
pub use self::queue::{CheckpointQueue, DeliveryLock};
pub use self::seal::{CheckpointSigner, append_checkpoint};
pub use self::tip::read_log_growth;

const VERSION: u32 = 1;
/// Prefix of the signed text, so that a signature cannot be used for anything else.
const PURPOSE: &[u8] = b"vouch audit checkpoint 1\0";
const KEY_PREFIX: &str = "ed25519:";
/// Maximum size of a file of checkpoints: about 300,000 of them.
const MAX_FILE_BYTES: u64 = 128 << 20;

/// A public key of checkpoints: `ed25519:` and 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointKey(VerifyingKey);

impl FromStr for CheckpointKey {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let key = text.strip_prefix(KEY_PREFIX).and_then(hex::decode_array::<32>);
        let key = key.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        key.map(Self).ok_or_else(|| {
            "expected `ed25519:` and 64 hexadecimal digits, as `vouch audit seal --public-key` prints".to_owned()
        })
    }
}

impl fmt::Display for CheckpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY_PREFIX}{}", hex::encode(self.0.as_bytes()))
    }
}

/// The state of logs at a time. It is signed in this order of fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    version: u32,
    /// Number of the checkpoint of its signer, from 1.
    pub number: u64,
    pub time: Timestamp,
    pub chains: Vec<CheckpointTip>,
    /// Hash of the checkpoint before; `None` for the first one.
    previous: Option<String>,
}

/// The end of one log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointTip {
    pub chain: String,
    /// Sequence number of the last line.
    pub seq: u64,
    /// Number of the file.
    pub file: u32,
    /// Length of the file up to that line.
    pub bytes: u64,
    /// SHA-256 of these bytes.
    pub sha256: String,
}

/// A checkpoint with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedCheckpoint {
    pub checkpoint: Checkpoint,
    pub signer: String,
    signature: String,
}

impl SignedCheckpoint {
    /// Returns the checkpoint as one line of JSON, without a newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers serialize")
    }

    /// Returns the hash that the next checkpoint contains.
    fn hash(&self) -> String {
        let hash: Hash = Sha256::digest(self.to_line().as_bytes()).into();
        chain::format_hash(&hash)
    }

    /// Returns true if this key signed the checkpoint.
    fn is_signed_by(&self, key: &CheckpointKey) -> bool {
        let signature = hex::decode_array::<64>(&self.signature);
        let signature = signature.map(|bytes| Signature::from_bytes(&bytes));
        signature.is_some_and(|signature| {
            key.0.verify_strict(&signed_text(&self.checkpoint), &signature).is_ok()
        })
    }
}

fn signed_text(checkpoint: &Checkpoint) -> Vec<u8> {
    let mut text = PURPOSE.to_vec();
    serde_json::to_writer(&mut text, checkpoint).expect("strings and numbers serialize");
    text
}

/// Reads checkpoints from a file with one per line, or from the files of a folder. They are sorted by number.
///
/// Errors if a line is not a checkpoint; a torn last line is left out.
pub fn read_checkpoints(path: &Path) -> Result<Vec<SignedCheckpoint>, StoreError> {
    let failed = |path: &Path, source| StoreError::from_io("read checkpoints from", path, source);
    let mut files: Vec<PathBuf> = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|source| failed(path, source))?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        files = paths.collect::<io::Result<_>>().map_err(|source| failed(path, source))?;
        files.retain(|file| file.extension().is_some_and(|it| it == "json" || it == "jsonl"));
    }
    let mut checkpoints = vec![];
    for file in files {
        let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "over 128 MiB");
        let length = file.metadata().map_err(|source| failed(&file, source))?.len();
        if length > MAX_FILE_BYTES {
            return Err(failed(&file, too_large()));
        }
        let text = std::fs::read_to_string(&file).map_err(|source| failed(&file, source))?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<SignedCheckpoint>(line) {
                Ok(found) if found.checkpoint.version == VERSION => checkpoints.push(found),
                // A crash while it was appended.
                Err(error) if error.is_eof() && !text.ends_with('\n') => {}
                _ => {
                    let why = format!("line {} is not a checkpoint", at + 1);
                    let source = io::Error::new(io::ErrorKind::InvalidData, why);
                    return Err(IoError::new("read checkpoints from", &file, source).into());
                }
            }
        }
    }
    checkpoints.sort_by_key(|signed| (signed.checkpoint.number, signed.checkpoint.time));
    checkpoints.dedup();
    Ok(checkpoints)
}

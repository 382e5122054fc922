//! The hash chain: each line contains its sequence number and the hash of the line before it.
//!
//! It is our own because it is one SHA-256 over the bytes of a line, which any tool can check without our code.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::record::AuditEntry;
use crate::hex;

/// SHA-256 of the bytes of a line, without its newline.
pub(super) type Hash = [u8; 32];

/// Maximum sequence number; no real log reaches it. Higher numbers are rejected as forged, so that sums of sequence
/// numbers cannot overflow.
pub(super) const MAX_SEQ: u64 = 1 << 53;

pub(super) const HASH_PREFIX: &str = "sha256:";

pub(super) fn format_hash(hash: &Hash) -> String {
    format!("{HASH_PREFIX}{}", hex::encode(hash))
}

pub(super) fn parse_hash(text: &str) -> Option<Hash> {
    hex::decode(text.strip_prefix(HASH_PREFIX)?)
}

/// Sequence number and hash of the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainTip {
    pub(super) seq: u64,
    pub(super) hash: Hash,
}

impl ChainTip {
    /// The tip of an empty log.
    pub(super) const GENESIS: Self = Self { seq: 0, hash: [0; 32] };

    /// Appends the entry to `buffer` as the next line, and advances the tip to it.
    pub(super) fn append_entry(&mut self, buffer: &mut Vec<u8>, entry: &AuditEntry) {
        #[derive(Serialize)]
        struct ChainedEntry<'a> {
            seq: u64,
            #[serde(flatten)]
            entry: &'a AuditEntry,
            prev: &'a str,
        }
        let start = buffer.len();
        let seq = self.seq + 1;
        let line = ChainedEntry { seq, entry, prev: &format_hash(&self.hash) };
        serde_json::to_writer(&mut *buffer, &line)
            .expect("strings, numbers and JSON values always serialize");
        *self = Self { seq, hash: Sha256::digest(&buffer[start..]).into() };
        buffer.push(b'\n');
    }
}

/// The fields of a line that link it into the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainLink {
    pub(super) seq: u64,
    pub(super) prev: Hash,
    pub(super) is_event: bool,
}

impl ChainLink {
    /// Returns `None` if a field is missing or invalid, so the line is not an audit record.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct ChainFields<'a> {
            seq: u64,
            prev: &'a str,
            event: Option<&'a str>,
        }
        let ChainFields { seq, prev, event } = serde_json::from_slice(line).ok()?;
        if seq > MAX_SEQ {
            return None;
        }
        Some(Self { seq, prev: parse_hash(prev)?, is_event: event.is_some() })
    }

    pub(super) fn is_successor_of(&self, tip: &ChainTip) -> bool {
        self.seq == tip.seq + 1 && self.prev == tip.hash
    }
}

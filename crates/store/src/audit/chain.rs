//! The chain: each line contains its sequence number and a keyed digest of the line before it.
//!
//! The digest is `HMAC-SHA256(key, SHA-256(line))`, so only a holder of the key can continue or rewrite the chain. Logs of
//! earlier versions contain the plain hash instead; such lines are only ever read.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::key::{ChainKey, KeyId, MAC_PREFIX};
use super::keyring::KeySet;
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
    pub(super) fn append_entry(
        &mut self,
        buffer: &mut Vec<u8>,
        entry: &AuditEntry,
        key: &ChainKey,
    ) {
        #[derive(Serialize)]
        struct ChainedEntry<'a> {
            seq: u64,
            #[serde(flatten)]
            entry: &'a AuditEntry,
            prev: &'a str,
        }
        let start = buffer.len();
        let seq = self.seq + 1;
        let line = ChainedEntry { seq, entry, prev: &key.format(&key.link_line(&self.hash)) };
        serde_json::to_writer(&mut *buffer, &line)
            .expect("strings, numbers and JSON values always serialize");
        *self = Self { seq, hash: Sha256::digest(&buffer[start..]).into() };
        buffer.push(b'\n');
    }
}

/// The digest of the line before, as a line contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrevDigest {
    /// The hash itself, as earlier versions wrote it.
    Plain(Hash),
    Keyed {
        key: KeyId,
        mac: Hash,
    },
}

impl PrevDigest {
    fn parse(text: &str) -> Option<Self> {
        let Some(keyed) = text.strip_prefix(MAC_PREFIX) else {
            return parse_hash(text).map(Self::Plain);
        };
        let (key, mac) = keyed.split_once(':')?;
        Some(Self::Keyed { key: KeyId::parse(key)?, mac: hex::decode(mac)? })
    }

    /// Returns the key that made the digest; `None` for a plain hash.
    pub(super) fn key(self) -> Option<KeyId> {
        match self {
            Self::Plain(_) => None,
            Self::Keyed { key, .. } => Some(key),
        }
    }

    /// Returns true if a holder of one of the keys linked this digest to a line with this hash.
    pub(super) fn proves(self, line: &Hash, keys: &KeySet) -> bool {
        self.key().is_some_and(|key| keys.find(key).is_some()) && self.matches(line, keys)
    }

    /// Returns true if this is the digest of a line with this hash. Without the key, it cannot be checked and counts as
    /// matching; the verifier reports such lines.
    pub(super) fn matches(self, line: &Hash, keys: &KeySet) -> bool {
        match self {
            Self::Plain(hash) => hash == *line,
            Self::Keyed { key, mac } => keys.find(key).is_none_or(|key| key.link_line(line) == mac),
        }
    }
}

/// The fields of a line that link it into the chain, and the ids that join intents and outcomes.
#[derive(Clone, Debug)]
pub(super) struct ChainLink {
    pub(super) seq: u64,
    pub(super) prev: PrevDigest,
    pub(super) is_event: bool,
    /// Id of the call, if the line is an intent.
    pub(super) intent: Option<String>,
    /// Id of the intent, if the line is the outcome of one.
    pub(super) outcome_of: Option<String>,
}

impl ChainLink {
    /// Returns `None` if a field is missing or invalid, so the line is not an audit record.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct ChainFields<'a> {
            seq: u64,
            prev: &'a str,
            event: Option<&'a str>,
            intent: Option<&'a str>,
            call: Option<&'a str>,
        }
        let fields: ChainFields<'_> = serde_json::from_slice(line).ok()?;
        if fields.seq > MAX_SEQ {
            return None;
        }
        Some(Self {
            seq: fields.seq,
            prev: PrevDigest::parse(fields.prev)?,
            is_event: fields.event.is_some(),
            intent: fields.intent.map(str::to_owned),
            outcome_of: fields.call.map(str::to_owned),
        })
    }

    pub(super) fn is_successor_of(&self, tip: &ChainTip, keys: &KeySet) -> bool {
        self.seq == tip.seq + 1 && self.prev.matches(&tip.hash, keys)
    }
}

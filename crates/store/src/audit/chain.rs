//! The chain: how a line is bound to the one before.
//!
//! It is our own because it is one SHA-256 over the bytes of a line, which any tool can check without our code.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::record::Entry;
use crate::hex;

pub(super) type Hash = [u8; 32];

/// No log gets there. A higher number is a forgery, and refusing it here keeps sums of numbers from overflowing.
pub(super) const MAX_SEQ: u64 = 1 << 53;

pub(super) const PREFIX: &str = "sha256:";

pub(super) fn text(hash: &Hash) -> String {
    format!("{PREFIX}{}", hex::encode(hash))
}

pub(super) fn parse_text(text: &str) -> Option<Hash> {
    hex::decode(text.strip_prefix(PREFIX)?)
}

/// Number and hash of the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tip {
    pub(super) seq: u64,
    pub(super) hash: Hash,
}

impl Tip {
    /// Before the first line.
    pub(super) const GENESIS: Self = Self { seq: 0, hash: [0; 32] };

    /// Writes the line that follows and moves on to it.
    pub(super) fn extend(&mut self, buffer: &mut Vec<u8>, entry: &Entry) {
        #[derive(Serialize)]
        struct Line<'a> {
            seq: u64,
            #[serde(flatten)]
            entry: &'a Entry,
            prev: &'a str,
        }
        let start = buffer.len();
        let seq = self.seq + 1;
        let line = Line { seq, entry, prev: &text(&self.hash) };
        serde_json::to_writer(&mut *buffer, &line)
            .expect("strings, numbers and JSON values always serialise");
        *self = Self { seq, hash: Sha256::digest(&buffer[start..]).into() };
        buffer.push(b'\n');
    }
}

/// The fields that bind a line. A line without them is no line of ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) prev: Hash,
    pub(super) is_event: bool,
}

impl Link {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            seq: u64,
            prev: &'a str,
            event: Option<&'a str>,
        }
        let Wire { seq, prev, event } = serde_json::from_slice(line).ok()?;
        if seq > MAX_SEQ {
            return None;
        }
        Some(Self { seq, prev: parse_text(prev)?, is_event: event.is_some() })
    }

    pub(super) fn follows(&self, tip: &Tip) -> bool {
        self.seq == tip.seq + 1 && self.prev == tip.hash
    }
}

//! A key of the chain, and the keys derived from it: for lines, heads and argument digests.
//!
//! The derived keys are kept as prepared HMAC states, so that a line costs two compressions more than its plain hash.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::chain::Hash;
use crate::hex;

/// Text before a keyed digest; the id of the key and the digest follow.
pub(super) const MAC_PREFIX: &str = "hmac:";

/// Identifier of a key, derived from the key itself: 16 lower-case hexadecimal digits. It reveals nothing about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct KeyId([u8; 8]);

impl KeyId {
    /// Number of characters of an id.
    pub(super) const LENGTH: usize = 16;

    pub(super) fn parse(text: &str) -> Option<Self> {
        hex::decode_array(text).map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

/// A key with its derived keys. It does not print: it has no `Debug`.
#[derive(Clone)]
pub(super) struct ChainKey {
    pub(super) id: KeyId,
    secret: [u8; 32],
    lines: Hmac<Sha256>,
    heads: Hmac<Sha256>,
    arguments: Hmac<Sha256>,
}

impl ChainKey {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        let derive =
            |purpose: &str| -> Hash { compute_mac(&prepare(&secret), &[purpose.as_bytes()]) };
        let id = derive("vouch audit 1: key id");
        let id = id.first_chunk::<8>().copied().expect("a hash is longer than an id");
        Self {
            id: KeyId(id),
            lines: prepare(&derive("vouch audit 1: lines")),
            heads: prepare(&derive("vouch audit 1: heads")),
            arguments: prepare(&derive("vouch audit 1: arguments")),
            secret,
        }
    }

    /// Returns the key itself, for the key file.
    pub(super) fn expose_secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Returns the digest that links the next line to a line with this hash.
    pub(super) fn link_line(&self, line: &Hash) -> Hash {
        compute_mac(&self.lines, &[line])
    }

    /// Returns the digest that authenticates the text of a head.
    pub(super) fn sign_head(&self, chain: &str, text: &[u8]) -> Hash {
        compute_mac(&self.heads, &[chain.as_bytes(), b"\0", text])
    }

    /// Returns the keyed form of a digest of arguments. Without the key, a guess cannot be checked against it.
    pub(super) fn blind_digest(&self, digest: &str) -> String {
        self.format(&compute_mac(&self.arguments, &[digest.as_bytes()]))
    }

    /// Returns the text form of a digest under this key.
    pub(super) fn format(&self, mac: &Hash) -> String {
        let mut text = String::with_capacity(MAC_PREFIX.len() + KeyId::LENGTH + 1 + 64);
        text.push_str(MAC_PREFIX);
        hex::encode_into(&self.id.0, &mut text);
        text.push(':');
        hex::encode_into(mac, &mut text);
        text
    }
}

fn prepare(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC accepts keys of any length")
}

fn compute_mac(prepared: &Hmac<Sha256>, parts: &[&[u8]]) -> Hash {
    let mut mac = prepared.clone();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

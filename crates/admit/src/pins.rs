//! `vouch.lock`: the full text of every definition that was admitted, so that a change is seen and can be shown.
//!
//! The rules are in [`update`]: a blocked change never becomes the baseline, and a baseline outlives its tool. The last few
//! blocked changes are kept even when the server takes them back. The file is JSON with sorted keys and a block for each
//! tool, so that two branches merge; nothing in it is secret, all of it came from servers.

mod update;

use std::collections::{BTreeMap, BTreeSet};

use contract::text::one_line;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::sorted;
use crate::{ChangeClass, digest_of};

pub use update::Accepted;

const VERSION: u64 = 1;

/// A definition that was admitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub digest: String,
    pub admitted: Timestamp,
    pub definition: Value,
}

/// A definition that was offered and not let in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    pub digest: String,
    /// What changed; empty for a tool that was never admitted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub class: BTreeSet<ChangeClass>,
    /// When it was first offered.
    pub seen: Timestamp,
    pub definition: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinState {
    /// The server offers it (perhaps changed: then something is pending).
    Admitted,
    /// The server offered it once.
    Removed,
    /// Never admitted; what was offered is pending.
    New,
}

/// What is remembered of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    pub state: PinState,
    /// None only in [`PinState::New`].
    #[serde(flatten)]
    pub baseline: Option<Baseline>,
    /// The digest of the overlay it was admitted with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// What was offered, not let in and then taken back, the latest last: by it a copy under another name is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<Pending>,
}

/// The tools of one upstream by their own names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamPins {
    #[serde(default)]
    pub tools: BTreeMap<String, Pin>,
}

/// Everything that is pinned, by upstream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pins {
    upstreams: BTreeMap<String, UpstreamPins>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u64,
    upstreams: BTreeMap<String, UpstreamPins>,
}

/// Why a text is no lock.
#[derive(Debug, thiserror::Error)]
pub enum PinsError {
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("the lock has version {0}, and only version {VERSION} is known")]
    Version(u64),
    #[error("the lock has no version")]
    NoVersion,
    #[error("a definition of `{0}` was edited: its digest does not belong to it")]
    Digest(String),
    #[error("`{0}` is admitted or removed, but its definition is missing")]
    NoBaseline(String),
}

impl Pins {
    pub fn parse(text: &str) -> Result<Self, PinsError> {
        #[derive(Deserialize)]
        struct Head {
            version: Option<u64>,
        }
        // The version first: what another one holds need not make sense here.
        if !text.trim_start().starts_with('{') {
            return Err(PinsError::NoVersion);
        }
        let head: Head = serde_json::from_str(text).map_err(PinsError::Json)?;
        match head.version {
            Some(VERSION) => {}
            Some(other) => return Err(PinsError::Version(other)),
            None => return Err(PinsError::NoVersion),
        }
        let file: File = serde_json::from_str(text).map_err(PinsError::Json)?;
        for (upstream, pins) in &file.upstreams {
            for (tool, pin) in &pins.tools {
                let name = || one_line(&format!("{upstream}/{tool}"));
                if pin.baseline.is_none() && (pin.state != PinState::New || pin.pending.is_none()) {
                    return Err(PinsError::NoBaseline(name()));
                }
                let admitted = pin.baseline.iter().map(|pin| (&pin.digest, &pin.definition));
                let others = pin.pending.iter().chain(&pin.blocked);
                let others = others.map(|offer| (&offer.digest, &offer.definition));
                for (digest, definition) in admitted.chain(others) {
                    if *digest != digest_of(definition) {
                        return Err(PinsError::Digest(name()));
                    }
                }
            }
        }
        Ok(Self { upstreams: file.upstreams })
    }

    /// The same pins give the same text.
    pub fn to_text(&self) -> String {
        let file = File { version: VERSION, upstreams: self.upstreams.clone() };
        let value = serde_json::to_value(file).expect("pins are plain JSON");
        contract::text::json(&sorted(&value))
    }

    /// The tools of one upstream; none before its first list was pinned.
    pub fn upstream(&self, name: &str) -> Option<&UpstreamPins> {
        self.upstreams.get(name)
    }

    /// Names of all upstreams that are pinned.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.upstreams.keys().map(String::as_str)
    }

    pub fn pin(&self, upstream: &str, tool: &str) -> Option<&Pin> {
        self.upstreams.get(upstream)?.tools.get(tool)
    }

    /// What waits for a person: upstream, tool, what was offered.
    pub fn pending(&self) -> impl Iterator<Item = (&str, &str, &Pin)> {
        self.upstreams.iter().flat_map(|(upstream, pins)| {
            pins.tools
                .iter()
                .filter(|(_, pin)| pin.pending.is_some())
                .map(move |(tool, pin)| (upstream.as_str(), tool.as_str(), pin))
        })
    }

    /// Forgets an upstream; its next list is its first. True if it was pinned.
    pub fn forget(&mut self, upstream: &str) -> bool {
        self.upstreams.remove(upstream).is_some()
    }
}

//! The contents of `vouch.lock`: every admitted definition in full, so that changes are detected and can be shown.
//!
//! Updates are in [`update`]: a blocked change never becomes the baseline, and a baseline outlives its tool. The last
//! few blocked changes are kept even if the server reverts them. The file is JSON with sorted keys and one block per
//! tool, so that branches merge. It holds no secrets, because all of it came from servers.

mod update;

use std::collections::{BTreeMap, BTreeSet};

use contract::text::one_line;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::change::sort_keys;
use crate::{ChangeClass, digest_definition};

pub use update::AcceptedDefinition;

const VERSION: u64 = 1;

/// An admitted definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinBaseline {
    pub digest: String,
    pub admitted: Timestamp,
    pub definition: Value,
}

/// A definition that was offered but not admitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingDefinition {
    pub digest: String,
    /// Classes of the change; empty for a tool that was never admitted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub class: BTreeSet<ChangeClass>,
    /// Time of the first offer.
    pub seen: Timestamp,
    pub definition: Value,
}

/// State of a pinned tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinState {
    /// Offered by the server. If it is offered changed, the change is pending.
    Admitted,
    /// Admitted before, but no longer offered.
    Removed,
    /// Never admitted; the offered definition is pending.
    New,
}

/// The lock file's record of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolPin {
    pub state: PinState,
    /// `None` only for [`PinState::New`].
    #[serde(flatten)]
    pub baseline: Option<PinBaseline>,
    /// Digest of the overlay that the tool was admitted with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingDefinition>,
    /// Definitions that were offered, blocked and then reverted, latest last. Renamed copies are detected by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<PendingDefinition>,
}

/// Pins of one upstream, by the server's tool names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamPins {
    #[serde(default)]
    pub tools: BTreeMap<String, ToolPin>,
}

/// All pins, by upstream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinSet {
    upstreams: BTreeMap<String, UpstreamPins>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFileDocument {
    version: u64,
    upstreams: BTreeMap<String, UpstreamPins>,
}

/// An error in the text of a lock file.
#[derive(Debug, thiserror::Error)]
pub enum PinSetError {
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("unsupported version {0}, expected {VERSION}")]
    Version(u64),
    #[error("missing `version`")]
    NoVersion,
    #[error("a definition of `{0}` was edited: its digest does not match")]
    Digest(String),
    #[error("`{0}` is admitted or removed, but its definition is missing")]
    NoBaseline(String),
}

impl PinSet {
    /// Parses the text of a lock file and verifies every digest in it.
    pub fn parse(text: &str) -> Result<Self, PinSetError> {
        #[derive(Deserialize)]
        struct LockFileHeader {
            version: Option<u64>,
        }
        // Check the version first: another version may have another format.
        if !text.trim_start().starts_with('{') {
            return Err(PinSetError::NoVersion);
        }
        let head: LockFileHeader = serde_json::from_str(text).map_err(PinSetError::Json)?;
        match head.version {
            Some(VERSION) => {}
            Some(other) => return Err(PinSetError::Version(other)),
            None => return Err(PinSetError::NoVersion),
        }
        let file: LockFileDocument = serde_json::from_str(text).map_err(PinSetError::Json)?;
        for (upstream, pins) in &file.upstreams {
            for (tool, pin) in &pins.tools {
                let name = || one_line(&format!("{upstream}/{tool}"));
                if pin.baseline.is_none() && (pin.state != PinState::New || pin.pending.is_none()) {
                    return Err(PinSetError::NoBaseline(name()));
                }
                let admitted = pin.baseline.iter().map(|pin| (&pin.digest, &pin.definition));
                let others = pin.pending.iter().chain(&pin.blocked);
                let others = others.map(|offer| (&offer.digest, &offer.definition));
                for (digest, definition) in admitted.chain(others) {
                    if *digest != digest_definition(definition) {
                        return Err(PinSetError::Digest(name()));
                    }
                }
            }
        }
        Ok(Self { upstreams: file.upstreams })
    }

    /// Returns the text of the lock file. Equal pins give equal text.
    pub fn to_text(&self) -> String {
        let file = LockFileDocument { version: VERSION, upstreams: self.upstreams.clone() };
        let value = serde_json::to_value(file).expect("pins are plain JSON");
        contract::text::to_visible_json(&sort_keys(&value))
    }

    /// Returns the pins of one upstream, or `None` until its first list has been pinned.
    pub fn upstream(&self, name: &str) -> Option<&UpstreamPins> {
        self.upstreams.get(name)
    }

    /// Returns the names of all pinned upstreams.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.upstreams.keys().map(String::as_str)
    }

    /// Returns the pin of one tool.
    pub fn pin(&self, upstream: &str, tool: &str) -> Option<&ToolPin> {
        self.upstreams.get(upstream)?.tools.get(tool)
    }

    /// Returns all pins with a pending definition, as upstream, tool and pin.
    pub fn iter_pending(&self) -> impl Iterator<Item = (&str, &str, &ToolPin)> {
        self.upstreams.iter().flat_map(|(upstream, pins)| {
            pins.tools
                .iter()
                .filter(|(_, pin)| pin.pending.is_some())
                .map(move |(tool, pin)| (upstream.as_str(), tool.as_str(), pin))
        })
    }

    /// Removes all pins of an upstream, so that its next list counts as its first. Returns true if it was pinned.
    pub fn remove_upstream(&mut self, upstream: &str) -> bool {
        self.upstreams.remove(upstream).is_some()
    }
}

//! Bounds of settings that hold wherever a number comes from.

use super::CampaignSettings;
use crate::corpus::format::MAX_CALLS;

/// Maximum workers: each has a thread and a chain of its own, so more is a slip.
pub const MAX_WORKERS: usize = 1024;

/// A number above its bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` must be at most {most}, not {value}")]
pub struct BoundError {
    /// The key of Echidna's configuration.
    pub key: &'static str,
    pub value: usize,
    pub most: usize,
}

impl CampaignSettings {
    /// Checks that each number is within its bound.
    pub fn check_bounds(&self) -> Result<(), BoundError> {
        let bounds = [
            ("workers", self.workers.map_or(1, |workers| workers.get()), MAX_WORKERS),
            // A longer sequence could be kept, but never read again.
            ("seqLen", self.sequence_length.get(), MAX_CALLS),
        ];
        match bounds.into_iter().find(|(_, value, most)| value > most) {
            Some((key, value, most)) => Err(BoundError { key, value, most }),
            None => Ok(()),
        }
    }

    /// Returns a message for each setting that is set and has no effect.
    pub fn ineffective(&self) -> Vec<String> {
        let all_events = "`allEvents` has no effect: --replay shows the events of all calls";
        self.all_events.then(|| all_events.to_owned()).into_iter().collect()
    }
}

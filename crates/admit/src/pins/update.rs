//! Updates pins from an admission or from a person's acceptance. Pins change in no other way.

use std::collections::{BTreeMap, HashSet};

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use serde::Serialize;

use super::{PendingDefinition, PinBaseline, PinSet, PinState, ToolPin};
use crate::{Admission, ChangeClass, ToolAdmission, ToolStatus};

/// Maximum blocked definitions kept per tool.
const MAX_BLOCKED: usize = 4;

/// A definition that a person accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AcceptedDefinition {
    pub upstream: String,
    pub tool: String,
    /// Digest of the replaced baseline, if there was one.
    pub from: Option<String>,
    /// Digest of the accepted definition.
    pub to: String,
    pub class: Vec<ChangeClass>,
}

impl PinSet {
    /// Returns the pins updated by an admission, or `None` if they are unchanged.
    ///
    /// An admitted definition becomes the baseline. A quarantined one is recorded as pending, so that a person can
    /// accept exactly the definition that was seen; if the server reverts it, it moves to the blocked ones. A removed
    /// tool keeps its baseline. Tools that are refused or not allowed count as present, and their baseline is
    /// unchanged.
    #[must_use]
    pub fn update(&self, admission: &Admission, now: Timestamp) -> Option<Self> {
        let now = truncate_to_seconds(now);
        let mut pins = self.clone();
        let tools = &mut pins.upstreams.entry(admission.upstream.clone()).or_default().tools;
        let mut offered = HashSet::new();
        for tool in &admission.tools {
            offered.insert(tool.name.as_str());
            match tool.state {
                ToolStatus::Ready | ToolStatus::Overlaid => pin_admitted(tools, tool, now),
                ToolStatus::Quarantined => pin_pending(tools, tool, now),
                // The pending definition is no longer offered.
                ToolStatus::Refused => withdraw_pending(tools, &tool.name),
                ToolStatus::NotAllowed => {}
            }
        }
        for (name, pin) in tools.iter_mut() {
            if !offered.contains(name.as_str()) && pin.state == PinState::Admitted {
                pin.state = PinState::Removed;
            }
        }
        (pins != *self).then_some(pins)
    }

    /// Makes pending definitions the baseline, for one tool or for all tools of the upstream. Returns what was
    /// accepted.
    pub fn accept_pending(
        &mut self,
        upstream: &str,
        tool: Option<&str>,
        now: Timestamp,
    ) -> Vec<AcceptedDefinition> {
        let now = truncate_to_seconds(now);
        let Some(pins) = self.upstreams.get_mut(upstream) else { return Vec::new() };
        let chosen =
            pins.tools.iter_mut().filter(|(name, _)| tool.is_none_or(|tool| tool == name.as_str()));
        let mut accepted = Vec::new();
        for (name, pin) in chosen {
            let Some(pending) = pin.pending.take() else { continue };
            accepted.push(AcceptedDefinition {
                upstream: upstream.to_owned(),
                tool: name.clone(),
                from: pin.baseline.as_ref().map(|baseline| baseline.digest.clone()),
                to: pending.digest.clone(),
                class: pending.class.into_iter().collect(),
            });
            if pin.state == PinState::New {
                pin.state = PinState::Admitted;
            }
            pin.blocked.retain(|blocked| blocked.digest != pending.digest);
            pin.baseline = Some(PinBaseline {
                digest: pending.digest,
                admitted: now,
                definition: pending.definition,
            });
        }
        accepted
    }
}

fn pin_admitted(tools: &mut BTreeMap<String, ToolPin>, tool: &ToolAdmission, now: Timestamp) {
    let baseline = || PinBaseline {
        digest: tool.digest.clone(),
        admitted: now,
        definition: (*tool.upstream).clone(),
    };
    let pin = tools.entry(tool.name.clone()).or_insert_with(|| ToolPin {
        state: PinState::Admitted,
        baseline: Some(baseline()),
        overlay: None,
        pending: None,
        blocked: Vec::new(),
    });
    if pin.baseline.as_ref().is_none_or(|old| old.digest != tool.digest) {
        pin.baseline = Some(baseline());
    }
    pin.state = PinState::Admitted;
    pin.overlay.clone_from(&tool.overlay);
    pin.block_pending();
    pin.blocked.retain(|blocked| blocked.digest != tool.digest);
}

fn pin_pending(tools: &mut BTreeMap<String, ToolPin>, tool: &ToolAdmission, now: Timestamp) {
    let pin = tools.entry(tool.name.clone()).or_insert_with(|| ToolPin {
        state: PinState::New,
        baseline: None,
        overlay: None,
        pending: None,
        blocked: Vec::new(),
    });
    if pin.state == PinState::Removed {
        pin.state = PinState::Admitted;
    }
    if pin.pending.as_ref().is_some_and(|pending| pending.digest == tool.digest) {
        return;
    }
    pin.block_pending();
    pin.pending = Some(PendingDefinition {
        digest: tool.digest.clone(),
        class: tool.change.iter().flat_map(|change| change.classes.iter().copied()).collect(),
        seen: now,
        definition: (*tool.upstream).clone(),
    });
}

fn withdraw_pending(tools: &mut BTreeMap<String, ToolPin>, name: &str) {
    // A tool that was never admitted keeps its pending definition, or it could reappear unnoticed.
    if let Some(pin) = tools.get_mut(name).filter(|pin| pin.baseline.is_some()) {
        pin.block_pending();
        pin.state = PinState::Admitted;
    }
}

impl ToolPin {
    /// Moves the pending definition, which is no longer offered, to the blocked ones.
    fn block_pending(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        self.blocked.retain(|blocked| blocked.digest != pending.digest);
        self.blocked.push(pending);
        let excess = self.blocked.len().saturating_sub(MAX_BLOCKED);
        self.blocked.drain(..excess);
    }
}

/// Truncates a time to whole seconds, to keep the lock file readable.
fn truncate_to_seconds(time: Timestamp) -> Timestamp {
    time.round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc)).unwrap_or(time)
}

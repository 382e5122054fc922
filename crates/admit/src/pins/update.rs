//! How pins change: by what admission let in, and by what a person accepts. In no other way.

use std::collections::{BTreeMap, HashSet};

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use serde::Serialize;

use super::{Baseline, Pending, Pin, PinState, Pins};
use crate::{Admission, ChangeClass, Judged, State};

/// Blocked definitions that are kept of one tool.
const MAX_BLOCKED: usize = 4;

/// A definition that a person let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Accepted {
    pub upstream: String,
    pub tool: String,
    /// What it replaces, if anything was admitted before.
    pub from: Option<String>,
    pub to: String,
    pub class: Vec<ChangeClass>,
}

impl Pins {
    /// The pins after this list; `None` if they stay the same.
    ///
    /// What was admitted becomes the baseline. What was quarantined is kept as pending beside it, so that a person can
    /// accept exactly what was seen; taken back, it waits no more but is remembered. A tool that is gone keeps its baseline; one that is refused or left out by the
    /// operator is there, and changes nothing.
    #[must_use]
    pub fn update(&self, admission: &Admission, now: Timestamp) -> Option<Self> {
        let now = to_the_second(now);
        let mut pins = self.clone();
        let tools = &mut pins.upstreams.entry(admission.upstream.clone()).or_default().tools;
        let mut offered = HashSet::new();
        for tool in &admission.tools {
            offered.insert(tool.name.as_str());
            match tool.state {
                State::Ready | State::Overlaid => admit(tools, tool, now),
                State::Quarantined => hold(tools, tool, now),
                // The offer that waited is made no more.
                State::Refused => withdraw(tools, &tool.name),
                State::NotAllowed => {}
            }
        }
        for (name, pin) in tools.iter_mut() {
            if !offered.contains(name.as_str()) && pin.state == PinState::Admitted {
                pin.state = PinState::Removed;
            }
        }
        (pins != *self).then_some(pins)
    }

    /// Makes what is pending the baseline: of one tool, or of all tools of the upstream.
    pub fn accept(&mut self, upstream: &str, tool: Option<&str>, now: Timestamp) -> Vec<Accepted> {
        let now = to_the_second(now);
        let Some(pins) = self.upstreams.get_mut(upstream) else { return Vec::new() };
        let chosen =
            pins.tools.iter_mut().filter(|(name, _)| tool.is_none_or(|tool| tool == name.as_str()));
        let mut accepted = Vec::new();
        for (name, pin) in chosen {
            let Some(pending) = pin.pending.take() else { continue };
            accepted.push(Accepted {
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
            pin.baseline = Some(Baseline {
                digest: pending.digest,
                admitted: now,
                definition: pending.definition,
            });
        }
        accepted
    }
}

fn admit(tools: &mut BTreeMap<String, Pin>, tool: &Judged, now: Timestamp) {
    let baseline = || Baseline {
        digest: tool.digest.clone(),
        admitted: now,
        definition: (*tool.upstream).clone(),
    };
    let pin = tools.entry(tool.name.clone()).or_insert_with(|| Pin {
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
    pin.take_back();
    pin.blocked.retain(|blocked| blocked.digest != tool.digest);
}

fn hold(tools: &mut BTreeMap<String, Pin>, tool: &Judged, now: Timestamp) {
    let pin = tools.entry(tool.name.clone()).or_insert_with(|| Pin {
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
    pin.take_back();
    pin.pending = Some(Pending {
        digest: tool.digest.clone(),
        class: tool.change.iter().flat_map(|change| change.classes.iter().copied()).collect(),
        seen: now,
        definition: (*tool.upstream).clone(),
    });
}

fn withdraw(tools: &mut BTreeMap<String, Pin>, name: &str) {
    // A tool that was never admitted keeps its place, or it would come back unseen.
    if let Some(pin) = tools.get_mut(name).filter(|pin| pin.baseline.is_some()) {
        pin.take_back();
        pin.state = PinState::Admitted;
    }
}

impl Pin {
    /// What waits is offered no more; that it was is remembered.
    fn take_back(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        self.blocked.retain(|blocked| blocked.digest != pending.digest);
        self.blocked.push(pending);
        let excess = self.blocked.len().saturating_sub(MAX_BLOCKED);
        self.blocked.drain(..excess);
    }
}

/// A lock is read by people; fractions of seconds only make it longer.
fn to_the_second(time: Timestamp) -> Timestamp {
    time.round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc)).unwrap_or(time)
}

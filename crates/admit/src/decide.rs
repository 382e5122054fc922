//! The state of each tool: what the rules say, and whether it is what was admitted before.
//!
//! A change that is not let pass goes before a broken rule, so that the change is shown and kept; a broken rule goes
//! before the question whether a new tool may come in.

use std::collections::HashSet;

use crate::copies::Originals;
use crate::pins::UpstreamPins;
use crate::reason::{Found, Id, quoted};
use crate::{Change, Judged, Mode, Pin, PinState, Pins, Policy, State, Upstream, classify};

/// Definitions that the lock holds for one upstream, those of tools that are gone included. Nothing is ever pushed out
/// of it, or a server could make a baseline disappear; so new tools are refused when it is full.
const MAX_PINS: usize = 20_000;

pub(crate) struct Decider<'a> {
    upstream: &'a Upstream,
    policy: &'a Policy,
    /// None before the first list of this upstream was pinned.
    pinned: Option<&'a UpstreamPins>,
    originals: Originals<'a>,
}

enum Verdict {
    Admitted(Option<Found>),
    Quarantined(Found),
    Refused(Found),
}

impl<'a> Decider<'a> {
    pub(crate) fn new(
        upstream: &'a Upstream,
        pins: &'a Pins,
        policy: &'a Policy,
        judged: &[Judged],
    ) -> Self {
        let pinned = pins.upstream(&upstream.name);
        let offered: std::collections::HashMap<&str, &Judged> =
            judged.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        // A definition that is or was quarantined, or is gone: what a renamed copy would be a copy of.
        let suspects = pinned.into_iter().flat_map(|pinned| &pinned.tools).filter(|(name, pin)| {
            let now = offered.get(name.as_str());
            let is_changed =
                |now: &&Judged| pin.baseline.as_ref().is_none_or(|old| old.digest != now.digest);
            pin.pending.is_some() || !pin.blocked.is_empty() || now.is_none_or(is_changed)
        });
        let mut originals = Originals::default();
        // Only a tool that nobody has seen can be a copy; most lists have none.
        if has_news(pinned, judged) {
            for (name, pin) in suspects {
                originals.add(name, pin, offered.get(name.as_str()).map(|now| &*now.upstream));
            }
        }
        Self { upstream, policy, pinned, originals }
    }

    pub(crate) fn decide(&self, judged: &mut [Judged]) {
        let mut room = MAX_PINS.saturating_sub(self.pinned.map_or(0, |pinned| pinned.tools.len()));
        for tool in judged {
            if !tool.is_open() {
                continue;
            }
            let is_broken = tool.reasons.iter().any(|reason| reason.refuses(self.policy.mode));
            let (verdict, change) = self.compare(tool, is_broken, &mut room);
            tool.change = change;
            let (state, found) = match verdict {
                Verdict::Quarantined(found) => (State::Quarantined, Some(found)),
                Verdict::Refused(found) => (State::Refused, Some(found)),
                Verdict::Admitted(found) if is_broken => (State::Refused, found),
                Verdict::Admitted(found) if tool.overlay.is_some() => (State::Overlaid, found),
                Verdict::Admitted(found) => (State::Ready, found),
            };
            tool.state = state;
            tool.reasons.extend(found.map(|found| found.into_reason(self.upstream, &tool.name)));
            tool.reasons.sort_by_key(|reason| reason.severity);
            if matches!(state, State::Refused | State::Quarantined) {
                tool.observed = self.policy.mode == Mode::Observe && tool.contract.is_some();
                if !tool.observed {
                    tool.contract = None;
                }
            }
        }
    }

    fn compare(
        &self,
        tool: &Judged,
        is_broken: bool,
        room: &mut usize,
    ) -> (Verdict, Option<Change>) {
        let Some(pinned) = self.pinned else { return (Verdict::Admitted(None), None) };
        match pinned.tools.get(&tool.name) {
            Some(Pin { baseline: Some(baseline), .. }) => {
                if baseline.digest == tool.digest {
                    return (Verdict::Admitted(None), None);
                }
                let Some(change) = classify(&baseline.definition, &tool.upstream) else {
                    return (Verdict::Admitted(None), None);
                };
                let what = change.summary();
                let since = baseline.admitted;
                let verdict = if self.policy.lets_pass(&change) {
                    let message = format!("changed since it was admitted on {since}: {what}");
                    Verdict::Admitted(Some(Found::new(Id::AllowedChange, "", message)))
                } else {
                    let message = format!(
                        "the definition is not the one that was admitted on {since}: {what}"
                    );
                    Verdict::Quarantined(Found::new(Id::Changed, "", message))
                };
                (verdict, Some(change))
            }
            // Once quarantined, it stays so until a person has looked, whatever made it suspect.
            Some(Pin { state: PinState::New, .. }) if !is_broken => {
                (Verdict::Quarantined(self.waiting(tool)), None)
            }
            Some(_) => (Verdict::Admitted(None), None),
            None if is_broken => (Verdict::Admitted(None), None),
            None => self.judge_new(tool, room),
        }
    }

    fn judge_new(&self, tool: &Judged, room: &mut usize) -> (Verdict, Option<Change>) {
        if *room == 0 {
            let message = format!("the lock holds {MAX_PINS} definitions of this upstream already");
            return (Verdict::Refused(Found::new(Id::TooMany, "", message)), None);
        }
        *room -= 1;
        if let Some((original, change)) = self.originals.of(tool)
            && !change.as_ref().is_some_and(|change| self.policy.lets_pass(change))
        {
            let what = change.as_ref().map_or_else(|| "unchanged".to_owned(), Change::summary);
            let message = format!(
                "a copy of {} under another name ({what}), and that one is or was quarantined, or is gone",
                quoted(original)
            );
            return (Verdict::Quarantined(Found::new(Id::Copy, "", message)), change);
        }
        if self.policy.mode == Mode::Strict || self.policy.hold_new {
            return (Verdict::Quarantined(self.waiting(tool)), None);
        }
        (Verdict::Admitted(None), None)
    }

    fn waiting(&self, tool: &Judged) -> Found {
        let message = format!(
            "{} came after this upstream was pinned, and nobody has accepted it",
            quoted(&tool.name)
        );
        Found::new(Id::New, "", message)
    }
}

fn has_news(pinned: Option<&UpstreamPins>, judged: &[Judged]) -> bool {
    let Some(pinned) = pinned else { return false };
    let known: HashSet<&str> = pinned.tools.keys().map(String::as_str).collect();
    judged.iter().any(|tool| tool.is_open() && !known.contains(tool.name.as_str()))
}

//! Decides the status of each tool from its findings and its pin.
//!
//! A blocked change takes precedence over a rule violation, so that the change is shown and recorded. A rule violation
//! takes precedence over the check for new tools.

use std::collections::HashSet;

use crate::copies::OriginalIndex;
use crate::pins::UpstreamPins;
use crate::reason::{AdmissionFinding, AdmissionRuleId, quote_name};
use crate::{
    AdmissionMode, AdmissionPolicy, PinSet, PinState, ToolAdmission, ToolDefinitionChange, ToolPin,
    ToolStatus, UpstreamIdentity, classify_change,
};

/// Maximum pinned definitions of one upstream, including removed tools. Pins are never evicted, because a server could
/// then make a baseline disappear. New tools are refused once the limit is reached.
const MAX_PINS: usize = 20_000;

pub(crate) struct AdmissionDecider<'a> {
    upstream: &'a UpstreamIdentity,
    policy: &'a AdmissionPolicy,
    /// `None` until the first list of this upstream has been pinned.
    pinned: Option<&'a UpstreamPins>,
    originals: OriginalIndex<'a>,
}

enum PinVerdict {
    Admitted(Option<AdmissionFinding>),
    Quarantined(AdmissionFinding),
    Refused(AdmissionFinding),
}

impl<'a> AdmissionDecider<'a> {
    pub(crate) fn new(
        upstream: &'a UpstreamIdentity,
        pins: &'a PinSet,
        policy: &'a AdmissionPolicy,
        tools: &[ToolAdmission],
    ) -> Self {
        let pinned = pins.upstream(&upstream.name);
        let offered: std::collections::HashMap<&str, &ToolAdmission> =
            tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        // Possible originals of a renamed copy: tools that are or were quarantined, or that were removed.
        let suspects = pinned.into_iter().flat_map(|pinned| &pinned.tools).filter(|(name, pin)| {
            let now = offered.get(name.as_str());
            let is_changed = |now: &&ToolAdmission| {
                pin.baseline.as_ref().is_none_or(|old| old.digest != now.digest)
            };
            pin.pending.is_some() || !pin.blocked.is_empty() || now.is_none_or(is_changed)
        });
        let mut originals = OriginalIndex::default();
        // Only an unpinned tool can be a copy, and most lists have none.
        if has_unpinned_tool(pinned, tools) {
            for (name, pin) in suspects {
                originals.add_pin(name, pin, offered.get(name.as_str()).map(|now| &*now.upstream));
            }
        }
        Self { upstream, policy, pinned, originals }
    }

    pub(crate) fn decide_statuses(&self, tools: &mut [ToolAdmission]) {
        let mut room = MAX_PINS.saturating_sub(self.pinned.map_or(0, |pinned| pinned.tools.len()));
        for tool in tools {
            if !tool.is_assessed() {
                continue;
            }
            let is_broken = tool.reasons.iter().any(|reason| reason.refuses_tool(self.policy.mode));
            let (verdict, change) = self.compare_with_pin(tool, is_broken, &mut room);
            tool.change = change;
            let (state, found) = match verdict {
                PinVerdict::Quarantined(found) => (ToolStatus::Quarantined, Some(found)),
                PinVerdict::Refused(found) => (ToolStatus::Refused, Some(found)),
                PinVerdict::Admitted(found) if is_broken => (ToolStatus::Refused, found),
                PinVerdict::Admitted(found) if tool.overlay.is_some() => {
                    (ToolStatus::Overlaid, found)
                }
                PinVerdict::Admitted(found) => (ToolStatus::Ready, found),
            };
            tool.state = state;
            tool.reasons.extend(found.map(|found| found.into_reason(self.upstream, &tool.name)));
            tool.reasons.sort_by_key(|reason| reason.severity);
            if matches!(state, ToolStatus::Refused | ToolStatus::Quarantined) {
                tool.observed =
                    self.policy.mode == AdmissionMode::Observe && tool.contract.is_some();
                if !tool.observed {
                    tool.contract = None;
                }
            }
        }
    }

    fn compare_with_pin(
        &self,
        tool: &ToolAdmission,
        is_broken: bool,
        room: &mut usize,
    ) -> (PinVerdict, Option<ToolDefinitionChange>) {
        let Some(pinned) = self.pinned else { return (PinVerdict::Admitted(None), None) };
        match pinned.tools.get(&tool.name) {
            Some(ToolPin { baseline: Some(baseline), .. }) => {
                if baseline.digest == tool.digest {
                    return (PinVerdict::Admitted(None), None);
                }
                let Some(change) = classify_change(&baseline.definition, &tool.upstream) else {
                    return (PinVerdict::Admitted(None), None);
                };
                let classes = change.summary();
                let since = baseline.admitted;
                let verdict = if self.policy.allows_change(&change) {
                    let message = format!("changed since it was admitted on {since}: {classes}");
                    PinVerdict::Admitted(Some(AdmissionFinding::new(
                        AdmissionRuleId::AllowedChange,
                        "",
                        message,
                    )))
                } else {
                    let message = format!(
                        "the definition changed since it was admitted on {since}: {classes}"
                    );
                    PinVerdict::Quarantined(AdmissionFinding::new(
                        AdmissionRuleId::Changed,
                        "",
                        message,
                    ))
                };
                (verdict, Some(change))
            }
            // A new tool stays quarantined until it is accepted, even if the cause of the quarantine disappears.
            Some(ToolPin { state: PinState::New, .. }) if !is_broken => {
                (PinVerdict::Quarantined(self.unaccepted_finding(tool)), None)
            }
            Some(_) => (PinVerdict::Admitted(None), None),
            None if is_broken => (PinVerdict::Admitted(None), None),
            None => self.check_new_tool(tool, room),
        }
    }

    fn check_new_tool(
        &self,
        tool: &ToolAdmission,
        room: &mut usize,
    ) -> (PinVerdict, Option<ToolDefinitionChange>) {
        if *room == 0 {
            let message =
                format!("the lock file already contains {MAX_PINS} definitions of this upstream");
            return (
                PinVerdict::Refused(AdmissionFinding::new(AdmissionRuleId::TooMany, "", message)),
                None,
            );
        }
        *room -= 1;
        if let Some((original, change)) = self.originals.find_original(tool)
            && !change.as_ref().is_some_and(|change| self.policy.allows_change(change))
        {
            let classes = change
                .as_ref()
                .map_or_else(|| "unchanged".to_owned(), ToolDefinitionChange::summary);
            let message = format!(
                "renamed copy ({classes}) of {}, which was quarantined or removed",
                quote_name(original)
            );
            return (
                PinVerdict::Quarantined(AdmissionFinding::new(AdmissionRuleId::Copy, "", message)),
                change,
            );
        }
        if self.policy.mode == AdmissionMode::Strict || self.policy.hold_new {
            return (PinVerdict::Quarantined(self.unaccepted_finding(tool)), None);
        }
        (PinVerdict::Admitted(None), None)
    }

    /// Returns the finding for a new tool that has not been accepted.
    fn unaccepted_finding(&self, tool: &ToolAdmission) -> AdmissionFinding {
        let message = format!(
            "{} appeared after this upstream was pinned and has not been accepted",
            quote_name(&tool.name)
        );
        AdmissionFinding::new(AdmissionRuleId::New, "", message)
    }
}

/// Returns true if the list has an assessed tool without a pin.
fn has_unpinned_tool(pinned: Option<&UpstreamPins>, tools: &[ToolAdmission]) -> bool {
    let Some(pinned) = pinned else { return false };
    let known: HashSet<&str> = pinned.tools.keys().map(String::as_str).collect();
    tools.iter().any(|tool| tool.is_assessed() && !known.contains(tool.name.as_str()))
}

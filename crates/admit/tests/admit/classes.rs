//! Tests every change of the classification table in every mode and under every policy.

use std::collections::{BTreeMap, BTreeSet};

use admit::{
    AdmissionMode, AdmissionPolicy, ChangeClass, PinSet, PinState, ToolStatus, UpstreamIdentity,
    admit_tools, classify_change, readmit_tools,
};
use serde_json::Value;

use crate::changes::change_table;
use crate::{admit_in_mode, clean_tool, time_at, with_value};

const MODES: [AdmissionMode; 3] =
    [AdmissionMode::Default, AdmissionMode::Strict, AdmissionMode::Observe];

/// Returns all classes. A new class does not compile until it is added.
fn all_classes() -> Vec<ChangeClass> {
    let next = |class| match class {
        ChangeClass::Descriptive => Some(ChangeClass::Additive),
        ChangeClass::Additive => Some(ChangeClass::Breaking),
        ChangeClass::Breaking => Some(ChangeClass::Annotation),
        ChangeClass::Annotation => Some(ChangeClass::Instruction),
        ChangeClass::Instruction => None,
    };
    std::iter::successors(Some(ChangeClass::Descriptive), |class| next(*class)).collect()
}

/// Returns the policies that matter for a change: nothing allowed, all allowed, all but one, and just its own classes.
fn policies_for(classes: &[ChangeClass]) -> Vec<BTreeSet<ChangeClass>> {
    let all: BTreeSet<ChangeClass> = all_classes().into_iter().collect();
    let mut policies = vec![BTreeSet::new(), all.clone(), classes.iter().copied().collect()];
    policies.extend(all.iter().map(|class| &all - &BTreeSet::from([*class])));
    policies
}

/// Returns the changed definitions of the table with their classes.
fn changed_definitions() -> Vec<(Value, Vec<ChangeClass>)> {
    let old = clean_tool("read");
    let changed = change_table().into_iter().map(|(at, value)| with_value(old.clone(), at, value));
    let classified = changed.map(|new| {
        let change = classify_change(&old, &new).expect("the definitions differ");
        (new, change.classes)
    });
    classified.collect()
}

#[test]
fn table_has_every_class_alone() {
    let changes = changed_definitions();
    for class in all_classes() {
        let is_alone = |classes: &[ChangeClass]| match class {
            // New instructions are in a changed text, which has a class of its own.
            ChangeClass::Instruction => classes == [ChangeClass::Descriptive, class],
            _ => classes == [class],
        };
        assert!(changes.iter().any(|(_, classes)| is_alone(classes)), "{class}");
    }
}

/// A change is admitted if the policy names all of its classes and it gives no new instructions. Otherwise it is
/// quarantined, and recorded as pending.
#[test]
fn every_change_is_decided_by_mode_and_policy() {
    let upstream = UpstreamIdentity::new("files");
    let none = BTreeMap::new();
    for mode in MODES {
        let first = admit_in_mode(mode, &[clean_tool("read")], &PinSet::default());
        assert_eq!(first.tools[0].state, ToolStatus::Ready);
        let pins = PinSet::default().update(&first, time_at(0)).expect("the first pins");
        for (new, classes) in changed_definitions() {
            let list = std::slice::from_ref(&new);
            // Whether the definition itself violates a rule in this mode.
            let alone = admit_in_mode(mode, list, &PinSet::default());
            let is_broken = alone.tools[0].state == ToolStatus::Refused;
            let mut before = alone;
            for allowed in policies_for(&classes) {
                let policy = AdmissionPolicy {
                    allow_changes: allowed.clone(),
                    ..AdmissionPolicy::new(mode)
                };
                before = readmit_tools(&before, &upstream, list, &none, &pins, &policy);
                let tool = &before.tools[0];
                let message = format!("{mode:?}, {allowed:?} allowed: {classes:?} in {new}");
                let may_pass = !classes.contains(&ChangeClass::Instruction)
                    && classes.iter().all(|class| allowed.contains(class));
                let state = match (may_pass, is_broken) {
                    (false, _) => ToolStatus::Quarantined,
                    (true, true) => ToolStatus::Refused,
                    (true, false) => ToolStatus::Ready,
                };
                assert_eq!(tool.state, state, "{message}");
                assert_eq!(tool.change.as_ref().expect("a change").classes, classes, "{message}");
                let rule = if may_pass { "A008" } else { "A005" };
                assert!(tool.reasons.iter().any(|reason| reason.rule == rule), "{message}");
                let is_observed = mode == AdmissionMode::Observe && state != ToolStatus::Ready;
                assert_eq!(tool.observed, is_observed && tool.can_run(), "{message}");
                if state != ToolStatus::Ready && mode != AdmissionMode::Observe {
                    assert!(!tool.can_run(), "{message}");
                }
                let after = pins.update(&before, time_at(1)).unwrap_or_else(|| pins.clone());
                let pin = after.pin("files", "read").expect("the tool is pinned");
                let baseline = &pin.baseline.as_ref().expect("a baseline").definition;
                let is_new = state == ToolStatus::Ready;
                assert_eq!(*baseline, if is_new { new.clone() } else { clean_tool("read") });
                assert_eq!(pin.state, PinState::Admitted, "{message}");
                let pending = pin.pending.as_ref().map(|pending| {
                    (pending.definition.clone(), pending.class.iter().copied().collect())
                });
                let is_pending = state == ToolStatus::Quarantined;
                assert_eq!(
                    pending,
                    is_pending.then(|| (new.clone(), classes.clone())),
                    "{message}"
                );
            }
        }
    }
}

/// No policy lets a change through in a later listing either: each listing is compared with the baseline.
#[test]
fn repeated_change_stays_quarantined() {
    let upstream = UpstreamIdentity::new("files");
    let policy = AdmissionPolicy::default();
    let first = admit_in_mode(policy.mode, &[clean_tool("read")], &PinSet::default());
    let first = PinSet::default().update(&first, time_at(0)).expect("the first pins");
    for (new, classes) in changed_definitions() {
        let mut pins = first.clone();
        for second in 1..4 {
            let list = std::slice::from_ref(&new);
            let admission = admit_tools(&upstream, list, &BTreeMap::new(), &pins, &policy);
            assert_eq!(admission.tools[0].state, ToolStatus::Quarantined, "{classes:?}");
            pins = pins.update(&admission, time_at(second)).unwrap_or(pins);
            let pin = pins.pin("files", "read").expect("the tool is pinned");
            assert_eq!(pin.pending.as_ref().expect("a pending change").seen, time_at(1));
        }
    }
}

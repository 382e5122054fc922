//! The constraints of a stranger's tool: a server gives hints, the operator gives limits.
//!
//! Hints come from a server that nobody has to trust, so they never lift a limit: rate, time, sizes and approval are
//! the same whatever they say. They do decide what clients are told, and whether an audit line is awaited before the
//! answer (it is for tools that change something). Whoever cannot accept a server's word for that sets `sideEffects` in
//! the overlay.

use std::time::Duration;

use contract::{Constraints, SideEffects};
use serde_json::{Map, Value};

use crate::Limits;

const RATE_PER_MINUTE: u32 = 600;
const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_INPUT_BYTES: usize = 1024 * 1024;
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

fn hint(annotations: &Map<String, Value>, name: &str) -> Option<bool> {
    annotations.get(name).and_then(Value::as_bool)
}

/// The constraints that follow from hints, with MCP's own defaults: what is not said is assumed to be the worst.
fn hinted(annotations: &Map<String, Value>) -> Constraints {
    let reads = hint(annotations, "readOnlyHint") == Some(true);
    let destroys = hint(annotations, "destructiveHint");
    let side_effects = match (reads, destroys) {
        // Both at once contradict each other: the worse one counts.
        (true, None | Some(false)) => SideEffects::None,
        (false, Some(false)) => SideEffects::Append,
        _ => SideEffects::Write,
    };
    Constraints {
        access: "decided by the server".into(),
        side_effects,
        approval: false,
        rate_per_minute: RATE_PER_MINUTE,
        timeout: TIMEOUT,
        max_input_bytes: MAX_INPUT_BYTES,
        max_output_bytes: MAX_OUTPUT_BYTES,
        idempotent: hint(annotations, "idempotentHint")
            .unwrap_or(side_effects == SideEffects::None),
        open_world: hint(annotations, "openWorldHint").unwrap_or(true),
        audit_values: false,
        rules: Vec::new(),
    }
}

/// The effective constraints, and the hints to judge them by: the server's, but those that the operator has decided.
pub(crate) fn effective(
    hints: Option<&Map<String, Value>>,
    limits: Option<&Limits>,
    overlaid: Option<&Map<String, Value>>,
) -> (Constraints, Map<String, Value>) {
    let mut hints = hints.cloned().unwrap_or_default();
    let decided = |limits: &Limits| {
        let mut names = Vec::new();
        if limits.side_effects.is_some() {
            names.extend(["readOnlyHint", "destructiveHint"]);
        }
        names.extend(limits.idempotent.map(|_| "idempotentHint"));
        names.extend(limits.open_world.map(|_| "openWorldHint"));
        names
    };
    for name in limits.map(decided).unwrap_or_default() {
        hints.remove(name);
    }
    for (name, value) in overlaid.into_iter().flatten() {
        hints.insert(name.clone(), value.clone());
    }
    let mut constraints = hinted(&hints);
    if let Some(limits) = limits {
        apply(limits, &mut constraints);
        if limits.idempotent.is_none() && hint(&hints, "idempotentHint").is_none() {
            constraints.idempotent = constraints.side_effects == SideEffects::None;
        }
    }
    (constraints, hints)
}

fn apply(limits: &Limits, to: &mut Constraints) {
    fn set<T: Clone>(from: &Option<T>, to: &mut T) {
        if let Some(value) = from {
            to.clone_from(value);
        }
    }
    set(&limits.rate_per_minute, &mut to.rate_per_minute);
    set(&limits.timeout_ms.map(Duration::from_millis), &mut to.timeout);
    set(&limits.max_input_bytes, &mut to.max_input_bytes);
    set(&limits.max_output_bytes, &mut to.max_output_bytes);
    set(&limits.approval, &mut to.approval);
    set(&limits.side_effects, &mut to.side_effects);
    set(&limits.idempotent, &mut to.idempotent);
    set(&limits.open_world, &mut to.open_world);
    set(&limits.access, &mut to.access);
    set(&limits.audit_values, &mut to.audit_values);
    set(&limits.rules, &mut to.rules);
}

/// What clients are told: the hints that follow from the constraints, and whatever else the annotations held.
pub(crate) fn annotations(
    constraints: &Constraints,
    hints: &Map<String, Value>,
) -> Map<String, Value> {
    let mut told = constraints.annotations();
    if let Some(title) = hints.get("title").filter(|title| title.is_string()) {
        told.insert("title".into(), title.clone());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_said_is_assumed_to_be_the_worst() {
        let of = |hints: Value| hinted(hints.as_object().expect("an object"));
        let silent = of(json!({}));
        assert_eq!(silent.side_effects, SideEffects::Write);
        assert!(silent.open_world && !silent.idempotent && !silent.approval);
        let table = [
            (json!({"readOnlyHint": true}), SideEffects::None),
            (json!({"readOnlyHint": false}), SideEffects::Write),
            (json!({"destructiveHint": false}), SideEffects::Append),
            (json!({"destructiveHint": true}), SideEffects::Write),
            (json!({"readOnlyHint": true, "destructiveHint": false}), SideEffects::None),
            (json!({"readOnlyHint": true, "destructiveHint": true}), SideEffects::Write),
            (json!({"readOnlyHint": "true"}), SideEffects::Write),
        ];
        for (hints, expected) in table {
            assert_eq!(of(hints.clone()).side_effects, expected, "{hints}");
        }
    }

    #[test]
    fn no_hint_lifts_a_limit() {
        let silent = hinted(&Map::new());
        let told = hinted(
            json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false})
                .as_object()
                .expect("an object"),
        );
        let limits = |c: &Constraints| {
            (c.approval, c.rate_per_minute, c.timeout, c.max_input_bytes, c.max_output_bytes)
        };
        assert_eq!(limits(&silent), limits(&told));
    }
}

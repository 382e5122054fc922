//! Constraints of an upstream tool, from the server's hints and the operator's limits.
//!
//! Hints come from an untrusted server, so they never lift a limit: rate, timeout, sizes and approval do not depend on
//! them. Hints do determine the published annotations, and whether an audit record is awaited before the answer (it is
//! for tools with side effects). Operators who do not trust the hints set `sideEffects` in the overlay.

use std::time::Duration;

use contract::{Constraints, SideEffects};
use serde_json::{Map, Value};

use crate::OverlayLimits;

const RATE_PER_MINUTE: u32 = 600;
const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_INPUT_BYTES: usize = 1024 * 1024;
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

fn read_hint(annotations: &Map<String, Value>, name: &str) -> Option<bool> {
    annotations.get(name).and_then(Value::as_bool)
}

/// Returns the constraints that follow from hints. Missing hints take MCP's defaults, which assume the worst.
fn constraints_from_hints(annotations: &Map<String, Value>) -> Constraints {
    let reads = read_hint(annotations, "readOnlyHint") == Some(true);
    let destroys = read_hint(annotations, "destructiveHint");
    let side_effects = match (reads, destroys) {
        // Contradictory hints: the worse one counts.
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
        idempotent: read_hint(annotations, "idempotentHint")
            .unwrap_or(side_effects == SideEffects::None),
        open_world: read_hint(annotations, "openWorldHint").unwrap_or(true),
        audit_values: false,
        rules: Vec::new(),
    }
}

/// Returns the effective constraints and the hints to lint them by.
///
/// The hints are the server's, without those that `limits` decides and with those of `overlaid` added.
pub(crate) fn resolve_constraints(
    hints: Option<&Map<String, Value>>,
    limits: Option<&OverlayLimits>,
    overlaid: Option<&Map<String, Value>>,
) -> (Constraints, Map<String, Value>) {
    let mut hints = hints.cloned().unwrap_or_default();
    let decided = |limits: &OverlayLimits| {
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
    let mut constraints = constraints_from_hints(&hints);
    if let Some(limits) = limits {
        apply_limits(limits, &mut constraints);
        if limits.idempotent.is_none() && read_hint(&hints, "idempotentHint").is_none() {
            constraints.idempotent = constraints.side_effects == SideEffects::None;
        }
    }
    (constraints, hints)
}

fn apply_limits(limits: &OverlayLimits, to: &mut Constraints) {
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

/// Returns the annotations to publish: hints derived from the constraints, and the title if there is one.
pub(crate) fn build_annotations(
    constraints: &Constraints,
    hints: &Map<String, Value>,
) -> Map<String, Value> {
    let mut published = constraints.to_annotations();
    if let Some(title) = hints.get("title").filter(|title| title.is_string()) {
        published.insert("title".into(), title.clone());
    }
    published
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_hints_assume_the_worst() {
        let resolve = |hints: Value| constraints_from_hints(hints.as_object().expect("an object"));
        let unhinted = resolve(json!({}));
        assert_eq!(unhinted.side_effects, SideEffects::Write);
        assert!(unhinted.open_world && !unhinted.idempotent && !unhinted.approval);
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
            assert_eq!(resolve(hints.clone()).side_effects, expected, "{hints}");
        }
    }

    #[test]
    fn hints_never_lift_limits() {
        let unhinted = constraints_from_hints(&Map::new());
        let harmless = constraints_from_hints(
            json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false})
                .as_object()
                .expect("an object"),
        );
        let limits = |c: &Constraints| {
            (c.approval, c.rate_per_minute, c.timeout, c.max_input_bytes, c.max_output_bytes)
        };
        assert_eq!(limits(&unhinted), limits(&harmless));
    }
}

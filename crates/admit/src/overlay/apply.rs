//! Applies an overlay to a definition.

use contract::ToolDefinition;
use serde_json::{Map, Value, json};

use super::{Overlay, ResultMode};
use crate::change::schema::compare_schemas;
use crate::limits;
use crate::reason::{AdmissionFinding, AdmissionRuleId};

/// A definition with its overlay and constraints applied.
pub(crate) struct EffectiveDefinition {
    pub(crate) definition: ToolDefinition,
    /// Hints for the linter: the server's own, not those derived from the constraints.
    pub(crate) hints: Option<Map<String, Value>>,
}

/// Returns the definition with constraints, and with the overlay if there is one. `digest` is that of the server's
/// entry.
pub(crate) fn apply_overlay(
    mut definition: ToolDefinition,
    overlay: Option<&Overlay>,
    digest: &str,
    found: &mut Vec<AdmissionFinding>,
) -> EffectiveDefinition {
    let had_hints = definition.annotations.is_some();
    let (constraints, hints) = limits::resolve_constraints(
        definition.annotations.as_ref(),
        overlay.and_then(|overlay| overlay.constraints.as_ref()),
        overlay.and_then(|overlay| overlay.annotations.as_ref()),
    );
    definition.annotations = Some(limits::build_annotations(&constraints, &hints));
    definition.constraints = Some(constraints);
    if let Some(overlay) = overlay {
        check_made_for(overlay, digest, found);
        replace_fields(overlay, &mut definition, found);
    }
    let hints = (had_hints || !hints.is_empty()).then_some(hints);
    EffectiveDefinition { definition, hints }
}

fn check_made_for(overlay: &Overlay, digest: &str, found: &mut Vec<AdmissionFinding>) {
    if let Some(made_for) = overlay.made_for.as_deref().filter(|made_for| *made_for != digest) {
        found.push(AdmissionFinding::new(
            AdmissionRuleId::OverlayForOther,
            "",
            format!(
                "the overlay was written for another definition ({made_for}); the server's is {digest}"
            ),
        ));
    }
}

fn replace_fields(
    overlay: &Overlay,
    definition: &mut ToolDefinition,
    found: &mut Vec<AdmissionFinding>,
) {
    if let Some(title) = &overlay.title {
        definition.title = Some(title.clone());
    }
    if let Some(description) = &overlay.description {
        definition.description = Some(description.clone());
    }
    if let Some(schema) = &overlay.input_schema {
        if let Some(theirs) = &definition.input_schema {
            check_not_wider(theirs, schema, found);
        }
        definition.input_schema = Some(schema.clone());
    }
    if let Some(schema) = &overlay.output_schema {
        definition.output_schema = Some(schema.clone());
    } else if overlay.result == ResultMode::Text && definition.output_schema.is_none() {
        definition.output_schema = Some(text_schema());
    }
    for (parameter, text) in &overlay.parameters {
        let schema = definition.input_schema.as_mut();
        if !schema.is_some_and(|schema| set_description(schema, parameter, text)) {
            found.push(AdmissionFinding::new(
                AdmissionRuleId::OverlayUnknownParameter,
                "/inputSchema",
                format!(
                    "the overlay describes `{parameter}`, which the input schema does not declare"
                ),
            ));
        }
    }
    definition.examples.extend(overlay.examples.iter().cloned());
}

/// Returns the output schema of answers converted by `"result": "text"`.
pub(crate) fn text_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "Text of the answer"}},
        "required": ["text"],
        "additionalProperties": false,
    })
}

fn check_not_wider(theirs: &Value, ours: &Value, found: &mut Vec<AdmissionFinding>) {
    let delta = compare_schemas(theirs, ours);
    if delta.widened || delta.added_to_closed {
        found.push(AdmissionFinding::new(
            AdmissionRuleId::OverlayWiderInput,
            "/inputSchema",
            "the overlay's `inputSchema` accepts arguments that the server's rejects",
        ));
    } else if delta.unknown {
        found.push(AdmissionFinding::new(
            AdmissionRuleId::OverlayOtherInput,
            "/inputSchema",
            "the overlay's `inputSchema` is too different from the server's to compare",
        ));
    }
}

/// Sets the description of a parameter. Returns false if the schema does not declare it.
fn set_description(schema: &mut Value, parameter: &str, text: &str) -> bool {
    let target = if parameter.starts_with('/') {
        schema.pointer_mut(parameter)
    } else {
        schema.get_mut("properties").and_then(|properties| properties.get_mut(parameter))
    };
    match target {
        Some(Value::Object(map)) => {
            map.insert("description".into(), text.into());
            true
        }
        Some(target @ Value::Bool(true)) => {
            *target = json!({"description": text});
            true
        }
        _ => false,
    }
}

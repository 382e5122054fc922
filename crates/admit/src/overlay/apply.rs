//! An overlay laid over a definition.

use contract::Definition;
use serde_json::{Map, Value, json};

use super::{Overlay, ResultMode};
use crate::change::schema::relate;
use crate::limits;
use crate::reason::{Found, Id};

/// A definition with the operator's word in it.
pub(crate) struct Effective {
    pub(crate) definition: Definition,
    /// What the linter judges annotations by: the server's own hints, not those that follow from the constraints.
    pub(crate) hints: Option<Map<String, Value>>,
}

pub(crate) fn apply(
    mut definition: Definition,
    overlay: Option<&Overlay>,
    digest: &str,
    found: &mut Vec<Found>,
) -> Effective {
    let had_hints = definition.annotations.is_some();
    let (constraints, hints) = limits::effective(
        definition.annotations.as_ref(),
        overlay.and_then(|overlay| overlay.constraints.as_ref()),
        overlay.and_then(|overlay| overlay.annotations.as_ref()),
    );
    definition.annotations = Some(limits::annotations(&constraints, &hints));
    definition.constraints = Some(constraints);
    if let Some(overlay) = overlay {
        check_made_for(overlay, digest, found);
        put(overlay, &mut definition, found);
    }
    let hints = (had_hints || !hints.is_empty()).then_some(hints);
    Effective { definition, hints }
}

fn check_made_for(overlay: &Overlay, digest: &str, found: &mut Vec<Found>) {
    if let Some(made_for) = overlay.made_for.as_deref().filter(|made_for| *made_for != digest) {
        found.push(Found::new(
            Id::OverlayForOther,
            "",
            format!(
                "the overlay was written for another definition ({made_for}); the server's is {digest}"
            ),
        ));
    }
}

fn put(overlay: &Overlay, definition: &mut Definition, found: &mut Vec<Found>) {
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
    for (place, text) in &overlay.parameters {
        let schema = definition.input_schema.as_mut();
        if !schema.is_some_and(|schema| describe(schema, place, text)) {
            found.push(Found::new(
                Id::OverlayUnknownParameter,
                "/inputSchema",
                format!("the overlay describes `{place}`, which the input schema does not declare"),
            ));
        }
    }
    definition.examples.extend(overlay.examples.iter().cloned());
}

/// What `"result": "text"` makes of every answer.
pub(crate) fn text_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What the tool answered"}},
        "required": ["text"],
        "additionalProperties": false,
    })
}

fn check_not_wider(theirs: &Value, ours: &Value, found: &mut Vec<Found>) {
    let delta = relate(theirs, ours);
    if delta.widened || delta.added_to_closed {
        found.push(Found::new(
            Id::OverlayWiderInput,
            "/inputSchema",
            "the overlay's `inputSchema` accepts arguments that the server's refuses",
        ));
    } else if delta.unknown {
        found.push(Found::new(
            Id::OverlayOtherInput,
            "/inputSchema",
            "the overlay's `inputSchema` is too different from the server's to compare",
        ));
    }
}

/// Writes a description; false if nothing is declared at that place.
fn describe(schema: &mut Value, place: &str, text: &str) -> bool {
    let target = if place.starts_with('/') {
        schema.pointer_mut(place)
    } else {
        schema.get_mut("properties").and_then(|properties| properties.get_mut(place))
    };
    match target {
        Some(Value::Object(map)) => {
            map.insert("description".into(), text.into());
            true
        }
        Some(place @ Value::Bool(true)) => {
            *place = json!({"description": text});
            true
        }
        _ => false,
    }
}

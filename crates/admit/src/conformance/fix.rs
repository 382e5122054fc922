//! Drafts overlays from definitions alone, and lists what a person has to add.

use std::collections::BTreeMap;

use contract::SideEffects;
use contract::text::one_line;
use serde_json::Value;

use super::{ConformanceReport, ToolReport};
use crate::{AdmissionReason, Overlay, OverlayLimits, ResultMode, digest_definition};

/// A draft overlay for one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlayFix {
    pub overlay: Overlay,
    /// Open tasks for a person, one sentence each, safe to show.
    pub todo: Vec<String>,
}

/// Drafts an overlay for every named tool with something to fix, by tool name.
///
/// A draft holds only what follows from the definition:
///
/// - the digest of the definition;
/// - its title and description, unless those are suspect;
/// - the input schema, closed;
/// - `"result": "text"` if no output is declared, because such a tool answers in text;
/// - the worse of two contradictory hints.
///
/// Descriptions and output schemas are never made up, because they would pass the linter without being true. They are
/// listed in [`OverlayFix::todo`].
pub fn fix_overlays(report: &ConformanceReport) -> BTreeMap<String, OverlayFix> {
    report
        .tools
        .iter()
        .filter(|tool| {
            !tool.findings.is_empty() && !has_finding(tool, &["A001", "A002", "C002", "C003"])
        })
        .map(|tool| (tool.name.clone(), fix_tool(tool)))
        .filter(|(_, fix)| !fix.todo.is_empty() || has_content(&fix.overlay))
        .collect()
}

const TEXT_RULES: &[&str] = &["C022", "C023", "C024"];

fn has_finding(tool: &ToolReport, rules: &[&str]) -> bool {
    tool.findings.iter().any(|finding| rules.contains(&finding.rule))
}

/// Returns true if the overlay has more than the server's own texts.
fn has_content(overlay: &Overlay) -> bool {
    let own = Overlay {
        made_for: overlay.made_for.clone(),
        title: overlay.title.clone(),
        description: overlay.description.clone(),
        ..Overlay::default()
    };
    *overlay != own
}

fn fix_tool(tool: &ToolReport) -> OverlayFix {
    let mut overlay =
        Overlay { made_for: Some(digest_definition(&tool.upstream)), ..Overlay::default() };
    let mut todo = Vec::new();
    let copied = |field: &str, text: &Option<String>| {
        let is_bad = |f: &AdmissionReason| TEXT_RULES.contains(&f.rule) && f.path == field;
        text.clone().filter(|text| !text.trim().is_empty() && !tool.findings.iter().any(is_bad))
    };
    overlay.title = copied("/title", &tool.definition.title);
    overlay.description = copied("/description", &tool.definition.description);
    if has_finding(tool, &["C016"]) {
        overlay.result = ResultMode::Text;
        todo.push(
            "`result` and `outputSchema`: the draft treats answers as plain text; if they are structured, declare a \
             schema or learn it from real calls"
                .into(),
        );
    }
    if has_finding(tool, &["C015"]) && !has_finding(tool, &["C006", "C008", "C009", "C010"]) {
        overlay.input_schema = tool.definition.input_schema.as_ref().and_then(close_schema);
    }
    if has_finding(tool, &["C025"]) {
        overlay.constraints = Some(OverlayLimits {
            side_effects: Some(SideEffects::Write),
            ..OverlayLimits::default()
        });
        todo.push(
            "its hints contradict each other: correct `constraints.sideEffects`, which assumes the worst"
                .into(),
        );
    }
    for finding in &tool.findings {
        let location = one_line(&finding.path);
        match finding.rule {
            "C001" => todo.push("`description`: say what the tool does".into()),
            "C005" => todo.push("`inputSchema`: declare its parameters".into()),
            "C012" => todo.push(match parse_parameter(&finding.path) {
                Some(name) => format!("`parameters`: describe `{}`", one_line(name)),
                None => format!(
                    "`parameters`: describe `{}`",
                    location.trim_start_matches("/inputSchema")
                ),
            }),
            "C017" => todo.push(
                "`outputSchema`: declare the fields of its answers, or learn them from real calls"
                    .into(),
            ),
            rule if TEXT_RULES.contains(&rule) => todo.push(format!(
                "{location}: find out why the server sends this text before you replace it"
            )),
            "C006" | "C007" | "C008" | "C009" | "C010" | "C011" | "C020" | "C021" | "C027" => {
                todo.push(format!("{location}: {}", finding.message));
            }
            _ => {}
        }
    }
    todo.dedup();
    OverlayFix { overlay, todo }
}

/// Returns the name of a top-level parameter.
fn parse_parameter(path: &str) -> Option<&str> {
    path.strip_prefix("/inputSchema/properties/").filter(|name| !name.contains(['/', '~']))
}

/// Returns the schema with its outermost object closed, or `None` if other keywords may add parameters to it.
fn close_schema(schema: &Value) -> Option<Value> {
    let map = schema.as_object()?;
    let composed =
        ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"];
    if composed.iter().any(|keyword| map.contains_key(*keyword)) {
        return None;
    }
    let mut map = map.clone();
    map.insert("additionalProperties".into(), Value::Bool(false));
    Some(map.into())
}

//! Overlays that can be drafted from a definition alone, and what a person has to add.

use std::collections::BTreeMap;

use contract::SideEffects;
use contract::text::one_line;
use serde_json::Value;

use super::{Report, ToolReport};
use crate::{Limits, Overlay, Reason, ResultMode, digest_of};

/// A draft for one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub overlay: Overlay,
    /// What no program can write, one sentence each, safe to show.
    pub todo: Vec<String>,
}

/// Drafts for every tool that has a name and something to mend.
///
/// Only what follows from the definition is written: the digest it was made for, its own title and description unless they
/// are what is wrong, closed input, `"result": "text"` where no output is declared (such a tool answers in words), and the
/// worse of two hints that contradict each other. No text is made up and no output schema is guessed, since both would
/// pass the linter without being true; they are in the list of things to do.
pub fn fix_overlays(report: &Report) -> BTreeMap<String, Fix> {
    report
        .tools
        .iter()
        .filter(|tool| !tool.findings.is_empty() && !has(tool, &["A001", "A002", "C002", "C003"]))
        .map(|tool| (tool.name.clone(), fix(tool)))
        .filter(|(_, fix)| !fix.todo.is_empty() || has_content(&fix.overlay))
        .collect()
}

const TEXT_RULES: &[&str] = &["C022", "C023", "C024"];

fn has(tool: &ToolReport, rules: &[&str]) -> bool {
    tool.findings.iter().any(|finding| rules.contains(&finding.rule))
}

/// More than the server's own words.
fn has_content(overlay: &Overlay) -> bool {
    let own = Overlay {
        made_for: overlay.made_for.clone(),
        title: overlay.title.clone(),
        description: overlay.description.clone(),
        ..Overlay::default()
    };
    *overlay != own
}

fn fix(tool: &ToolReport) -> Fix {
    let mut overlay = Overlay { made_for: Some(digest_of(&tool.upstream)), ..Overlay::default() };
    let mut todo = Vec::new();
    let copied = |field: &str, text: &Option<String>| {
        let is_bad = |f: &Reason| TEXT_RULES.contains(&f.rule) && f.path == field;
        text.clone().filter(|text| !text.trim().is_empty() && !tool.findings.iter().any(is_bad))
    };
    overlay.title = copied("/title", &tool.definition.title);
    overlay.description = copied("/description", &tool.definition.description);
    if has(tool, &["C016"]) {
        overlay.result = ResultMode::Text;
        todo.push(
            "`result` and `outputSchema`: the draft takes its answers for text; if they are more than that, say so or \
             learn it from real calls"
                .into(),
        );
    }
    if has(tool, &["C015"]) && !has(tool, &["C006", "C008", "C009", "C010"]) {
        overlay.input_schema = tool.definition.input_schema.as_ref().and_then(closed);
    }
    if has(tool, &["C025"]) {
        overlay.constraints =
            Some(Limits { side_effects: Some(SideEffects::Write), ..Limits::default() });
        todo.push("its hints contradict each other: correct `constraints.sideEffects`, which is the worst of them".into());
    }
    for finding in &tool.findings {
        let place = one_line(&finding.path);
        match finding.rule {
            "C001" => todo.push("`description`: say what the tool does".into()),
            "C005" => todo.push("`inputSchema`: declare its parameters".into()),
            "C012" => todo.push(match parameter(&finding.path) {
                Some(name) => format!("`parameters`: describe `{}`", one_line(name)),
                None => format!(
                    "`parameters`: describe `{}`",
                    place.trim_start_matches("/inputSchema")
                ),
            }),
            "C017" => todo.push(
                "`outputSchema`: declare what it answers, or learn it from real calls".into(),
            ),
            rule if TEXT_RULES.contains(&rule) => todo.push(format!(
                "{place}: find out why the server says so; only then put your own words in its place"
            )),
            "C006" | "C007" | "C008" | "C009" | "C010" | "C011" | "C020" | "C021" | "C027" => {
                todo.push(format!("{place}: {}", finding.message));
            }
            _ => {}
        }
    }
    todo.dedup();
    Fix { overlay, todo }
}

/// The name of a parameter at the top.
fn parameter(path: &str) -> Option<&str> {
    path.strip_prefix("/inputSchema/properties/").filter(|name| !name.contains(['/', '~']))
}

/// The schema with its outermost object closed. Not where other keywords add parameters to it.
fn closed(schema: &Value) -> Option<Value> {
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

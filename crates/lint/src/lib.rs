//! Lint rules for tool definitions: missing parts, contradictions, and dangerous texts.
//!
//! Definitions are untrusted: any JSON is checked without a panic and in bounded time, and none of its text is executed
//! or fetched. Every rule has an id that never changes, and an explanation below `explain/` with a bad and a good
//! example that the tests run.
//!
//! Start at [`lint_definition`] and [`list_rules`]. The rules for output schemas use [`generate_sample`] (generate a
//! valid value) and [`measure_strength`] (corrupt it and count the corruptions that the schema rejects).

mod annotations;
mod examples;
mod finding;
mod fold;
mod headers;
mod hidden_text;
mod instructions;
mod names;
mod output;
mod phrases;
mod properties;
mod rules;
mod sample;
mod schema_strength;
mod schema_tree;
mod schemas;
mod subject;
mod text_walk;

pub use finding::{LintFinding, Severity};
pub use rules::{LintRule, find_rule, list_rules};
pub use sample::{collect_samples, generate_sample};
pub use schema_strength::{MutationKind, SampleMutation, SchemaStrength, measure_strength};

use contract::ToolDefinition;
use serde_json::Value;

use finding::FindingCollector;
use subject::LintSubject;

/// The checks, each for one aspect of a definition. Their order does not matter: findings are sorted.
const CHECKS: &[fn(&LintSubject<'_>, &mut FindingCollector)] = &[
    names::check_name,
    schemas::check_schemas,
    properties::check_properties,
    output::check_output,
    examples::check_examples,
    hidden_text::check_hidden_text,
    instructions::check_instructions,
    annotations::check_annotations,
    headers::check_headers,
    text_walk::check_text_lengths,
];

/// Checks one definition by itself. Returns the findings sorted by rule, then in document order.
pub fn lint_definition(definition: &ToolDefinition) -> Vec<LintFinding> {
    collect_findings(definition).into_findings()
}

/// Checks a list: each definition by itself, and the names against each other.
/// Returns the findings grouped by tool, in list order.
pub fn lint_all(definitions: &[ToolDefinition]) -> Vec<LintFinding> {
    let mut reports: Vec<FindingCollector> = definitions.iter().map(collect_findings).collect();
    let names: Vec<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    names::check_name_list(&names, &mut reports);
    reports.into_iter().flat_map(FindingCollector::into_findings).collect()
}

/// Checks only the names of a list, as [`lint_all`] does, for definitions that were already checked.
/// Returns the findings of each name, by position.
pub fn lint_names(names: &[&str]) -> Vec<Vec<LintFinding>> {
    let mut reports: Vec<FindingCollector> =
        names.iter().map(|name| FindingCollector::new(name)).collect();
    names::check_name_list(names, &mut reports);
    reports.into_iter().map(FindingCollector::into_findings).collect()
}

/// Checks every text in any JSON for hidden characters and instructions. Paths are pointers into `value`.
pub fn lint_texts(tool: &str, value: &Value) -> Vec<LintFinding> {
    let mut report = FindingCollector::new(tool);
    text_walk::visit_json_texts(value, &mut |text| {
        hidden_text::check_text(text, &mut report);
        instructions::check_text(text, &mut report);
    });
    report.into_findings()
}

fn collect_findings(definition: &ToolDefinition) -> FindingCollector {
    let subject = LintSubject::new(definition);
    let mut report = FindingCollector::new(&definition.name);
    for check in CHECKS {
        check(&subject, &mut report);
    }
    report
}

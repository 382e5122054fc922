//! Rules that judge a definition: what is missing, what contradicts itself, what is dangerous.
//!
//! A definition may come from anybody, so nothing here trusts it: any JSON is judged without a panic and in bounded
//! time, and no text of it is executed or fetched. Every rule has an id that never changes, and an explanation with a
//! bad and a good example below `explain/` that the tests run.
//!
//! Start at [`lint`] and [`rules`]. The rules on output schemas rest on [`sample`] (make a valid value) and
//! [`strength`] (corrupt it, and count what the schema notices).

mod annotations;
mod examples;
mod finding;
mod fold;
mod headers;
mod hidden;
mod instructions;
mod names;
mod output;
mod phrases;
mod properties;
mod rules;
mod sample;
mod schemas;
mod subject;
mod texts;
mod tree;
mod vacuity;

pub use finding::{Finding, Severity};
pub use rules::{Rule, rule, rules};
pub use sample::{sample, samples};
pub use vacuity::{Mutation, MutationKind, Strength, strength};

use contract::Definition;
use serde_json::Value;

use finding::Report;
use subject::Subject;

/// Each looks at one side of a definition and reports what it finds. The order does not matter: findings are sorted.
const CHECKS: &[fn(&Subject<'_>, &mut Report)] = &[
    names::check,
    schemas::check,
    properties::check,
    output::check,
    examples::check,
    hidden::check,
    instructions::check,
    annotations::check,
    headers::check,
    texts::check_length,
];

/// Judges one definition by itself. Sorted by rule, then in document order.
pub fn lint(definition: &Definition) -> Vec<Finding> {
    report(definition).finish()
}

/// Judges a whole list: each definition by itself, and the names against each other.
/// The findings of one tool stay together, in the order of the list.
pub fn lint_all(definitions: &[Definition]) -> Vec<Finding> {
    let mut reports: Vec<Report> = definitions.iter().map(report).collect();
    let names: Vec<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    names::check_list(&names, &mut reports);
    reports.into_iter().flat_map(Report::finish).collect()
}

/// What [`lint_all`] says about the names alone, for each by position: for a list whose definitions were judged before.
pub fn lint_names(names: &[&str]) -> Vec<Vec<Finding>> {
    let mut reports: Vec<Report> = names.iter().map(|name| Report::new(name)).collect();
    names::check_list(names, &mut reports);
    reports.into_iter().map(Report::finish).collect()
}

/// Judges every text in any JSON by the rules on hidden and instruction-like text. Paths are pointers into `value`.
pub fn lint_texts(tool: &str, value: &Value) -> Vec<Finding> {
    let mut report = Report::new(tool);
    texts::each_in(value, &mut |text| {
        hidden::judge(text, &mut report);
        instructions::judge(text, &mut report);
    });
    report.finish()
}

fn report(definition: &Definition) -> Report {
    let subject = Subject::new(definition);
    let mut report = Report::new(&definition.name);
    for check in CHECKS {
        check(&subject, &mut report);
    }
    report
}

//! Checks of tool names and descriptions, by which callers choose a tool.

use std::collections::HashMap;

use super::finding::{FindingCollector, quote_name};
use super::fold;
use super::rules::RuleId;
use super::subject::LintSubject;

/// Maximum length of a name, from the MCP specification.
const MAX_NAME: usize = 128;

pub(super) fn check_name(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    let definition = subject.definition;
    if let Some(problem) = find_name_problem(&definition.name) {
        report.add_finding(
            RuleId::InvalidName,
            "/name",
            format!("the name {problem}"),
            "use 1 to 128 of the characters A-Z a-z 0-9 _ - .",
        );
    }
    let text = definition.description.as_deref().unwrap_or_default();
    if fold::fold_text(text).trim().is_empty() {
        let state = if definition.description.is_some() { "empty" } else { "missing" };
        report.add_finding(
            RuleId::MissingDescription,
            "/description",
            format!("the description is {state}"),
            "describe in one or two sentences what the tool does and when to use it",
        );
    }
}

fn find_name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".into());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
        return Some(format!(
            "{} has {}, which is not allowed",
            quote_name(name),
            super::hidden_text::describe_character(bad)
        ));
    }
    (name.len() > MAX_NAME)
        .then(|| format!("has {} characters; the maximum is {MAX_NAME}", name.len()))
}

/// Checks the names of a list against each other. `reports` and `names` have the same order.
pub(super) fn check_name_list(names: &[&str], reports: &mut [FindingCollector]) {
    let mut exact: HashMap<&str, usize> = HashMap::new();
    let mut similar: HashMap<String, usize> = HashMap::new();
    for (index, name) in names.iter().copied().enumerate() {
        if let Some(first) = exact.get(name) {
            reports[index].add_finding(
                RuleId::DuplicateName,
                "/name",
                format!(
                    "{} is already the name of tool {} in this list",
                    quote_name(name),
                    first + 1
                ),
                "give every tool a unique name",
            );
            continue;
        }
        exact.insert(name, index);
        match similar.get(&fold::name_skeleton(name)) {
            Some(first) => reports[index].add_finding(
                RuleId::LookAlikeName,
                "/name",
                format!(
                    "{} is easily confused with {}",
                    quote_name(name),
                    quote_name(names[*first])
                ),
                "choose names that differ in more than case, separators or look-alike characters",
            ),
            None => {
                similar.insert(fold::name_skeleton(name), index);
            }
        }
    }
}

//! Names and the description: how a caller finds the tool, and tells it from its neighbours.

use std::collections::HashMap;

use super::finding::{Report, quoted};
use super::fold;
use super::rules::Id;
use super::subject::Subject;

/// From the MCP specification.
const MAX_NAME: usize = 128;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    let definition = subject.definition;
    if let Some(problem) = problem_of(&definition.name) {
        report.add(
            Id::InvalidName,
            "/name",
            format!("the name {problem}"),
            "use 1 to 128 of the characters A-Z a-z 0-9 _ - .",
        );
    }
    let text = definition.description.as_deref().unwrap_or_default();
    if fold::fold(text).trim().is_empty() {
        let state = if definition.description.is_some() { "empty" } else { "missing" };
        report.add(
            Id::MissingDescription,
            "/description",
            format!("the description is {state}"),
            "say in a sentence or two what the tool does, and when to use it",
        );
    }
}

fn problem_of(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".into());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
        return Some(format!(
            "{} has {}, which is not allowed",
            quoted(name),
            super::hidden::character(bad)
        ));
    }
    (name.len() > MAX_NAME).then(|| format!("has {} characters, over {MAX_NAME}", name.len()))
}

/// The names of one list against each other. `reports` are those of `names`, in the same order.
pub(super) fn check_list(names: &[&str], reports: &mut [Report]) {
    let mut exact: HashMap<&str, usize> = HashMap::new();
    let mut similar: HashMap<String, usize> = HashMap::new();
    for (index, name) in names.iter().copied().enumerate() {
        if let Some(first) = exact.get(name) {
            reports[index].add(
                Id::DuplicateName,
                "/name",
                format!("{} is the name of tool {} of this list already", quoted(name), first + 1),
                "give every tool a name of its own",
            );
            continue;
        }
        exact.insert(name, index);
        match similar.get(&fold::skeleton(name)) {
            Some(first) => reports[index].add(
                Id::LookAlikeName,
                "/name",
                format!("{} is easily taken for {}", quoted(name), quoted(names[*first])),
                "choose names that differ in more than case, separators or look-alike characters",
            ),
            None => {
                similar.insert(fold::skeleton(name), index);
            }
        }
    }
}

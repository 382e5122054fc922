//! Lint findings of the offered tools: none for valid definitions, one rule for each invalid one.

use std::collections::{BTreeMap, BTreeSet};

use contract::ToolDefinition;
use insta::assert_snapshot;
use lint::lint_all;

use super::{list_tools, start_initialized};

#[tokio::test]
async fn only_invalid_definitions_violate_lint_rules() {
    let mut server = start_initialized(&["--tools", "3"]).await;
    let definitions: Vec<ToolDefinition> = list_tools(&mut server)
        .await
        .into_iter()
        .map(|tool| serde_json::from_value(tool).expect("a definition"))
        .collect();
    let mut violations: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for finding in lint_all(&definitions) {
        let rule = format!("{} {} ({})", finding.rule.id, finding.rule.name, finding.rule.severity);
        violations.entry(finding.tool).or_default().insert(rule);
    }
    let table: Vec<String> = violations
        .iter()
        .map(|(tool, rules)| {
            let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
            format!("{tool}: {}", rules.join(", "))
        })
        .collect();
    assert_snapshot!(table.join("\n"));
}

#[tokio::test]
async fn lists_all_tools_in_stable_order() {
    let mut server = start_initialized(&[]).await;
    let tools = list_tools(&mut server).await;
    assert_eq!(tools, list_tools(&mut server).await);
    assert_snapshot!(super::tool_names(&tools).join("\n"));
}

//! What our linter says of the tools: nothing of the well-formed ones, the right thing of the others.

use std::collections::{BTreeMap, BTreeSet};

use contract::Definition;
use insta::assert_snapshot;
use lint::lint_all;

use super::{greeted, list};

#[tokio::test]
async fn only_the_ill_formed_tools_break_rules() {
    let mut server = greeted(&["--tools", "3"]).await;
    let definitions: Vec<Definition> = list(&mut server)
        .await
        .into_iter()
        .map(|tool| serde_json::from_value(tool).expect("a definition"))
        .collect();
    let mut broken: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for finding in lint_all(&definitions) {
        let rule = format!("{} {} ({})", finding.rule.id, finding.rule.name, finding.rule.severity);
        broken.entry(finding.tool).or_default().insert(rule);
    }
    let table: Vec<String> = broken
        .iter()
        .map(|(tool, rules)| {
            let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
            format!("{tool}: {}", rules.join(", "))
        })
        .collect();
    assert_snapshot!(table.join("\n"));
}

#[tokio::test]
async fn all_tools_are_on_the_list_in_the_same_order_each_time() {
    let mut server = greeted(&[]).await;
    let tools = list(&mut server).await;
    assert_eq!(tools, list(&mut server).await);
    assert_snapshot!(super::names(&tools).join("\n"));
}

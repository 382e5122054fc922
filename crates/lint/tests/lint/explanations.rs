//! Every rule has an explanation whose bad example violates the rule and whose good example does not.

use contract::ToolDefinition;
use lint::{find_rule, lint_all, list_rules};

#[test]
fn rule_ids_have_no_gaps_and_names_are_unique() {
    let ids: Vec<_> = list_rules().iter().map(|rule| rule.id.to_owned()).collect();
    let expected: Vec<_> = (1..=list_rules().len()).map(|number| format!("C{number:03}")).collect();
    assert_eq!(ids, expected);
    let mut names: Vec<_> = list_rules().iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), list_rules().len());
}

#[test]
fn finds_rules_by_id_or_name_ignoring_case() {
    assert_eq!(find_rule("c012").unwrap().name, "undescribed-property");
    assert_eq!(find_rule("Undescribed-Property").unwrap().id, "C012");
    assert!(find_rule("C000").is_none());
}

#[test]
fn bad_examples_violate_their_rule_and_good_ones_do_not() {
    for rule in list_rules() {
        for (mark, expected) in [("bad", true), ("good", false)] {
            let definitions = example(rule.explanation, mark);
            let findings = lint_all(&definitions);
            let broken = findings.iter().any(|finding| finding.rule.id == rule.id);
            assert_eq!(broken, expected, "{} {mark}: {findings:#?}", rule.id);
        }
        assert!(rule.explanation.contains("## How to fix"), "{}", rule.id);
        assert!(!rule.summary.is_empty() && !rule.summary.contains('\n'), "{}", rule.id);
    }
}

#[test]
fn lists_all_rules() {
    let table: String = list_rules()
        .iter()
        .map(|rule| {
            format!(
                "{} {:<8}{:<28}{}\n",
                rule.id,
                rule.severity.to_string(),
                rule.name,
                rule.summary
            )
        })
        .collect();
    insta::assert_snapshot!(table);
}

/// Returns the fenced example with this mark: one definition, or a list of them.
fn example(explanation: &str, mark: &str) -> Vec<ToolDefinition> {
    let fence = format!("```json {mark}\n");
    let (_, rest) = explanation
        .split_once(&fence)
        .unwrap_or_else(|| panic!("no {mark} example in {explanation}"));
    let (text, _) = rest.split_once("\n```").expect("the fence is closed");
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(text).map(|one| vec![one]))
        .unwrap_or_else(|error| panic!("{error} in {text}"))
}

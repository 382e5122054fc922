//! Every rule is explained, and its explanation is true: the bad example breaks it, the good one does not.

use contract::Definition;
use lint::{lint_all, rule, rules};

#[test]
fn ids_have_no_gaps_and_names_are_unique() {
    let ids: Vec<_> = rules().iter().map(|rule| rule.id.to_owned()).collect();
    let expected: Vec<_> = (1..=rules().len()).map(|number| format!("C{number:03}")).collect();
    assert_eq!(ids, expected);
    let mut names: Vec<_> = rules().iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rules().len());
}

#[test]
fn rules_are_found_by_id_and_name_in_any_case() {
    assert_eq!(rule("c012").unwrap().name, "undescribed-property");
    assert_eq!(rule("Undescribed-Property").unwrap().id, "C012");
    assert!(rule("C000").is_none());
}

#[test]
fn every_explanation_shows_a_bad_and_a_good_example_that_are_what_they_say() {
    for rule in rules() {
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
fn the_table_of_rules() {
    let table: String = rules()
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

/// The fenced example with that mark: one definition, or a list of them.
fn example(explanation: &str, mark: &str) -> Vec<Definition> {
    let fence = format!("```json {mark}\n");
    let (_, rest) = explanation
        .split_once(&fence)
        .unwrap_or_else(|| panic!("no {mark} example in {explanation}"));
    let (text, _) = rest.split_once("\n```").expect("the fence is closed");
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(text).map(|one| vec![one]))
        .unwrap_or_else(|error| panic!("{error} in {text}"))
}

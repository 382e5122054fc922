//! Project text is untrusted: it is bounded and sanitized.

use pack_context::discover::{
    Discovery, DiscoveryExtractor, MAX_CONTENT, MAX_IN_FILE, MAX_IN_MEMORY, MAX_TITLE,
};
use proptest::prelude::*;

use crate::{DATE, render_file};

const PATHS: [&str; 8] = [
    ".claude/memory/progress_log.jsonl",
    ".claude/memory/best_practices.md",
    "docs/adr/0001-x.md",
    "AGENTS.md",
    ".cursor/rules/x.mdc",
    "CONTRIBUTING.md",
    "src/a.rs",
    "src/a.py",
];

fn in_file(path: &str, text: &str) -> Vec<Discovery> {
    DiscoveryExtractor::new(".claude/memory").extract_from_file(path, text, DATE)
}

#[test]
fn escapes_hidden_characters() {
    let rendered = render_file(
        ".claude/memory/x.jsonl",
        "{\"rule\": \"never\\u001b[31m \\u202ered\\u202c\", \"title\": \"a\\nb\\u200b\"}",
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn truncates_oversized_input() {
    let long =
        format!("{{\"rule\": \"{}\", \"title\": \"{}\"}}", "é".repeat(50_000), "t".repeat(5_000));
    let [cut] = in_file(".claude/memory/x.jsonl", &long).try_into().unwrap();
    assert_eq!(cut.content.chars().count(), MAX_CONTENT + 1);
    assert_eq!(cut.title.unwrap().chars().count(), MAX_TITLE + 1);

    let lines: String = (0..9_000).map(|n| format!("{{\"rule\": \"rule {n}\"}}\n")).collect();
    let rules = in_file(".claude/memory/x.jsonl", &lines);
    assert_eq!(rules.len(), MAX_IN_MEMORY);
    assert_eq!(rules.last().unwrap().content, "rule 8999", "a memory file grows at its end");
    let items: String = (0..5_000).map(|n| format!("- rule number {n}\n")).collect();
    assert_eq!(in_file("AGENTS.md", &items).len(), MAX_IN_FILE);
    let deep = format!("{{\"rule\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(in_file(".claude/memory/x.jsonl", &deep).len(), 1);
}

#[test]
fn id_is_stable_when_lines_move_and_unique_for_repeated_content() {
    let text = "- Never print here.\n- Never print here.\n";
    let ids = |text: &str| {
        in_file("AGENTS.md", text).into_iter().map(|found| found.id).collect::<Vec<_>>()
    };
    let before = ids(text);
    assert_ne!(before[0], before[1]);
    assert_eq!(ids(&format!("- Test always first.\n\n{text}"))[1..], before);
    assert_ne!(in_file("docs/AGENTS.md", text)[0].id, before[0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn discoveries_are_bounded_for_any_text(text in r#"(?s)([-#>*`~=\n :|{}"\[\]/\\]|TODO: |must |Status|## Decision|date: 2026-01-02|\PC|\x1b|\u202e){0,150}"#) {
        for path in PATHS {
            for found in in_file(path, &text) {
                prop_assert!(!found.content.is_empty() && found.content.chars().count() <= MAX_CONTENT + 1);
                let hidden = found.searchable_text().chars().any(contract::text::is_hidden);
                prop_assert!(!hidden);
                prop_assert!(found.date.parse::<jiff::Timestamp>().is_ok(), "{}", found.date);
                prop_assert_eq!(found.path(), Some(path));
            }
        }
    }
}

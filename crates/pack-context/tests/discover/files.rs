//! Each place with what it tells.

use pack_context::discover::{Place, Places};

use crate::told;

#[test]
fn which_file_is_what() {
    let places = Places::new("./.claude/memory/");
    for (path, place) in [
        (".claude/memory/decisions.jsonl", Some(Place::Memory)),
        (".claude/memory/2026/notes.md", Some(Place::Memory)),
        (".claude/memory/photo.png", None),
        (".claude/memory2/notes.md", None),
        ("docs/adr/0001-x.md", Some(Place::Record)),
        ("packages/api/doc/decisions/2-y.md", Some(Place::Record)),
        ("docs/adr/README.md", None),
        ("docs/adr/adr-template.md", None),
        ("docs/adrenaline/x.md", None),
        ("pkg/docs/adrenaline/notes.md", None),
        ("pkg/docs/adr/2026/1-x.md", Some(Place::Record)),
        ("AGENTS.md", Some(Place::Guide)),
        ("crates/guard/CLAUDE.md", Some(Place::Guide)),
        (".cursor/rules/style.mdc", Some(Place::Guide)),
        (".cursor/rules/style.md", Some(Place::Guide)),
        (".cursor/rules/web/style.mdc", Some(Place::Guide)),
        ("pkg/.cursor/rules/style.mdc", Some(Place::Guide)),
        ("a.cursor/rules/style.mdc", None),
        (".cursorrules", Some(Place::Guide)),
        (".github/CONTRIBUTING.md", Some(Place::Contributing)),
        ("src/main.rs", Some(Place::Source)),
        ("Makefile", Some(Place::Source)),
        ("README.md", None),
        ("data.csv", None),
    ] {
        assert_eq!(places.of(path), place, "{path}");
    }
    assert_eq!(places.beside_the_walk()[0], ".claude/memory");
}

#[test]
fn memory_lines() {
    let log = r#"{"timestamp": "2026-01-09T10:30:00Z", "event": "task_complete", "task": "EDA notebook"}
{"decision": "Use SQLite", "rationale": "Nothing to install", "alternatives": ["Postgres", "files"], "module": "store", "date": "2026-01-10"}
{"type": "bug", "title": "Login", "content": "Login fails twice a day", "tags": ["auth", "flaky"], "session_id": "s-1", "ts": 1767225600}

{"type": "milestone", "description": "Never skip the review", "id": 7}
"Prefer small files"
["not", "an object"]
{"torn": "lin
null
{}
"#;
    insta::assert_snapshot!(told(".claude/memory/progress_log.jsonl", log));
}

#[test]
fn the_name_of_a_memory_file_says_what_is_in_it() {
    let line = "{\"content\": \"Small files\"}\n";
    for (name, kind) in [
        ("decisions.jsonl", "decision"),
        ("best_practices.jsonl", "pattern"),
        ("known-issues.jsonl", "issue"),
    ] {
        let told = told(&format!(".claude/memory/{name}"), line);
        assert!(told.starts_with(&format!(".claude/memory/{name}:1 {kind}\n")), "{told}");
    }
}

#[test]
fn memory_in_markdown() {
    let text = "# Best practices\n\n- Test first.\n- Then write.\n\n## Decisions\n\nWe keep\none file.\n\n## Open\n\n- Fix the flaky test\n";
    insta::assert_snapshot!(told(".claude/memory/best_practices.md", text));
}

#[test]
fn a_record_by_nygard() {
    let text = "# 7. Keep state in SQLite\n\nDate: 2025-11-30\n\n## Status\n\nSuperseded by [9. Use Postgres](0009-use-postgres.md)\n\n## Context\n\nNobody wants to install a server.\n\n## Decision\n\nWe will keep all state in one SQLite file.\n\n```sql\n# not a heading\nSELECT 1;\n```\n\n## Consequences\n\n- One writer at a time.\n- Backups are copies.\n";
    insta::assert_snapshot!(told("docs/adr/0007-sqlite.md", text));
}

#[test]
fn a_record_by_madr() {
    let text = "---\nstatus: \"accepted\"\ndate: 2026-02-03\ndecision-makers: ada, bob\n---\n\n# Use Rust for the gateway\n\n## Context and Problem Statement\n\nThe gateway is too slow.\n\n## Considered Options\n\n* Rust\n* Go\n\n## Decision Outcome\n\nChosen option: \"Rust\", because it is quick.\n\n### Consequences\n\n* Good, because memory is safe\n* Bad, because builds are slow\n\n## More Information\n\nAsk ada.\n";
    insta::assert_snapshot!(told("doc/decisions/0003-rust.md", text));
    let old = "# Use Markdown records\n\n* Status: proposed\n* Date: 2020-05-06\n\nTechnical Story: none\n\n## Decision Outcome\n\nYes.\n";
    insta::assert_snapshot!(told("docs/decisions/1-use.md", old));
}

#[test]
fn what_is_no_record() {
    assert_eq!(told("docs/adr/glossary.md", "# Glossary\n\nADR: a record.\n"), "");
    assert_eq!(told("docs/adr/empty.md", ""), "");
    let bare = told("docs/adr/0004-use-queues.md", "## Decision\n\nQueues.\n");
    assert!(bare.contains("[use queues]"), "the file's name is its title: {bare}");
}

#[test]
fn guides() {
    let text = "# Agents\n\nThis is a web shop.\n\n[![build](x)](y)\n\n## Style\n\nNever:\n\n- use `unwrap`\n- print\n\nPrefer small files. Use `cargo fmt`.\n\n## Map\n\n- [Style](#style)\n- src\n";
    insta::assert_snapshot!("agents", told("AGENTS.md", text));
    insta::assert_snapshot!("contributing", told("CONTRIBUTING.md", text));
    let rule = "---\ndescription: React components\nglobs: src/**/*.tsx\nalwaysApply: false\n---\n\n- Components are functions\n- Name files after the component\n";
    insta::assert_snapshot!("cursor", told(".cursor/rules/react.mdc", rule));
}

#[test]
fn comments_that_ask_for_work() {
    let text = "//! Docs.\n\nfn f() {\n    // TODO(ada): retry\n    // when the token expires\n    //\n    // Not this.\n    let s = \"TODO: no\"; // FIXME: and this\n}\n";
    insta::assert_snapshot!(told("src/auth.rs", text));
}

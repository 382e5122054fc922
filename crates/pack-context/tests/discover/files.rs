//! Discoveries of each kind of file.

use pack_context::discover::{DiscoveryExtractor, DiscoveryFileKind};

use crate::render_file;

#[test]
fn classifies_files_by_path() {
    let places = DiscoveryExtractor::new("./.claude/memory/");
    for (path, place) in [
        (".claude/memory/decisions.jsonl", Some(DiscoveryFileKind::Memory)),
        (".claude/memory/2026/notes.md", Some(DiscoveryFileKind::Memory)),
        (".claude/memory/photo.png", None),
        (".claude/memory2/notes.md", None),
        ("docs/adr/0001-x.md", Some(DiscoveryFileKind::Record)),
        ("packages/api/doc/decisions/2-y.md", Some(DiscoveryFileKind::Record)),
        ("docs/adr/README.md", None),
        ("docs/adr/adr-template.md", None),
        ("docs/adrenaline/x.md", None),
        ("pkg/docs/adrenaline/notes.md", None),
        ("pkg/docs/adr/2026/1-x.md", Some(DiscoveryFileKind::Record)),
        ("AGENTS.md", Some(DiscoveryFileKind::Guide)),
        ("crates/guard/CLAUDE.md", Some(DiscoveryFileKind::Guide)),
        (".cursor/rules/style.mdc", Some(DiscoveryFileKind::Guide)),
        (".cursor/rules/style.md", Some(DiscoveryFileKind::Guide)),
        (".cursor/rules/web/style.mdc", Some(DiscoveryFileKind::Guide)),
        ("pkg/.cursor/rules/style.mdc", Some(DiscoveryFileKind::Guide)),
        ("a.cursor/rules/style.mdc", None),
        (".cursorrules", Some(DiscoveryFileKind::Guide)),
        (".github/CONTRIBUTING.md", Some(DiscoveryFileKind::Contributing)),
        ("src/main.rs", Some(DiscoveryFileKind::Source)),
        ("Makefile", Some(DiscoveryFileKind::Source)),
        ("README.md", None),
        ("data.csv", None),
    ] {
        assert_eq!(places.classify_file(path), place, "{path}");
    }
    assert_eq!(places.extra_walk_paths()[0], ".claude/memory");
}

#[test]
fn extracts_json_lines_memory_entries() {
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
    insta::assert_snapshot!(render_file(".claude/memory/progress_log.jsonl", log));
}

#[test]
fn memory_file_name_determines_kind() {
    let line = "{\"content\": \"Small files\"}\n";
    for (name, kind) in [
        ("decisions.jsonl", "decision"),
        ("best_practices.jsonl", "pattern"),
        ("known-issues.jsonl", "issue"),
    ] {
        let rendered = render_file(&format!(".claude/memory/{name}"), line);
        assert!(rendered.starts_with(&format!(".claude/memory/{name}:1 {kind}\n")), "{rendered}");
    }
}

#[test]
fn extracts_markdown_memory_entries() {
    let text = "# Best practices\n\n- Test first.\n- Then write.\n\n## Decisions\n\nWe keep\none file.\n\n## Open\n\n- Fix the flaky test\n";
    insta::assert_snapshot!(render_file(".claude/memory/best_practices.md", text));
}

#[test]
fn parses_nygard_record() {
    let text = "# 7. Keep state in SQLite\n\nDate: 2025-11-30\n\n## Status\n\nSuperseded by [9. Use Postgres](0009-use-postgres.md)\n\n## Context\n\nNobody wants to install a server.\n\n## Decision\n\nWe will keep all state in one SQLite file.\n\n```sql\n# not a heading\nSELECT 1;\n```\n\n## Consequences\n\n- One writer at a time.\n- Backups are copies.\n";
    insta::assert_snapshot!(render_file("docs/adr/0007-sqlite.md", text));
}

#[test]
fn parses_madr_record() {
    let text = "---\nstatus: \"accepted\"\ndate: 2026-02-03\ndecision-makers: ada, bob\n---\n\n# Use Rust for the gateway\n\n## Context and Problem Statement\n\nThe gateway is too slow.\n\n## Considered Options\n\n* Rust\n* Go\n\n## Decision Outcome\n\nChosen option: \"Rust\", because it is quick.\n\n### Consequences\n\n* Good, because memory is safe\n* Bad, because builds are slow\n\n## More Information\n\nAsk ada.\n";
    insta::assert_snapshot!(render_file("doc/decisions/0003-rust.md", text));
    let old = "# Use Markdown records\n\n* Status: proposed\n* Date: 2020-05-06\n\nTechnical Story: none\n\n## Decision Outcome\n\nYes.\n";
    insta::assert_snapshot!(render_file("docs/decisions/1-use.md", old));
}

#[test]
fn ignores_files_that_are_not_records() {
    assert_eq!(render_file("docs/adr/glossary.md", "# Glossary\n\nADR: a record.\n"), "");
    assert_eq!(render_file("docs/adr/empty.md", ""), "");
    let bare = render_file("docs/adr/0004-use-queues.md", "## Decision\n\nQueues.\n");
    assert!(bare.contains("[use queues]"), "the file's name is its title: {bare}");
}

#[test]
fn extracts_guide_statements() {
    let text = "# Agents\n\nThis is a web shop.\n\n[![build](x)](y)\n\n## Style\n\nNever:\n\n- use `unwrap`\n- print\n\nPrefer small files. Use `cargo fmt`.\n\n## Map\n\n- [Style](#style)\n- src\n";
    insta::assert_snapshot!("agents", render_file("AGENTS.md", text));
    insta::assert_snapshot!("contributing", render_file("CONTRIBUTING.md", text));
    let rule = "---\ndescription: React components\nglobs: src/**/*.tsx\nalwaysApply: false\n---\n\n- Components are functions\n- Name files after the component\n";
    insta::assert_snapshot!("cursor", render_file(".cursor/rules/react.mdc", rule));
}

#[test]
fn extracts_todo_comments() {
    let text = "//! Docs.\n\nfn f() {\n    // TODO(ada): retry\n    // when the token expires\n    //\n    // Not this.\n    let s = \"TODO: no\"; // FIXME: and this\n}\n";
    insta::assert_snapshot!(render_file("src/auth.rs", text));
}

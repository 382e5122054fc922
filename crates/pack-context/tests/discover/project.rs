//! Discoveries of a whole project.

use pack_context::ContextOptions;
use pack_context::discover::{DiscoverySource, MAX_IN_MEMORY, discover_in_project};

use crate::commits::TestRepository;
use crate::{DATE, render_discoveries};

#[test]
fn discovers_files_hidden_guides_and_history() {
    let mut repository = TestRepository::new();
    for (path, text) in [
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        ("crates/auth/Cargo.toml", "[package]\nname = \"auth\"\n"),
        ("crates/auth/src/lib.rs", "// TODO: refresh tokens\n"),
        (
            ".claude/memory/decisions.jsonl",
            "{\"decision\": \"One file\", \"date\": \"2026-01-01\"}\n",
        ),
        (".cursor/rules/x.mdc", "- Never print anything\n"),
        (".gitignore", ".claude\nignored\n"),
        ("ignored/AGENTS.md", "- Never be seen here\n"),
        ("secrets/AGENTS.md", "- Never be seen here\n"),
        ("node_modules/x/AGENTS.md", "- Never be seen here\n"),
        ("left/AGENTS.md", "- Never be seen here\n"),
        ("crates/auth/bad.rs", "\u{0}// TODO: binary\n"),
    ] {
        let path = repository.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    repository.commit("crates/auth/src/x.rs", "fix: refresh once");
    std::fs::write(repository.root().join("crates/auth/latin1.rs"), b"// TODO: caf\xe9\n").unwrap();
    let options = ContextOptions { exclude: vec!["left".into()], ..ContextOptions::default() };
    let mut project = discover_in_project(repository.root(), &options).unwrap();
    assert_eq!(project.no_history, None);
    project.discoveries.sort_by_key(|discovery| discovery.source.to_string());
    for discovery in &mut project.discoveries {
        // Replace values that differ between runs: file dates and commit ids.
        if discovery.path().is_some() && !discovery.date.starts_with("2026-01-01") {
            DATE.clone_into(&mut discovery.date);
        }
        if let DiscoverySource::Commit { id, .. } = &mut discovery.source {
            *id = "[id]".into();
        }
    }
    insta::assert_snapshot!(render_discoveries(&project.discoveries));
}

#[test]
fn reports_omitted_content() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: String| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let entry = |n: usize| format!("{{\"decision\": \"Number {n}\"}}\n");
    let long = |n: usize| format!("{{\"decision\": \"{}\"}}\n", "x".repeat(n));
    write(".claude/memory/many.jsonl", (0..MAX_IN_MEMORY + 2).map(entry).collect());
    write(".claude/memory/long.jsonl", format!("{}{}", long(4 << 20), entry(7)));
    write("docs/adr/1.md", format!("## Decision\n\n{}\n", "x".repeat(4 << 20)));
    write("src/data.rs", format!("// TODO: {}\n", "x".repeat(4 << 20)));
    let project = discover_in_project(folder.path(), &ContextOptions::default()).unwrap();
    let omitted: Vec<_> = project.left_out.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(omitted.join("\n"), @r"
    the first 4194321 bytes of .claude/memory/long.jsonl
    2 more entries of .claude/memory/many.jsonl
    docs/adr/1.md (too large to read)
    ");
    assert_eq!(project.discoveries.len(), MAX_IN_MEMORY + 1);
    let lines = project.discoveries.iter().map(|found| found.source.to_string());
    assert!(lines.into_iter().any(|source| source == ".claude/memory/long.jsonl:2"));
}

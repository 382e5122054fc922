//! A whole project at once.

use pack_context::ContextOptions;
use pack_context::discover::{Source, in_project};

use crate::commits::Repository;
use crate::{DATE, shown};

#[test]
fn files_hidden_places_and_history() {
    let mut repository = Repository::new();
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
    let mut told = in_project(repository.root(), &options).unwrap();
    assert_eq!(told.no_history, None);
    told.discoveries.sort_by_key(|discovery| discovery.source.to_string());
    for discovery in &mut told.discoveries {
        // A file is as old as this test; a commit's id depends on what git writes.
        if discovery.path().is_some() && !discovery.date.starts_with("2026-01-01") {
            DATE.clone_into(&mut discovery.date);
        }
        if let Source::Commit { id, .. } = &mut discovery.source {
            *id = "[id]".into();
        }
    }
    insta::assert_snapshot!(shown(&told.discoveries));
}

//! Search finds discoveries in files and in the git history, with their types.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use pack_context::ContextOptions;
use serde_json::{Value, json};

use crate::support::{PackSession, Project};

/// Returns the contents of the results of one type, best first.
fn search_type(session: &PackSession, kind: &str, query: &str) -> Vec<String> {
    let answer = session.call("context_search", json!({"query": query, "type": kind})).unwrap();
    contents(&answer)
}

fn contents(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap().iter();
    results.map(|result| result["content"].as_str().unwrap().to_owned()).collect()
}

fn complete_with(project: &Project, options: ContextOptions) -> PackSession {
    let session = project.open_with(options);
    assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
    session
}

#[test]
fn changed_memory_folder_reclassifies_cached_files() {
    let project = Project::new();
    project.write("notes/decisions.md", "# Decisions\n\n- Parcels travel by zeppelin\n");
    let session = complete_with(&project, project.options());
    assert_eq!(search_type(&session, "decision", "zeppelin"), Vec::<String>::new());
    drop(session);
    // Pretend that the file is old enough for its timestamps to be trusted.
    let metadata = fs::metadata(project.path("notes/decisions.md")).unwrap();
    let nanoseconds = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    let stamp = (
        metadata.len().cast_signed(),
        nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    );
    let insert = "INSERT INTO files SELECT r.id, 'notes/decisions.md', ?1, ?2, ?3, a.key FROM roots r, analyses a";
    let database = rusqlite::Connection::open(project.database()).unwrap();
    assert_eq!(database.execute(insert, stamp).unwrap(), 1);
    drop(database);
    let options = ContextOptions { memory_folder: "notes".into(), ..project.options() };
    let found = search_type(&complete_with(&project, options), "decision", "zeppelin");
    assert_eq!(found, ["Decisions\nParcels travel by zeppelin"]);
}

#[test]
fn reads_memory_folder_behind_symlink() {
    let project = Project::new();
    project.write("notes/decisions.jsonl", "{\"decision\": \"Parcels travel by zeppelin\"}\n");
    fs::create_dir(project.path(".claude")).unwrap();
    std::os::unix::fs::symlink("../notes", project.path(".claude/memory")).unwrap();
    let session = project.complete();
    assert_eq!(search_type(&session, "decision", "zeppelin").len(), 1);
    let entry = "{\"decision\": \"Gondolas have a harness\"}\n";
    fs::write(project.path(".claude/memory/more.jsonl"), entry).unwrap();
    assert_eq!(search_type(&session, "decision", "gondolas harness").len(), 1);
}

#[test]
fn fix_result_names_its_commit() {
    let project = Project::shop();
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .current_dir(project.root())
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "fix: gondolas fell down"]);
    let id = git(&["rev-parse", "HEAD"])[..12].to_owned();
    let answer = project.complete().search("gondolas fell");
    let why = answer["results"][0]["why"].as_array().unwrap();
    assert_eq!(why.last().unwrap(), &json!(format!("commit {id}")), "{answer}");
}

#[test]
fn finds_text_outside_discoveries_as_code() {
    let project = Project::new();
    project.write("docs/adr/glossary.md", "# Glossary\n\nGondola: a boat with a harness.\n");
    let long = "It rains in Venice.\n".repeat(200);
    project.write(
        "docs/adr/0001-boats.md",
        format!(
            "# 1. Use boats\n\n## Status\n\nAccepted\n\n## Decision\n\nParcels travel by vaporetto.\n{long}\
             Umbrellas are provided.\n\n## Notes\n\nAsk the lighthouse keeper.\n"
        ),
    );
    project.write(
        "AGENTS.md",
        "# Guide\n\n- Never feed the pigeons\n- Count seagulls\n\n## Build\n\n```sh\nmake regatta\n```\n",
    );
    let session = project.complete();
    for (query, kind, path) in [
        ("gondola", "code", "docs/adr/glossary.md"),
        ("vaporetto", "decision", "docs/adr/0001-boats.md"),
        ("umbrellas", "code", "docs/adr/0001-boats.md"),
        ("lighthouse keeper", "code", "docs/adr/0001-boats.md"),
        ("pigeons", "rule", "AGENTS.md"),
        ("seagulls", "code", "AGENTS.md"),
        ("regatta", "code", "AGENTS.md"),
    ] {
        let answer = session.search(query);
        let word = query.split(' ').next().unwrap();
        let results = answer["results"].as_array().unwrap().iter();
        let shown: Vec<_> = results
            .filter(|found| found["content"].as_str().unwrap().to_lowercase().contains(word))
            .map(|found| (found["type"].as_str().unwrap(), found["path"].as_str().unwrap()))
            .collect();
        assert_eq!(shown, [(kind, path)], "{query}: {answer}");
    }
}

#[test]
fn finds_entries_of_large_memory_files() {
    let project = Project::new();
    let entry = |n: usize, filler: usize| {
        format!(
            "{{\"decision\": \"Boat {n} sails as zanzibar{n}\", \"note\": \"{}\"}}\n",
            "x ".repeat(filler)
        )
    };
    project.write("notes/many.jsonl", (0..7_000).map(|n| entry(n, 1)).collect::<String>());
    // Larger than the limit for other files.
    project.write("notes/long.jsonl", (8_000..10_200).map(|n| entry(n, 1_000)).collect::<String>());
    let options =
        ContextOptions { memory_folder: "notes".into(), embedder: None, ..project.options() };
    let session = complete_with(&project, options);
    for (n, kind) in
        [(0, "code"), (500, "code"), (1_500, "decision"), (6_999, "decision"), (10_199, "decision")]
    {
        let answer = session.search(&format!("zanzibar{n}"));
        let best = &answer["results"][0];
        assert_eq!(best["type"], kind, "{n}: {answer}");
        assert!(best["content"].as_str().unwrap().contains(&format!("zanzibar{n}")), "{answer}");
    }
    // Grep searches the whole file, regardless of the index.
    let found = session.call("grep_codebase", json!({"pattern": "zanzibar8000"})).unwrap();
    assert_eq!(found["matches"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn finds_rules_of_every_package() {
    let project = Project::new();
    project.write(".cursor/rules/all.mdc", "- Never feed the pigeons\n");
    project.write("pkg/.cursor/rules/web/style.md", "- Never wake the gondolier\n");
    let session = project.complete();
    assert_eq!(search_type(&session, "rule", "pigeons").len(), 1);
    assert_eq!(search_type(&session, "rule", "gondolier").len(), 1);
    project.write("other/.cursor/rules/new.mdc", "- Never race a vaporetto\n");
    assert_eq!(search_type(&session, "rule", "vaporetto").len(), 1);
    project.write("pkg/.cursor/rules/web/style.md", "- Never rock the barge\n");
    assert_eq!(search_type(&session, "rule", "barge").len(), 1);
}

//! What people noted in files and in the history: found wherever it stands, as what it is.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use pack_context::ContextOptions;
use serde_json::{Value, json};

use crate::support::{Project, Session};

/// The contents of what is found of one type, best first.
fn of_type(session: &Session, kind: &str, query: &str) -> Vec<String> {
    let answer = session.call("context_search", json!({"query": query, "type": kind})).unwrap();
    contents(&answer)
}

fn contents(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap().iter();
    results.map(|result| result["content"].as_str().unwrap().to_owned()).collect()
}

fn complete(project: &Project, options: ContextOptions) -> Session {
    let session = project.open_with(options);
    assert!(session.pack.index().complete(&|_| (), &|| false));
    session
}

#[test]
fn another_memory_folder_makes_memory_of_files_that_were_seen_before() {
    let project = Project::new();
    project.write("notes/decisions.md", "# Decisions\n\n- Parcels travel by zeppelin\n");
    let session = complete(&project, project.options());
    assert_eq!(of_type(&session, "decision", "zeppelin"), Vec::<String>::new());
    drop(session);
    // As if the file were old enough that how it looks stands for what it says.
    let metadata = fs::metadata(project.path("notes/decisions.md")).unwrap();
    let nanoseconds = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    let stamp = (
        metadata.len().cast_signed(),
        nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    );
    let remember = "INSERT INTO files SELECT r.id, 'notes/decisions.md', ?1, ?2, ?3, a.key FROM roots r, analyses a";
    let database = rusqlite::Connection::open(project.database()).unwrap();
    assert_eq!(database.execute(remember, stamp).unwrap(), 1);
    drop(database);
    let options = ContextOptions { memory_folder: "notes".into(), ..project.options() };
    let found = of_type(&complete(&project, options), "decision", "zeppelin");
    assert_eq!(found, ["Decisions\nParcels travel by zeppelin"]);
}

#[test]
fn a_memory_folder_behind_a_link_is_memory() {
    let project = Project::new();
    project.write("notes/decisions.jsonl", "{\"decision\": \"Parcels travel by zeppelin\"}\n");
    fs::create_dir(project.path(".claude")).unwrap();
    std::os::unix::fs::symlink("../notes", project.path(".claude/memory")).unwrap();
    let session = project.complete();
    assert_eq!(of_type(&session, "decision", "zeppelin").len(), 1);
    let entry = "{\"decision\": \"Gondolas have a harness\"}\n";
    fs::write(project.path(".claude/memory/more.jsonl"), entry).unwrap();
    assert_eq!(of_type(&session, "decision", "gondolas harness").len(), 1);
}

#[test]
fn a_fix_says_which_commit_it_is() {
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
fn what_no_discovery_tells_is_found_as_text() {
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
fn memory_is_found_however_long_it_grows() {
    let project = Project::new();
    let entry = |n: usize, filler: usize| {
        format!(
            "{{\"decision\": \"Boat {n} sails as zanzibar{n}\", \"note\": \"{}\"}}\n",
            "x ".repeat(filler)
        )
    };
    project.write("notes/many.jsonl", (0..7_000).map(|n| entry(n, 1)).collect::<String>());
    // More than is read of any other file.
    project.write("notes/long.jsonl", (8_000..10_200).map(|n| entry(n, 1_000)).collect::<String>());
    let options =
        ContextOptions { memory_folder: "notes".into(), embedder: None, ..project.options() };
    let session = complete(&project, options);
    for (n, kind) in
        [(0, "code"), (500, "code"), (1_500, "decision"), (6_999, "decision"), (10_199, "decision")]
    {
        let answer = session.search(&format!("zanzibar{n}"));
        let best = &answer["results"][0];
        assert_eq!(best["type"], kind, "{n}: {answer}");
        assert!(best["content"].as_str().unwrap().contains(&format!("zanzibar{n}")), "{answer}");
    }
    // Grep reads all of it, whatever the index has read.
    let found = session.call("grep_codebase", json!({"pattern": "zanzibar8000"})).unwrap();
    assert_eq!(found["matches"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn every_part_of_a_project_may_have_rules() {
    let project = Project::new();
    project.write(".cursor/rules/all.mdc", "- Never feed the pigeons\n");
    project.write("pkg/.cursor/rules/web/style.md", "- Never wake the gondolier\n");
    let session = project.complete();
    assert_eq!(of_type(&session, "rule", "pigeons").len(), 1);
    assert_eq!(of_type(&session, "rule", "gondolier").len(), 1);
    project.write("other/.cursor/rules/new.mdc", "- Never race a vaporetto\n");
    assert_eq!(of_type(&session, "rule", "vaporetto").len(), 1);
    project.write("pkg/.cursor/rules/web/style.md", "- Never rock the barge\n");
    assert_eq!(of_type(&session, "rule", "barge").len(), 1);
}

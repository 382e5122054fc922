//! Search results include every change made before the call.

use std::process::Command;

use pack_context::IndexPhase;
use serde_json::json;

use crate::support::{PackSession, Project, wait_for};

/// Opens and starts a pack, and waits until it has read all files.
fn start_pack(project: &Project) -> PackSession {
    let session = project.open();
    session.pack.start();
    wait_for(|| session.pack.index().status().phase == IndexPhase::Ready);
    session
}

#[test]
fn next_search_finds_new_decision() {
    let project = Project::shop();
    let session = start_pack(&project);
    for n in 0..5 {
        let text = format!("Parcels of batch {n} travel by zeppelin{n}");
        let entry = json!({"type": "decision", "content": text});
        project.append(".claude/memory/decisions.jsonl", &format!("{entry}\n"));
        let best = session.best_result(&format!("zeppelin{n}"));
        assert!(best.starts_with("\"decision\"") && best.contains(&text), "{best}");
    }
    // Also by meaning: it shares no word with the query.
    let entry = json!({"type": "decision", "content": "Every login asks the ledger"});
    project.append(".claude/memory/decisions.jsonl", &format!("{entry}\n"));
    let arguments = json!({"query": "verify credentials", "type": "decision"});
    let answer = session.call("context_search", arguments).unwrap();
    assert!(answer["results"][0]["content"].as_str().unwrap().contains("login"), "{answer}");
}

#[test]
fn finds_memory_folder_created_later() {
    let project = Project::new();
    project.write("src/lib.rs", "pub fn nothing() {}\n");
    let session = start_pack(&project);
    project.write(".claude/memory/decisions.jsonl", "{\"decision\": \"We ship on zeppelins\"}\n");
    assert!(session.best_result("zeppelins").contains("We ship on zeppelins"));
}

#[test]
fn search_follows_edits_renames_and_deletions() {
    let project = Project::shop();
    let session = start_pack(&project);
    project.write("src/auth/token.rs", "pub fn zanzibari() {}\n");
    assert_eq!(session.search_paths("zanzibari")[0], "src/auth/token.rs");
    assert!(!session.search("sign_token")["results"].to_string().contains("fn sign_token"));

    project.rename("src/auth/token.rs", "src/login/key.rs");
    assert_eq!(session.search_paths("zanzibari")[0], "src/login/key.rs");

    project.rename("src/login", "src/entry");
    assert_eq!(session.search_paths("zanzibari")[0], "src/entry/key.rs");

    project.remove("src/entry/key.rs");
    assert_eq!(session.search("zanzibari")["results"], json!([]));

    // Repeated edits of the same size within one clock tick.
    for word in ["aardvark", "bumbleby", "chipmunk", "dormouse"] {
        project.write("animal.md", word);
        assert_eq!(session.search_paths(word), ["animal.md"]);
    }
}

#[test]
fn ignore_file_applies_to_next_search() {
    let project = Project::shop();
    let session = start_pack(&project);
    assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
    project.write(".gitignore", "orders/\n");
    assert!(!session.search_paths("total_price").contains(&"src/orders/cart.rs".to_owned()));
    project.remove(".gitignore");
    assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
}

#[test]
fn search_follows_changes_without_watcher() {
    let project = Project::shop();
    let options = pack_context::ContextOptions { watch: false, ..project.options() };
    let session = project.open_with(options);
    assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
    for word in ["aardvark", "bumbleby", "chipmunk"] {
        project.write("animal.md", word);
        assert_eq!(session.search_paths(word), ["animal.md"]);
    }
    project.remove("animal.md");
    assert_eq!(session.search("chipmunk")["results"], json!([]));
    assert!(!session.pack.index().status().watching);
}

#[test]
fn checkout_is_visible_and_reuses_vectors() {
    let project = Project::shop();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let done = Command::new("git")
            .current_dir(project.root())
            .args(identity)
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "shop"]);
    git(&["checkout", "-q", "-b", "other"]);
    project.write("src/auth/token.rs", "pub fn only_on_the_branch() {}\n");
    project.write("src/auth/more.rs", "pub fn more_of_the_branch() {}\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "fix: tokens went missing"]);

    let session = start_pack(&project);
    assert_eq!(session.search_paths("only_on_the_branch")[0], "src/auth/token.rs");
    session.wait_until_embedded();
    git(&["checkout", "-q", "main"]);
    assert_eq!(session.search("only_on_the_branch")["results"], json!([]));
    assert_eq!(session.search_paths("sign_token")[0], "src/auth/token.rs");
    session.wait_until_embedded();
    let embedded = project.embedder.embedded.load(std::sync::atomic::Ordering::Relaxed);
    git(&["checkout", "-q", "other"]);
    assert_eq!(session.search_paths("more_of_the_branch")[0], "src/auth/more.rs");
    session.wait_until_embedded();
    let query_embeddings = 1;
    assert!(
        project.embedder.embedded.load(std::sync::atomic::Ordering::Relaxed)
            <= embedded + query_embeddings,
        "embedded texts must not be embedded again"
    );
}

#[test]
fn search_during_initial_indexing_reports_progress() {
    let project = Project::shop();
    for n in 0..400 {
        project.write(&format!("src/part{n}.rs"), format!("pub fn part_{n}() {{}}\n"));
    }
    let session = project.open();
    session.pack.start();
    let answer = session.search("decision about orders in postgres");
    // Either indexing is complete, or the response reports its progress.
    let status = session.pack.index().status();
    assert!(status.phase == IndexPhase::Ready || answer["index"]["all"].as_u64().unwrap() >= 400);
    assert!(answer["results"][0]["content"].as_str().unwrap().contains("Postgres"), "{answer}");
}

#[test]
fn finds_discoveries_added_by_another_process() {
    let project = Project::shop();
    let session = start_pack(&project);
    let store = store::ContextStore::open(&project.state()).unwrap();
    let added = store::context::StoredDiscovery {
        id: "added".into(),
        kind: store::context::DiscoveryKind::Pattern,
        title: None,
        content: "Wrap every gondola in a harness".into(),
        module: Some("orders".into()),
        source: "cli".into(),
        session: None,
        added_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        tags: Vec::new(),
    };
    store.add_discoveries(&[added]).unwrap();
    assert!(session.best_result("gondola harness").contains("Wrap every gondola"));
    store.remove_discovery("added").unwrap();
    assert_eq!(session.search("gondola harness")["results"], json!([]));
}

#[test]
fn discovery_follows_module_of_its_file() {
    let project = Project::new();
    project.write("services/pay/charge.py", "# TODO: refund the gondola\ndef charge(): pass\n");
    let session = start_pack(&project);
    let module = || session.search("refund the gondola")["results"][0]["module"].clone();
    assert_eq!(module(), "services");
    project.write("services/pay/pyproject.toml", "[project]\nname = \"payments\"\n");
    assert_eq!(module(), "payments");
}

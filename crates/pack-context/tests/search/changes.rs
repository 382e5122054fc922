//! An answer knows of everything that was written before the question.

use std::process::Command;

use pack_context::Phase;
use serde_json::json;

use crate::support::{Project, Session, wait_for};

/// A pack that runs, with its first look at all files behind it.
fn running(project: &Project) -> Session {
    let session = project.open();
    session.pack.start();
    wait_for(|| session.pack.index().status().phase == Phase::Ready);
    session
}

#[test]
fn a_decision_is_found_by_the_next_search() {
    let project = Project::shop();
    let session = running(&project);
    for n in 0..5 {
        let text = format!("Parcels of batch {n} travel by zeppelin{n}");
        let entry = json!({"type": "decision", "content": text});
        project.append(".claude/memory/decisions.jsonl", &format!("{entry}\n"));
        let best = session.best(&format!("zeppelin{n}"));
        assert!(best.starts_with("\"decision\"") && best.contains(&text), "{best}");
    }
    // By its meaning as well: not one word of the question is in it.
    let entry = json!({"type": "decision", "content": "Every login asks the ledger"});
    project.append(".claude/memory/decisions.jsonl", &format!("{entry}\n"));
    let arguments = json!({"query": "verify credentials", "type": "decision"});
    let answer = session.call("context_search", arguments).unwrap();
    assert!(answer["results"][0]["content"].as_str().unwrap().contains("login"), "{answer}");
}

#[test]
fn the_memory_folder_may_appear_later() {
    let project = Project::new();
    project.write("src/lib.rs", "pub fn nothing() {}\n");
    let session = running(&project);
    project.write(".claude/memory/decisions.jsonl", "{\"decision\": \"We ship on zeppelins\"}\n");
    assert!(session.best("zeppelins").contains("We ship on zeppelins"));
}

#[test]
fn edits_renames_and_deletions_show() {
    let project = Project::shop();
    let session = running(&project);
    project.write("src/auth/token.rs", "pub fn zanzibari() {}\n");
    assert_eq!(session.places("zanzibari")[0], "src/auth/token.rs");
    assert!(!session.search("sign_token")["results"].to_string().contains("fn sign_token"));

    project.rename("src/auth/token.rs", "src/login/key.rs");
    assert_eq!(session.places("zanzibari")[0], "src/login/key.rs");

    project.rename("src/login", "src/entry");
    assert_eq!(session.places("zanzibari")[0], "src/entry/key.rs");

    project.remove("src/entry/key.rs");
    assert_eq!(session.search("zanzibari")["results"], json!([]));

    // The same size, again and again, within one tick of the clock.
    for word in ["aardvark", "bumbleby", "chipmunk", "dormouse"] {
        project.write("animal.md", word);
        assert_eq!(session.places(word), ["animal.md"]);
    }
}

#[test]
fn an_ignore_file_counts_from_the_next_search_on() {
    let project = Project::shop();
    let session = running(&project);
    assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
    project.write(".gitignore", "orders/\n");
    assert!(!session.places("total_price").contains(&"src/orders/cart.rs".to_owned()));
    project.remove(".gitignore");
    assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
}

#[test]
fn without_a_watch_it_is_the_same() {
    let project = Project::shop();
    let options = pack_context::ContextOptions { watch: false, ..project.options() };
    let session = project.open_with(options);
    assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
    for word in ["aardvark", "bumbleby", "chipmunk"] {
        project.write("animal.md", word);
        assert_eq!(session.places(word), ["animal.md"]);
    }
    project.remove("animal.md");
    assert_eq!(session.search("chipmunk")["results"], json!([]));
    assert!(!session.pack.index().status().watching);
}

#[test]
fn a_checkout_shows_and_brings_old_vectors_back() {
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

    let session = running(&project);
    assert_eq!(session.places("only_on_the_branch")[0], "src/auth/token.rs");
    session.wait_until_embedded();
    git(&["checkout", "-q", "main"]);
    assert_eq!(session.search("only_on_the_branch")["results"], json!([]));
    assert_eq!(session.places("sign_token")[0], "src/auth/token.rs");
    session.wait_until_embedded();
    let embedded = project.embedder.embedded.load(std::sync::atomic::Ordering::Relaxed);
    git(&["checkout", "-q", "other"]);
    assert_eq!(session.places("more_of_the_branch")[0], "src/auth/more.rs");
    session.wait_until_embedded();
    let asked = 1;
    assert!(
        project.embedder.embedded.load(std::sync::atomic::Ordering::Relaxed) <= embedded + asked,
        "texts that were embedded once are not embedded again"
    );
}

#[test]
fn a_search_during_the_first_look_says_how_far_it_is() {
    let project = Project::shop();
    for n in 0..400 {
        project.write(&format!("src/part{n}.rs"), format!("pub fn part_{n}() {{}}\n"));
    }
    let session = project.open();
    session.pack.start();
    let answer = session.search("decision about orders in postgres");
    // Either it was quick, or it says what is missing.
    let status = session.pack.index().status();
    assert!(status.phase == Phase::Ready || answer["index"]["all"].as_u64().unwrap() >= 400);
    assert!(answer["results"][0]["content"].as_str().unwrap().contains("Postgres"), "{answer}");
}

#[test]
fn added_discoveries_are_found_whoever_added_them() {
    let project = Project::shop();
    let session = running(&project);
    let store = store::ContextStore::open(&project.state()).unwrap();
    let added = store::context::StoredDiscovery {
        id: "added".into(),
        kind: store::context::Kind::Pattern,
        title: None,
        content: "Wrap every gondola in a harness".into(),
        module: Some("orders".into()),
        source: "cli".into(),
        session: None,
        added_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        tags: Vec::new(),
    };
    store.add(&[added]).unwrap();
    assert!(session.best("gondola harness").contains("Wrap every gondola"));
    store.remove("added").unwrap();
    assert_eq!(session.search("gondola harness")["results"], json!([]));
}

#[test]
fn what_is_noted_in_a_file_goes_with_the_module_of_the_file() {
    let project = Project::new();
    project.write("services/pay/charge.py", "# TODO: refund the gondola\ndef charge(): pass\n");
    let session = running(&project);
    let module = || session.search("refund the gondola")["results"][0]["module"].clone();
    assert_eq!(module(), "services");
    project.write("services/pay/pyproject.toml", "[project]\nname = \"payments\"\n");
    assert_eq!(module(), "payments");
}

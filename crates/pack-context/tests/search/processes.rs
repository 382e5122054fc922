//! Several processes on one project, and recovery after a crash.

use std::fs;
use std::sync::atomic::Ordering;

use serde_json::json;

use crate::support::{ConceptEmbedder, Project, wait_for};

#[test]
fn second_start_embeds_nothing_again() {
    let project = Project::shop();
    project.complete();
    let embedded = project.embedder.embedded.load(Ordering::Relaxed);
    assert!(embedded > 0);
    let session = project.complete();
    assert_eq!(project.embedder.embedded.load(Ordering::Relaxed), embedded);
    assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
}

/// `vouch call` makes one call and exits, so it has no background threads.
#[test]
fn first_search_after_restart_uses_all_vectors() {
    let project = Project::shop();
    project.complete();
    let answer = project.open().search("which database storage do we use");
    assert_eq!(answer["index"], json!(null), "{answer}");
    assert!(answer["results"][0]["content"].as_str().unwrap().contains("Postgres"), "{answer}");
}

#[test]
fn two_processes_return_same_results() {
    let project = Project::shop();
    let (one, other) = (project.open(), project.open());
    one.pack.start();
    other.pack.start();
    one.wait_until_embedded();
    other.wait_until_embedded();
    for query in ["total_price", "verify the signature", "postgres"] {
        assert_eq!(one.search_paths(query), other.search_paths(query), "{query}");
    }
    let entry = json!({"type": "rule", "content": "Parcels travel by zeppelin"});
    project.append(".claude/memory/decisions.jsonl", &format!("{entry}\n"));
    assert!(one.best_result("zeppelin").contains("Parcels travel"));
    assert!(other.best_result("zeppelin").contains("Parcels travel"));
}

#[test]
fn processes_share_vectors() {
    let project = Project::shop();
    let one = project.open();
    // Hold the lock of the embedding process.
    let lock = fs::File::create(project.state().path().join("index.lock")).unwrap();
    lock.lock().unwrap();
    one.pack.start();
    wait_for(|| one.pack.index().status().phase == pack_context::IndexPhase::Ready);
    // A process that waits for completion embeds anyway.
    let other = project.complete();
    let embedded = project.embedder.embedded.load(Ordering::Relaxed);
    one.wait_until_embedded();
    assert_eq!(project.embedder.embedded.load(Ordering::Relaxed), embedded);
    drop((lock, other));
}

#[test]
fn recovers_from_killed_build() {
    let project = Project::shop();
    for n in 0..300 {
        project.write(&format!("src/part{n}.rs"), format!("pub fn part_{n}() {{}}\n"));
    }
    // Stop after some steps, as a kill would, then change files without a running process.
    for stop in [1, 50, 200] {
        let session = project.open();
        let seen = std::sync::atomic::AtomicUsize::new(0);
        session
            .pack
            .index()
            .run_to_completion(&|_| (), &|| seen.fetch_add(1, Ordering::Relaxed) > stop);
        // Skip the drop, so that unwritten data is lost.
        std::mem::forget(session);
        project.write("src/part7.rs", format!("pub fn after_{stop}() {{}}\n"));
        project.remove(&format!("src/part{stop}.rs"));
    }
    let session = project.complete();
    assert_eq!(session.search_paths("after_200")[0], "src/part7.rs");
    for gone in ["after_1", "after_50", "part_200"] {
        let found = session.search(gone);
        let texts: Vec<_> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| result["content"].as_str().unwrap())
            .collect();
        assert!(!texts.iter().any(|text| text.contains(&format!("fn {gone}("))), "{found}");
    }
}

#[test]
fn rebuilds_corrupt_cache() {
    let project = Project::shop();
    drop(project.complete());
    let whole = fs::read(project.database()).unwrap();
    let mut flipped = whole.clone();
    for byte in flipped.iter_mut().skip(4_096).step_by(97) {
        *byte ^= 0x5a;
    }
    let cases: [&[u8]; 4] = [b"", b"garbage", &whole[..whole.len() / 2], &flipped];
    for bad in cases {
        fs::write(project.database(), bad).unwrap();
        let session = project.complete();
        assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
        assert!(session.best_result("which database storage").contains("Postgres"));
    }
}

#[test]
fn works_without_cache_if_it_cannot_be_created() {
    let project = Project::shop();
    fs::create_dir_all(project.state().path().join("index.db")).unwrap();
    let session = project.complete();
    assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
}

#[test]
fn another_model_gets_its_own_vectors() {
    let mut project = Project::shop();
    drop(project.complete());
    project.embedder = ConceptEmbedder::new("another");
    let session = project.complete();
    assert!(project.embedder.embedded.load(Ordering::Relaxed) > 0);
    let status = session.pack.index().status();
    assert_eq!(status.model.as_deref(), Some("another"));
    assert_eq!(status.vectors.done, status.vectors.all);
    assert!(session.best_result("which database storage").contains("Postgres"));
}

#[test]
fn rebuild_embeds_everything_again() {
    let project = Project::shop();
    let session = project.complete();
    let embedded = project.embedder.embedded.load(Ordering::Relaxed);
    session.pack.index().rebuild().unwrap();
    assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
    assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
    drop(session);
    let session = project.open();
    session.pack.index().rebuild().unwrap();
    assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
    assert!(project.embedder.embedded.load(Ordering::Relaxed) > embedded);
}

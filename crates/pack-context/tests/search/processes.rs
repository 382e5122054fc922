//! Several processes on one project, and what a crash leaves.

use std::fs;
use std::sync::atomic::Ordering;

use serde_json::json;

use crate::support::{Concepts, Project, wait_for};

#[test]
fn a_second_start_embeds_nothing_again() {
    let project = Project::shop();
    project.complete();
    let embedded = project.embedder.embedded.load(Ordering::Relaxed);
    assert!(embedded > 0);
    let session = project.complete();
    assert_eq!(project.embedder.embedded.load(Ordering::Relaxed), embedded);
    assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
}

/// `vouch call` begins, asks and ends: it has no time for a background.
#[test]
fn the_first_question_of_a_second_start_knows_all_vectors() {
    let project = Project::shop();
    project.complete();
    let answer = project.open().search("which database storage do we use");
    assert_eq!(answer["index"], json!(null), "{answer}");
    assert!(answer["results"][0]["content"].as_str().unwrap().contains("Postgres"), "{answer}");
}

#[test]
fn two_processes_answer_the_same() {
    let project = Project::shop();
    let (one, other) = (project.open(), project.open());
    one.pack.start();
    other.pack.start();
    one.wait_until_embedded();
    other.wait_until_embedded();
    for query in ["total_price", "verify the signature", "postgres"] {
        assert_eq!(one.places(query), other.places(query), "{query}");
    }
    let entry = json!({"type": "rule", "content": "Parcels travel by zeppelin"});
    project.append(".claude/memory/decisions.jsonl", &format!("{entry}\n"));
    assert!(one.best("zeppelin").contains("Parcels travel"));
    assert!(other.best("zeppelin").contains("Parcels travel"));
}

#[test]
fn one_process_embeds_and_the_other_finds_its_vectors() {
    let project = Project::shop();
    let one = project.open();
    // Holds the lock that the embedding process holds.
    let lock = fs::File::create(project.state().path().join("index.lock")).unwrap();
    lock.lock().unwrap();
    one.pack.start();
    wait_for(|| one.pack.index().status().phase == pack_context::Phase::Ready);
    // Somebody who waits for the end embeds all the same.
    let other = project.complete();
    let asked_for = project.embedder.embedded.load(Ordering::Relaxed);
    one.wait_until_embedded();
    assert_eq!(project.embedder.embedded.load(Ordering::Relaxed), asked_for);
    drop((lock, other));
}

#[test]
fn a_killed_build_leaves_nothing_wrong() {
    let project = Project::shop();
    for n in 0..300 {
        project.write(&format!("src/part{n}.rs"), format!("pub fn part_{n}() {{}}\n"));
    }
    // Stopped after each of some steps, as a kill would; then files change while nobody looks.
    for stop in [1, 50, 200] {
        let session = project.open();
        let seen = std::sync::atomic::AtomicUsize::new(0);
        session.pack.index().complete(&|_| (), &|| seen.fetch_add(1, Ordering::Relaxed) > stop);
        // Not dropped in order: the threads and what they had not written are lost.
        std::mem::forget(session);
        project.write("src/part7.rs", format!("pub fn after_{stop}() {{}}\n"));
        project.remove(&format!("src/part{stop}.rs"));
    }
    let session = project.complete();
    assert_eq!(session.places("after_200")[0], "src/part7.rs");
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
fn a_corrupt_cache_is_made_again() {
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
        assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
        assert!(session.best("which database storage").contains("Postgres"));
    }
}

#[test]
fn a_cache_that_cannot_be_is_done_without() {
    let project = Project::shop();
    fs::create_dir_all(project.state().path().join("index.db")).unwrap();
    let session = project.complete();
    assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
}

#[test]
fn another_model_embeds_anew_and_is_not_mixed() {
    let mut project = Project::shop();
    drop(project.complete());
    project.embedder = Concepts::new("another");
    let session = project.complete();
    assert!(project.embedder.embedded.load(Ordering::Relaxed) > 0);
    let status = session.pack.index().status();
    assert_eq!(status.model.as_deref(), Some("another"));
    assert_eq!(status.vectors.done, status.vectors.all);
    assert!(session.best("which database storage").contains("Postgres"));
}

#[test]
fn rebuilding_makes_everything_again() {
    let project = Project::shop();
    let session = project.complete();
    let embedded = project.embedder.embedded.load(Ordering::Relaxed);
    session.pack.index().rebuild().unwrap();
    assert!(session.pack.index().complete(&|_| (), &|| false));
    assert_eq!(session.places("total_price")[0], "src/orders/cart.rs");
    drop(session);
    let session = project.open();
    session.pack.index().rebuild().unwrap();
    assert!(session.pack.index().complete(&|_| (), &|| false));
    assert!(project.embedder.embedded.load(Ordering::Relaxed) > embedded);
}

//! Embedder failures: seed errors for queries, and word-based search without vectors.

use std::time::Duration;

use embed::EmbedError;
use serde_json::json;

use crate::support::{ConceptEmbedder, Project, wait_for};

#[test]
fn query_embedding_failure_returns_seed_error() {
    let project = Project::shop();
    let session = project.complete();
    let failures: [fn() -> EmbedError; 5] = [
        || EmbedError::RateLimited { retry_after: Some(Duration::from_secs(7)) },
        || EmbedError::Unavailable("status 500".into()),
        || EmbedError::Timeout(Duration::from_secs(2)),
        || EmbedError::InvalidResponse("3 vectors for 1 text".into()),
        || EmbedError::Rejected { status: 401, message: String::new() },
    ];
    let mut errors = Vec::new();
    for (n, failure) in failures.into_iter().enumerate() {
        project.embedder.fail_with(Some(failure));
        let arguments = json!({"query": format!("question number {n}")});
        let error = session.call("context_search", arguments).unwrap_err();
        errors.push(format!(
            "{:?}: {} {}",
            error.code,
            error.message,
            serde_json::to_string(&error.details).unwrap()
        ));
    }
    insta::assert_snapshot!(errors.join("\n"));
    project.embedder.fail_with(None);
    assert!(session.call("context_search", json!({"query": "question number 0"})).is_ok());
}

#[test]
fn query_embeddings_are_cached() {
    let project = Project::shop();
    let session = project.complete();
    let before = session.search_paths("which database storage");
    project.embedder.fail_with(Some(|| EmbedError::Unavailable("gone".into())));
    assert_eq!(session.search_paths("which database storage"), before);
}

#[test]
fn unembedded_documents_match_by_words_and_are_embedded_later() {
    let project = Project::shop();
    project.embedder.fail_with(Some(|| EmbedError::Unavailable("not yet".into())));
    let session = project.open();
    assert!(!session.pack.index().run_to_completion(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!((status.vectors.done, status.files > 0), (0, true));
    assert_eq!(status.embedding_error.as_deref(), Some("embedding endpoint unavailable: not yet"));
    project.embedder.fail_with(None);
    assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!((status.vectors.done, status.embedding_error), (status.vectors.all, None));
    assert!(session.best_result("which database storage").contains("Postgres"));
}

#[test]
fn rejected_text_does_not_block_other_vectors() {
    let project = Project::shop();
    project.embedder.refuse(Some("joins"));
    let session = project.open();
    assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!((status.vectors.done, status.embedding_error), (status.vectors.all, None));
    assert!(status.vectors.all > 0);
    assert!(session.best_result("reports in postgres").contains("Postgres"), "it matches by words");
    // If the embedder rejects everything, the texts are kept for a later attempt.
    let project = Project::shop();
    project.embedder.refuse(Some(""));
    let session = project.open();
    assert!(!session.pack.index().run_to_completion(&|_| (), &|| false));
    project.embedder.refuse(None);
    assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!(status.vectors.done, status.chunks);
}

/// An endpoint may replace a model under the same name.
#[test]
fn vectors_of_new_length_replace_old_ones() {
    let mut project = Project::shop();
    project.complete();
    project.embedder = ConceptEmbedder::with("concepts", 600);
    let session = project.open();
    session.pack.start();
    session.wait_until_embedded();
    // This query reveals the new length; its own response still uses words only.
    session.search("total_price");
    session.wait_until_embedded();
    assert!(session.best_result("which database storage do we use").contains("Postgres"));
}

/// The specific error is returned before the call times out.
#[test]
fn query_embedding_timeout_returns_error() {
    let project = Project::shop();
    let session = project.complete();
    project.embedder.fail_with(Some(|| {
        loop {
            std::thread::park();
        }
    }));
    let error = session.call("context_search", json!({"query": "who never answers"})).unwrap_err();
    assert_eq!(error.message, "Failed to generate query embedding");
    assert_eq!(error.code, contract::ErrorCode::UpstreamUnavailable);
    assert!(error.details["details"].as_str().unwrap().contains("did not respond within"));
}

#[test]
fn search_without_embedder_uses_words() {
    let project = Project::shop();
    let options = pack_context::ContextOptions { embedder: None, ..project.options() };
    let session = project.open_with(options);
    let answer = session.search("total_price");
    assert_eq!(answer["results"][0]["path"], "src/orders/cart.rs");
    assert_eq!(answer.get("index"), None, "the index is complete");
    let status = session.pack.index().status();
    assert_eq!((status.model, status.vectors.all), (None, 0));
}

#[test]
fn embeds_in_background() {
    let project = Project::shop();
    let session = project.open();
    session.pack.start();
    session.wait_until_embedded();
    assert!(session.best_result("which database storage").contains("Postgres"));
    project.write("src/late.rs", "pub fn late() { /* money */ }\n");
    assert_eq!(session.search("late")["results"][0]["path"], "src/late.rs");
    wait_for(|| {
        let status = session.pack.index().status();
        status.vectors.done == status.vectors.all
    });
}

//! An embedder that does not embed: the seed's errors for questions, and an index that goes on by words.

use std::time::Duration;

use embed::EmbedError;
use serde_json::json;

use crate::support::{Concepts, Project, wait_for};

#[test]
fn a_question_that_cannot_be_embedded_gets_the_error_of_the_seed() {
    let project = Project::shop();
    let session = project.complete();
    let failures: [fn() -> EmbedError; 5] = [
        || EmbedError::RateLimited { retry_after: Some(Duration::from_secs(7)) },
        || EmbedError::Unavailable("status 500".into()),
        || EmbedError::Timeout(Duration::from_secs(2)),
        || EmbedError::Garbage("3 vectors for 1 text".into()),
        || EmbedError::Refused { status: 401, message: String::new() },
    ];
    let mut told = Vec::new();
    for (n, failure) in failures.into_iter().enumerate() {
        project.embedder.fail_with(Some(failure));
        let arguments = json!({"query": format!("question number {n}")});
        let error = session.call("context_search", arguments).unwrap_err();
        told.push(format!(
            "{:?}: {} {}",
            error.code,
            error.message,
            serde_json::to_string(&error.details).unwrap()
        ));
    }
    insta::assert_snapshot!(told.join("\n"));
    project.embedder.fail_with(None);
    assert!(session.call("context_search", json!({"query": "question number 0"})).is_ok());
}

#[test]
fn a_question_that_was_embedded_once_is_remembered() {
    let project = Project::shop();
    let session = project.complete();
    let before = session.places("which database storage");
    project.embedder.fail_with(Some(|| EmbedError::Unavailable("gone".into())));
    assert_eq!(session.places("which database storage"), before);
}

#[test]
fn documents_that_cannot_be_embedded_are_found_by_words_and_embedded_later() {
    let project = Project::shop();
    project.embedder.fail_with(Some(|| EmbedError::Unavailable("not yet".into())));
    let session = project.open();
    assert!(!session.pack.index().complete(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!((status.vectors.done, status.files > 0), (0, true));
    assert_eq!(
        status.embedding_error.as_deref(),
        Some("the embedding endpoint is not available: not yet")
    );
    project.embedder.fail_with(None);
    assert!(session.pack.index().complete(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!((status.vectors.done, status.embedding_error), (status.vectors.all, None));
    assert!(session.best("which database storage").contains("Postgres"));
}

#[test]
fn a_text_that_is_refused_keeps_no_other_from_its_vector() {
    let project = Project::shop();
    project.embedder.refuse(Some("joins"));
    let session = project.open();
    assert!(session.pack.index().complete(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!((status.vectors.done, status.embedding_error), (status.vectors.all, None));
    assert!(status.vectors.all > 0);
    assert!(session.best("reports in postgres").contains("Postgres"), "it is found by its words");
    // An embedder that refuses everything is in trouble itself: nothing is given up for it.
    let project = Project::shop();
    project.embedder.refuse(Some(""));
    let session = project.open();
    assert!(!session.pack.index().complete(&|_| (), &|| false));
    project.embedder.refuse(None);
    assert!(session.pack.index().complete(&|_| (), &|| false));
    let status = session.pack.index().status();
    assert_eq!(status.vectors.done, status.chunks);
}

/// An endpoint may give another model the same name.
#[test]
fn vectors_of_another_length_replace_those_of_before() {
    let mut project = Project::shop();
    project.complete();
    project.embedder = Concepts::with("concepts", 600);
    let session = project.open();
    session.pack.start();
    session.wait_until_embedded();
    // The question shows it; its own answer still goes by words.
    session.search("total_price");
    session.wait_until_embedded();
    assert!(session.best("which database storage do we use").contains("Postgres"));
}

/// The error comes before the time limit of the call, which would say less.
#[test]
fn a_question_whose_vector_never_comes_is_told_so() {
    let project = Project::shop();
    let session = project.complete();
    project.embedder.fail_with(Some(|| {
        loop {
            std::thread::park();
        }
    }));
    let error = session.call("context_search", json!({"query": "who never answers"})).unwrap_err();
    assert_eq!(error.message, "Failed to generate query embedding");
    assert_eq!(error.code, contract::Code::UpstreamUnavailable);
    assert!(error.details["details"].as_str().unwrap().contains("did not answer within"));
}

#[test]
fn without_an_embedder_words_decide() {
    let project = Project::shop();
    let options = pack_context::ContextOptions { embedder: None, ..project.options() };
    let session = project.open_with(options);
    let answer = session.search("total_price");
    assert_eq!(answer["results"][0]["path"], "src/orders/cart.rs");
    assert_eq!(answer.get("index"), None, "nothing is missing");
    let status = session.pack.index().status();
    assert_eq!((status.model, status.vectors.all), (None, 0));
}

#[test]
fn vectors_are_made_in_the_background() {
    let project = Project::shop();
    let session = project.open();
    session.pack.start();
    session.wait_until_embedded();
    assert!(session.best("which database storage").contains("Postgres"));
    project.write("src/late.rs", "pub fn late() { /* money */ }\n");
    assert_eq!(session.search("late")["results"][0]["path"], "src/late.rs");
    wait_for(|| {
        let status = session.pack.index().status();
        status.vectors.done == status.vectors.all
    });
}

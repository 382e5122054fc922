//! What is found, and how it is told.

use serde_json::json;

use crate::support::{Project, places};

#[test]
fn a_name_finds_its_definition() {
    let project = Project::shop();
    let session = project.complete();
    assert_eq!(session.places("verify_token")[0], "src/auth/token.rs");
    assert_eq!(session.places("Cart::total_price")[0], "src/orders/cart.rs");
}

#[test]
fn a_question_finds_what_has_none_of_its_words() {
    let project = Project::shop();
    let session = project.complete();
    let best = session.best("which database storage do we use");
    assert!(best.contains("Postgres"), "{best}");
}

#[test]
fn filters_come_before_the_ranking() {
    let project = Project::shop();
    let session = project.complete();
    let search = |arguments| session.call("context_search", arguments).unwrap();
    let rules = search(json!({"query": "orders token", "type": "rule"}));
    assert_eq!(rules["results"].as_array().unwrap().len(), 1, "{rules}");
    assert_eq!(rules["results"][0]["type"], "rule");
    let orders = search(json!({"query": "token price", "module": "Orders", "limit": 20}));
    assert!(!places(&orders).is_empty());
    assert!(
        orders["results"].as_array().unwrap().iter().all(|result| result["module"] == "orders"),
        "{orders}"
    );
}

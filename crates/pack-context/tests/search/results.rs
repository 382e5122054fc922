//! Search results and their content.

use serde_json::{Value, json};

use crate::support::{Project, result_paths};

/// Removes the values that differ between runs.
fn stable_response(mut answer: Value) -> Value {
    answer.as_object_mut().unwrap().shift_remove("searchTime");
    for result in answer["results"].as_array_mut().unwrap() {
        result.as_object_mut().unwrap().shift_remove("date");
    }
    answer
}

#[test]
fn name_finds_its_definition() {
    let project = Project::shop();
    let session = project.complete();
    assert_eq!(session.search_paths("verify_token")[0], "src/auth/token.rs");
    assert_eq!(session.search_paths("Cart::total_price")[0], "src/orders/cart.rs");
    insta::assert_json_snapshot!(stable_response(session.search("total_price")));
}

#[test]
fn query_finds_text_without_common_words() {
    let project = Project::shop();
    let session = project.complete();
    let best = session.best_result("which database storage do we use");
    assert!(best.contains("Postgres"), "{best}");
}

#[test]
fn filters_apply_before_ranking() {
    let project = Project::shop();
    let session = project.complete();
    let search = |arguments| session.call("context_search", arguments).unwrap();
    let rules = search(json!({"query": "orders token", "type": "rule"}));
    assert_eq!(rules["results"].as_array().unwrap().len(), 1, "{rules}");
    assert_eq!(rules["results"][0]["type"], "rule");
    assert_eq!(rules["totalFound"], 1);
    let orders = search(json!({"query": "token price", "module": "Orders", "limit": 20}));
    assert!(!result_paths(&orders).is_empty());
    let results = orders["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["module"] == "orders"), "{orders}");
}

#[test]
fn unknown_module_hint_lists_known_modules() {
    let project = Project::shop();
    let session = project.complete();
    let arguments = json!({"query": "verify token", "module": "billing"});
    let answer = session.call("context_search", arguments).unwrap();
    assert_eq!(answer["results"], json!([]));
    insta::assert_snapshot!(answer["hint"].as_str().unwrap(), @"unknown module `billing`; known modules: auth, orders, shop, tests");
}

#[test]
fn identical_texts_are_returned_once() {
    let project = Project::new();
    let text = "pub fn reconcile_ledger(a: u8) -> u8 {\n    a + 1\n}\n";
    for copy in ["a.rs", "b.rs", "c/d.rs"] {
        project.write(copy, text);
    }
    let answer = project.complete().search("reconcile_ledger");
    assert_eq!(answer["results"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["totalFound"], 3);
}

#[test]
fn long_text_is_shown_around_the_match() {
    let project = Project::new();
    let mut text = String::from("pub fn long() {\n");
    for n in 0..120 {
        text.push_str(&format!("    step(\"number {n} of many, none of which matters\");\n"));
        if n == 70 {
            text.push_str("    quarantine(parcel);\n");
        }
    }
    text.push_str("}\n");
    project.write("long.rs", &text);
    let answer = project.complete().search("quarantine parcel");
    let best = &answer["results"][0];
    let content = best["content"].as_str().unwrap();
    assert!(content.contains("quarantine(parcel)"), "{content}");
    assert!(content.chars().count() <= 1_200);
    // `lines` matches the shown text.
    let (start, end) =
        (best["lines"]["start"].as_u64().unwrap(), best["lines"]["end"].as_u64().unwrap());
    let shown: Vec<&str> =
        text.lines().skip(start as usize - 1).take((end - start) as usize + 1).collect();
    assert_eq!(content, shown.join("\n").trim_end());
}

#[test]
fn escapes_hidden_characters() {
    let project = Project::new();
    project.write("notes.md", "# Gateway\n\nThe gateway \u{202e}retsnom\u{202c} listens here.\n");
    let content = project.complete().search("gateway listens")["results"][0]["content"].to_string();
    assert!(content.contains("u{202e}") && !content.contains('\u{202e}'), "{content}");
}

#[test]
fn does_not_find_blocked_or_ignored_files() {
    let project = Project::shop();
    project.write(".env", "ZANZIBAR=1\n");
    project.write("secrets/a.md", "zanzibar\n");
    project.write("node_modules/x/index.js", "zanzibar()\n");
    project.write("ignored/a.md", "zanzibar\n");
    project.write(".gitignore", "ignored/\n");
    let answer = project.complete().search("zanzibar");
    assert_eq!(answer["results"], json!([]), "{answer}");
    assert_eq!(answer["totalFound"], 0);
}

#[test]
fn search_is_deterministic() {
    let project = Project::shop();
    for n in 0..40 {
        project.write(&format!("src/same{n}.rs"), format!("pub fn helper_{n}() {{ shared(); }}\n"));
    }
    let first = stable_response(project.complete().search("shared helper"));
    let again = stable_response(project.complete().search("shared helper"));
    assert_eq!(first, again);
    // Also without the cached state.
    std::fs::remove_dir_all(project.path(".vouch")).unwrap();
    assert_eq!(stable_response(project.complete().search("shared helper")), first);
}

#[test]
fn recently_read_files_rank_slightly_higher() {
    let project = Project::new();
    for name in ["alpha", "bravo"] {
        let text = format!("pub fn {name}_part() {{\n    dispatch_event(1);\n}}\n");
        project.write(&format!("src/{name}.rs"), text);
    }
    // Without an embedder, so that the files differ only in their reads.
    let open = || {
        let options = pack_context::ContextOptions { embedder: None, ..project.options() };
        project.open_with(options)
    };
    let session = open();
    assert_eq!(session.search_paths("dispatch event")[0], "src/alpha.rs");
    for _ in 0..5 {
        session.call("read_file", json!({"path": "src/bravo.rs"})).unwrap();
    }
    // Another process reads the store.
    drop(session);
    let answer = open().search("dispatch event");
    assert_eq!(result_paths(&answer)[0], "src/bravo.rs", "{answer}");
}

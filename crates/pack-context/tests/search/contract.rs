//! What is published: the golden schema, nothing of the seed lost, examples that hold, and the seed's messages.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Project, Session};

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/search").join(path)
}

fn schemas(session: &Session) -> Value {
    let contract = session.tool("context_search").contract();
    json!({
        "input": contract.input.as_value(),
        "output": contract.output.as_ref().unwrap().as_value(),
    })
}

#[test]
fn the_published_schema_is_the_golden_one() {
    let project = Project::new();
    let path = file("golden.json");
    let published = format!("{:#}\n", schemas(&project.open()));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &published).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        published, golden,
        "it changed; if it should, run UPDATE_GOLDEN=1 cargo test -p pack-context --test search"
    );
}

/// Every keyword of the seed's input is in ours with the same value, every field of its answer is one of ours.
#[test]
fn nothing_of_the_seed_is_lost() {
    let project = Project::new();
    let published = schemas(&project.open());
    let seed: Value =
        serde_json::from_str(&fs::read_to_string(file("seed.json")).unwrap()).unwrap();
    for (name, expected) in seed["input"]["properties"].as_object().unwrap() {
        for (keyword, value) in expected.as_object().unwrap() {
            let ours = &published["input"]["properties"][name][keyword];
            assert_eq!(ours, value, "{name}/{keyword}");
        }
    }
    assert_eq!(published["input"]["required"], seed["input"]["required"]);
    let ours = &published["output"]["properties"];
    for name in seed["answer"].as_object().unwrap().keys() {
        assert!(ours.get(name).is_some(), "{name}");
    }
    for name in seed["answer"]["results"][0].as_object().unwrap().keys() {
        assert!(ours["results"]["items"]["properties"].get(name).is_some(), "{name}");
    }
}

#[test]
fn examples_hold() {
    let project = Project::new();
    project.write(
        ".claude/memory/decisions.jsonl",
        [
            ("pattern", "Use JWT tokens stored in httpOnly cookies for auth"),
            ("pattern", "Implement token refresh with mutex locks to prevent race conditions"),
            ("issue", "Token refresh race condition fixed with mutex lock"),
        ]
        .map(|(kind, text)| {
            format!("{}\n", json!({"type": kind, "content": text, "module": "auth"}))
        })
        .concat(),
    );
    let session = project.complete();
    let contract = session.tool("context_search").contract();
    assert!(!contract.examples.is_empty());
    for example in &contract.examples {
        let expected = example.output.as_ref().unwrap();
        contract.output.as_ref().unwrap().validate(expected).unwrap();
        let answer = session.call("context_search", example.input.clone()).unwrap();
        assert_eq!(answer["query"], expected["query"]);
        let texts = |answer: &Value| -> Vec<String> {
            let results = answer["results"].as_array().unwrap().iter();
            results.map(|result| result["content"].as_str().unwrap().to_owned()).collect()
        };
        for text in texts(expected) {
            assert!(texts(&answer).contains(&text), "{text} is not in {answer}");
        }
    }
}

/// The seed's wording of `module` has no default, and what is absent from an answer once the index is complete is so on
/// purpose.
#[test]
fn the_linter_finds_what_the_seed_brings() {
    let project = Project::new();
    let session = project.open();
    let definition = session.tool("context_search").contract().definition();
    let findings: Vec<_> = lint::lint_all(&[definition])
        .iter()
        .map(|finding| format!("{} {}: {}", finding.rule.id, finding.path, finding.message))
        .collect();
    insta::assert_snapshot!(findings.join("\n"));
}

#[test]
fn queries_that_cannot_be() {
    let project = Project::shop();
    let session = project.open();
    let refused = |arguments: Value| {
        let error = session.call("context_search", arguments).unwrap_err();
        format!("{:?}: {}", error.code, error.message)
    };
    insta::assert_snapshot!(
        [
            refused(json!({"query": "ab"})),
            refused(json!({"query": "  a  "})),
            refused(json!({"query": "x".repeat(501)})),
            refused(json!({"query": "token", "type": "idea"})),
            refused(json!({"query": "token", "limit": 21})),
            refused(json!({"query": "token", "limit": 0})),
            refused(json!({"query": "token", "limit": 1.5})),
            refused(json!({"query": "token", "depth": 2})),
            refused(json!({})),
        ]
        .join("\n")
    );
    assert!(session.call("context_search", json!({"query": "x".repeat(500)})).is_ok());
    assert!(session.call("context_search", json!({"query": "日本語"})).is_ok());
}

#[test]
fn nothing_is_touched_before_the_first_call() {
    let project = Project::shop();
    let state = store::StateDir::at(project.path("state"));
    let pack = pack_context::ContextPack::open(&project.root(), &state, project.options()).unwrap();
    pack.tools().unwrap();
    pack.resources().list();
    pack.index().status();
    assert!(!project.path("state").exists());
    drop(pack);
    assert!(!project.path("state").exists());
}

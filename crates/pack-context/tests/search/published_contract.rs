//! The published contract: golden schema, seed schema, examples, linter findings and seed messages.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{PackSession, Project};

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/search").join(path)
}

fn schemas(session: &PackSession) -> Value {
    let contract = session.tool("context_search").contract();
    json!({
        "input": contract.input.as_value(),
        "output": contract.output.as_ref().unwrap().as_value(),
    })
}

#[test]
fn published_schemas_match_golden_file() {
    let project = Project::new();
    let path = file("golden.json");
    let published = format!("{:#}\n", schemas(&project.open()));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &published).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        published, golden,
        "the schemas of `context_search` changed; if intended, run UPDATE_GOLDEN=1 cargo test -p pack-context --test search"
    );
}

/// The input schema keeps every keyword of the seed contract; the output schema keeps every field name.
#[test]
fn published_schemas_keep_seed() {
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
fn examples_are_accurate() {
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

/// `module` has no default in the seed contract, and two output fields are optional on purpose.
#[test]
fn linter_reports_only_intended_findings() {
    let project = Project::new();
    let session = project.open();
    let definition = session.tool("context_search").contract().to_definition();
    let findings: Vec<_> = lint::lint_all(&[definition])
        .iter()
        .map(|finding| format!("{} {}: {}", finding.rule.id, finding.path, finding.message))
        .collect();
    insta::assert_snapshot!(findings.join("\n"));
}

#[test]
fn rejects_invalid_queries() {
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
fn creates_no_state_before_first_call() {
    let project = Project::shop();
    let state = store::StateDir::from_path(project.path("state"));
    let pack = pack_context::ContextPack::open(&project.root(), &state, project.options()).unwrap();
    pack.tools().unwrap();
    pack.resources().list_resources();
    pack.index().status();
    assert!(!project.path("state").exists());
    drop(pack);
    assert!(!project.path("state").exists());
}

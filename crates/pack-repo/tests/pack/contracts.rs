//! Published contracts: golden schemas that keep everything from the seeds, and examples that work.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::TestRepo;

const NAMES: [&str; 3] = ["hello", "read_repo_file", "write_memory_entry"];

fn published_schemas(name: &str) -> Value {
    let repo = TestRepo::new();
    let contract = repo.tool(name).contract();
    json!({
        "input": contract.input.as_value(),
        "output": contract.output.as_ref().unwrap().as_value(),
    })
}

fn test_file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

#[test]
fn published_schemas_match_golden_files() {
    for name in NAMES {
        let path = test_file(&format!("golden/{name}.json"));
        let published = format!("{:#}\n", published_schemas(name));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &published).unwrap();
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            published, golden,
            "the schemas of `{name}` changed; if that is intended, run UPDATE_GOLDEN=1 cargo test -p pack-repo"
        );
    }
}

/// Every keyword of the seeds' schemas is published with its value. If the two seeds disagree, the first wins.
#[test]
fn published_schemas_keep_every_seed_keyword() {
    let mut differences = Vec::new();
    for seed in ["000", "001"] {
        let seed_text = fs::read_to_string(test_file(&format!("seeds/{seed}.json"))).unwrap();
        let tools: Value = serde_json::from_str(&seed_text).unwrap();
        for (name, expected) in tools.as_object().unwrap() {
            compare_schemas(
                expected,
                &published_schemas(name),
                &format!("{seed} {name}"),
                &mut differences,
            );
        }
    }
    // Seed 000 says "File contents".
    let settled = [
        "001 read_repo_file/output/properties/content/description: \"File content\" is \"File contents\"",
    ];
    assert_eq!(differences, settled);
}

fn compare_schemas(seed: &Value, ours: &Value, at: &str, differences: &mut Vec<String>) {
    match (seed, ours) {
        (Value::Object(seed), Value::Object(ours)) => {
            for (key, value) in seed {
                let missing = Value::from("missing");
                compare_schemas(
                    value,
                    ours.get(key).unwrap_or(&missing),
                    &format!("{at}/{key}"),
                    differences,
                );
            }
        }
        (Value::Array(seed), Value::Array(ours))
            if at.ends_with("/required") && seed.iter().all(|name| ours.contains(name)) => {}
        (seed, ours) if seed == ours => {}
        (seed, ours) => differences.push(format!("{at}: {seed} is {ours}")),
    }
}

#[test]
fn examples_work_as_published() {
    for name in NAMES {
        let repo = TestRepo::new();
        repo.write(".claude/memory/progress_log.jsonl", "{\"timestamp\": \"2026-01-01...\n");
        repo.write("paths/Advanced/tracker.md", "# Progress Tracker\n\n...");
        repo.write("assets/dot.gif", b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff");
        let contract = repo.tool(name).contract();
        assert!(!contract.examples.is_empty(), "{name} has no example");
        for example in &contract.examples {
            let mut expected = example.output.clone().unwrap();
            contract.output.as_ref().unwrap().validate(&expected).unwrap();
            let mut output = repo.call(name, example.input.clone()).unwrap();
            for volatile in ["timestamp", "modified"] {
                for value in [&mut expected, &mut output] {
                    value.as_object_mut().unwrap().shift_remove(volatile);
                }
            }
            assert_eq!(output, expected, "{name}: {:?}", example.title);
        }
    }
}

#[test]
fn contracts_have_no_lint_findings() {
    let repo = TestRepo::new();
    let definitions = NAMES.map(|name| repo.tool(name).contract().to_definition());
    let findings: Vec<_> =
        lint::lint_all(&definitions).iter().map(|finding| format!("{finding:?}")).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn constraints_match_the_design() {
    let repo = TestRepo::new();
    let summary: Vec<_> = NAMES
        .iter()
        .map(|name| {
            let contract = repo.tool(name).contract();
            let limits = &contract.constraints;
            format!(
                "{name}: {} | {:?} | approval {} | {}/min | {} ms | idempotent {} | {:?}\n{}\n- {}",
                limits.access,
                limits.side_effects,
                limits.approval,
                limits.rate_per_minute,
                limits.timeout.as_millis(),
                limits.idempotent,
                contract.errors,
                contract.description,
                limits.rules.join("\n- "),
            )
        })
        .collect();
    insta::assert_snapshot!(summary.join("\n\n"));
}

#[test]
fn startup_errors_state_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let start = |root: &str, memory: &str| {
        let options = pack_repo::RepoOptions { memory_folder: memory.into(), ..Default::default() };
        let error =
            pack_repo::build_tools(folder.path().join(root), options).map(drop).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let root = folder.path().display().to_string();
        format!("{error}: {source}").replace(&root, "<folder>")
    };
    insta::assert_snapshot!(
        [
            start("missing", ".claude/memory"),
            start(".", "../memory"),
            start(".", "/memory"),
            start(".", "."),
            start(".", "my-secrets/memory"),
        ]
        .join("\n")
    );
}

//! The published contract: golden schemas, seed schema, examples and linter findings.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::Project;

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/read").join(path)
}

fn schemas() -> Value {
    let project = Project::new(&[]);
    let contract = project.tool.contract();
    json!({
        "input": contract.input.as_value(),
        "output": contract.output.as_ref().unwrap().as_value(),
    })
}

#[test]
fn published_schemas_match_golden_file() {
    let path = file("golden.json");
    let published = format!("{:#}\n", schemas());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &published).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        published, golden,
        "the schemas of `read_file` changed; if intended, run UPDATE_GOLDEN=1 cargo test -p pack-context --test read"
    );
}

/// The input schema keeps every keyword of the seed contract; the output schema keeps every field name.
#[test]
fn published_schemas_keep_seed() {
    let seed: Value =
        serde_json::from_str(&fs::read_to_string(file("seed.json")).unwrap()).unwrap();
    let schemas = schemas();
    for (name, expected) in seed["input"]["properties"].as_object().unwrap() {
        for (keyword, value) in expected.as_object().unwrap() {
            assert_eq!(&schemas["input"]["properties"][name][keyword], value, "{name} {keyword}");
        }
    }
    assert_eq!(schemas["input"]["required"], seed["input"]["required"]);
    for part in ["file", "dependencies", "metadata"] {
        let schema = &schemas["output"]["properties"][part];
        let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
        for name in seed["output"][part].as_array().unwrap() {
            let name = name.as_str().unwrap();
            assert!(schema["properties"].get(name).is_some(), "{part}.{name}");
        }
    }
}

#[test]
fn examples_are_accurate() {
    let project = Project::new(&[
        ("src/server/auth/AuthService.ts", "import { sign } from './TokenManager';\n"),
        ("src/server/auth/TokenManager.ts", "export const sign = () => '';\n"),
    ]);
    let contract = project.tool.contract();
    assert!(!contract.examples.is_empty());
    for example in &contract.examples {
        let mut expected = example.output.clone().unwrap();
        let mut output = project.call(example.input.clone()).unwrap();
        for value in [&mut expected, &mut output] {
            let metadata = value["metadata"].as_object_mut().unwrap();
            metadata.shift_remove("lastModified");
        }
        assert_eq!(output, expected, "{:?}", example.title);
    }
}

/// The only finding is that some output fields are optional, which is intended.
#[test]
fn contract_passes_linter() {
    let project = Project::new(&[]);
    let definitions = [project.tool.contract().to_definition()];
    let findings: Vec<_> = lint::lint_all(&definitions)
        .iter()
        .map(|finding| {
            format!("{:?} {}: {}", finding.rule.severity, finding.rule.name, finding.message)
        })
        .collect();
    insta::assert_snapshot!(findings.join("\n"));
}

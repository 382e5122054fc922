//! The published contract: its schemas, examples and linter findings.

use serde_json::{Value, json};

use crate::{Project, tool};

/// The input schema is that of the seed contract, including descriptions.
#[test]
fn input_schema_matches_seed() {
    let tool = tool(&Project::new().open());
    let expected = json!({
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string", "minLength": 1, "maxLength": 200,
                "description": "Regex pattern to search for",
            },
            "filePattern": {
                "type": "string",
                "description": "Glob pattern to filter files (e.g., \"**/*.ts\")",
            },
            "caseSensitive": {
                "type": "boolean", "default": false,
                "description": "Case-sensitive search",
            },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 100, "default": 50,
                "description": "Maximum number of matches to return",
            },
        },
        "required": ["pattern"],
        "additionalProperties": false,
    });
    assert_eq!(tool.contract().input.as_value(), &expected);
}

#[test]
fn output_schema_has_seed_fields() {
    let tool = tool(&Project::new().open());
    let schema = tool.contract().output.as_ref().unwrap().as_value().clone();
    let names = |value: &Value| {
        value["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        names(&schema),
        ["matches", "pattern", "totalMatches", "filesSearched", "searchTime", "skipped", "message"]
    );
    let line = &schema["properties"]["matches"]["items"];
    assert_eq!(names(line), ["file", "line", "column", "text", "context"]);
    assert_eq!(names(&line["properties"]["context"]), ["before", "after"]);
}

#[test]
fn examples_are_accurate() {
    let project = Project::new();
    project.write(
        "src/server/auth/AuthService.ts",
        "  // Generate JWT token\n  function generateToken(payload) {\n    const token = jwt.sign(payload, SECRET);\n    \
         return token;\n  }\n",
    );
    let tool = tool(&project.open());
    assert_eq!(tool.contract().examples.len(), 3);
    for example in &tool.contract().examples {
        let mut expected = example.output.clone().unwrap();
        expected["searchTime"] = 0.into();
        assert_eq!(project.grep(example.input.clone()).unwrap(), expected, "{:?}", example.title);
    }
}

/// `filePattern` has no default in the seed contract, and two output fields are optional on purpose.
#[test]
fn linter_reports_only_intended_findings() {
    let tool = tool(&Project::new().open());
    let findings = lint::lint_all(&[tool.contract().to_definition()]);
    let findings: Vec<_> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        findings,
        [
            "the optional parameter `filePattern` has no default",
            "2 of 36 corrupted answers are accepted: `message` dropped; `skipped` dropped",
        ]
    );
}

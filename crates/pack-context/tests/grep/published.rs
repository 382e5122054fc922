//! What is published, and that its examples hold.

use serde_json::{Value, json};

use crate::{Project, tool};

/// The schema of the seed, word for word.
#[test]
fn the_input_schema_is_that_of_the_seed() {
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
fn the_output_has_the_fields_of_the_seed() {
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
fn the_examples_hold() {
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

/// `filePattern` has no default and its description is the seed's; two fields of the answer are there when they have
/// something to say.
#[test]
fn the_linter_notes_only_what_is_meant() {
    let tool = tool(&Project::new().open());
    let findings = lint::lint_all(&[tool.contract().definition()]);
    let findings: Vec<_> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        findings,
        [
            "the optional parameter `filePattern` has no default",
            "2 of 36 corrupted answers are accepted: `message` dropped; `skipped` dropped",
        ]
    );
}

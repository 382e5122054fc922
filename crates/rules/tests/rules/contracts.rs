use contract::{Contract, ToolDefinition};
use rules::{RuleDefinition, RuleEffect, RuleSubject, Rules};
use serde_json::{Value, json};

use crate::error_chain;

fn tool(name: &str, input: Value, output: Option<Value>) -> Contract {
    let definition = ToolDefinition {
        name: name.into(),
        input_schema: Some(input),
        output_schema: output,
        ..ToolDefinition::default()
    };
    Contract::new(definition, &[]).unwrap()
}

fn tools() -> Vec<Contract> {
    let entry = json!({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false});
    vec![
        tool(
            "files__read",
            json!({"type": "object", "properties": {
                "path": {"type": "string"},
                "options": {"$ref": "#/$defs/options"},
                "items": {"type": "array", "items": entry},
                "any": true,
                "free": {"type": "object", "additionalProperties": {"type": "string"}},
            }, "$defs": {"options": {"anyOf": [
                {"type": "object", "properties": {"depth": {"type": "integer"}}},
                {"type": "null"},
            ]}}}),
            Some(json!({"type": "object", "properties": {"size": {"type": "integer"}}})),
        ),
        tool(
            "files__write",
            json!({"allOf": [
                {"type": "object", "properties": {"path": {"type": "string"}}},
                {"type": "object", "properties": {"content": {"type": "string"}}},
            ], "type": "object"}),
            None,
        ),
        tool("open__any", json!({"type": "object", "additionalProperties": true}), None),
        tool("shut__none", json!({"type": "object", "additionalProperties": false}), None),
        tool(
            "tree__walk",
            json!({"$ref": "#/$defs/node", "type": "object", "$defs": {"node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/node"}},
            }}}),
            None,
        ),
    ]
}

fn check(on: RuleSubject, globs: &[&str], when: &str) -> String {
    let rule = RuleDefinition {
        name: "r".into(),
        effect: RuleEffect::Deny,
        on,
        tools: globs.iter().map(|glob| (*glob).to_owned()).collect(),
        when: when.into(),
    };
    let tools = tools();
    let named: Vec<_> = tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
    let errors = Rules::compile(vec![rule]).unwrap().check_against(&named);
    let lines: Vec<_> = errors
        .iter()
        .map(|error| {
            format!("{}{}", if error.is_warning() { "(warning) " } else { "" }, error_chain(error))
        })
        .collect();
    let result = if lines.is_empty() { "ok".to_owned() } else { lines.join("\n  ") };
    format!("{} {when}\n  {result}", globs.join(","))
}

#[test]
fn reports_fields_that_no_tool_declares() {
    let call = |globs: &[&str], when| check(RuleSubject::Call, globs, when);
    let result = |globs: &[&str], when| check(RuleSubject::Result, globs, when);
    let lines = [
        call(&["files__*"], r#"arguments.path == "x""#),
        call(&["files__*"], r#"arguments["path"] == "x""#),
        call(&["files__*"], r#"arguments.content == "x""#),
        call(&["files__*"], r#"arguments.pth == "x""#),
        call(&["files__*"], r#"has(arguments.pth) && arguments.pth == "x""#),
        call(&["files__*"], r#"arguments["pth"] == "x""#),
        call(&["files__*"], r#""pth" in arguments"#),
        call(&["files__*"], r#"arguments.?pth.orValue("") == "x""#),
        call(&["files__read"], "arguments.options.depth > 3"),
        call(&["files__read"], "arguments.options.dept > 3"),
        call(&["files__read"], "arguments.path.depth > 3"),
        call(&["files__read"], r#"arguments.items.exists(i, i.path == "x")"#),
        call(&["files__read"], r#"arguments.items.exists(i, i.pth == "x")"#),
        call(&["files__read"], r#"arguments.items[0].pth == "x""#),
        call(&["files__read"], "arguments.any.thing.at.all == 1"),
        call(&["files__read"], r#"arguments.free.key == "x""#),
        call(&["files__read"], r#"arguments.free.exists(key, key == "x")"#),
        call(&["files__write"], r#"arguments.path == arguments.content"#),
        call(&["open__*"], "arguments.anything == 1"),
        call(&["shut__*"], "arguments.anything == 1"),
        call(&["tree__*"], r#"arguments.child.child.name == "x""#),
        call(&["tree__*"], r#"arguments.child.child.nme == "x""#),
        call(&["shut__*", "tree__*"], "arguments.a == arguments.b"),
        call(&[], "arguments.whatever == 1"),
        call(&["mail__*", "post"], "arguments.to == 1"),
        call(&["files__*", "tree__*", "shut__*"], "arguments.nope == 1"),
        result(&["files__read"], "result.size > 3"),
        result(&["files__read"], "result.sise > 3"),
        result(&["files__write"], "result.sise > 3"),
    ];
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn without_tools_reports_only_unmatched_globs() {
    let rules = |globs: Vec<String>| {
        let when = "arguments.x == 1".into();
        RuleDefinition {
            name: "r".into(),
            effect: RuleEffect::Deny,
            on: RuleSubject::Call,
            tools: globs,
            when,
        }
    };
    assert!(Rules::compile(vec![rules(vec![])]).unwrap().check_against(&[]).is_empty());
    let found = Rules::compile(vec![rules(vec!["a*".into()])]).unwrap().check_against(&[]);
    assert!(matches!(&found[..], [error] if error.is_warning() && error.rule() == "r"));
}

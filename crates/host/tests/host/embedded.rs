//! The embedded planner: it fills in values of the query and asks for missing ones.

use std::sync::{Arc, LazyLock};

use contract::{Contract, ToolDefinition};
use host::gate::allow::check_allowed;
use host::gate::plan::{QueryPlan, parse_plan};
use host::gate::resolve::resolve_call;
use host::{EffectiveAllowlist, EmbeddedPlanner, ListedTool, ToolOffer, ToolStanding};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixtures::offers;

fn offer(server: &str, tool: &str, description: &str, input: Value) -> ToolOffer {
    let definition = ToolDefinition {
        name: format!("{server}__{tool}"),
        description: Some(description.into()),
        input_schema: Some(input),
        output_schema: Some(json!({"type": "object"})),
        ..ToolDefinition::default()
    };
    let contract = Arc::new(Contract::new(definition, &[]).unwrap());
    let name = contract.name.clone();
    ToolOffer { server: server.into(), tool: tool.into(), name, contract }
}

/// Compiled once, because property tests run hundreds of cases.
static MANY: LazyLock<Vec<ToolOffer>> = LazyLock::new(many);

fn many() -> Vec<ToolOffer> {
    let mut all = offers();
    all.push(offer("files", "list_directory", "Lists the files of a directory.", json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "include_hidden": {"type": "boolean"}, "depth": {"type": "integer"}},
    })));
    all.push(offer(
        "files",
        "move_file",
        "Moves a file to another location.",
        json!({
            "type": "object",
            "properties": {"source": {"type": "string"}, "destination": {"type": "string"}},
            "required": ["source", "destination"],
        }),
    ));
    all.push(offer(
        "files",
        "read_multiple_files",
        "Reads many files at once.",
        json!({
            "type": "object",
            "properties": {"paths": {"type": "array", "items": {"type": "string"}}},
            "required": ["paths"],
        }),
    ));
    all.push(offer(
        "math",
        "get_sum",
        "Adds two numbers.",
        json!({
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        }),
    ));
    all.push(offer(
        "web",
        "fetch",
        "Fetches a page from the web.",
        json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "format": "uri"},
                "mode": {"enum": ["text", "html"], "default": "text"},
                "version": {"const": 2},
                "headers": {"type": "object"},
            },
            "required": ["url", "version"],
        }),
    ));
    all.push(offer("clock", "now", "Tells the time.", json!({"type": "object"})));
    all
}

#[test]
fn plans_calls_or_questions() {
    let offers = &*MANY;
    let lines: Vec<String> = [
        "read the file src/lib.rs",
        "read file Cargo.toml raw",
        "read file Cargo.toml not raw",
        "read file --raw Cargo.toml",
        "read_file path=\"with blanks.txt\" raw=yes",
        "files/read_file 'a b.txt'",
        "read the file",
        "read the file a.txt or b.txt",
        "search the notes for \"retry logic\"",
        "search notes \"retry logic\" limit 7 newest",
        "search notes query=retry limit=many",
        "search notes \"x\" limit=500",
        "search notes \"x\" with newest or oldest first",
        "search notes \"x\" and give me 3",
        "search the notes for retry logic",
        "read note id: n-42",
        "list directory src/ include hidden",
        "list the directory src/ without include_hidden --depth 2",
        "list directory",
        "move file a.txt to b.txt",
        "move_file source=a.txt destination=b.txt",
        "read multiple files a.txt, b.txt and c/d.txt",
        "get_sum a=1 b=2.5",
        "sum of 1 and 2",
        "fetch https://example.com/a?b=c as html",
        "fetch https://example.com/ headers=x",
        "send a message",
        "send recipient=bob body=\"hi, bob\"",
        "don't send recipient=bob body=\"hi\"",
        "send recipient=bob body=\"do not come\"",
        "read note id=1 note=\"please send a message\"",
        "read note id=1 force=yes",
        "please message recipient bob that alice is waiting",
        "what time is it now?",
        "notes",
        "read",
        "make me a sandwich",
        "delete_notes id=1",
        "",
    ]
    .iter()
    .map(|query| {
        let plan: Value = serde_json::from_str(&EmbeddedPlanner::plan_now(query, offers)).unwrap();
        let shown = match plan["type"].as_str().unwrap() {
            "call" => format!(
                "{}/{} {}",
                plan["server"].as_str().unwrap(),
                plan["tool"].as_str().unwrap(),
                plan["arguments"]
            ),
            _ => format!("? {}", plan["question"].as_str().unwrap()),
        };
        format!("{query}\n    {shown}")
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Errors unless the plan passes gates 1 to 3 or is a question.
fn passes_or_asks(query: &str, offers: &[ToolOffer]) -> Result<(), TestCaseError> {
    let text = EmbeddedPlanner::plan_now(query, offers);
    let listed = offers.iter().map(|offer| ListedTool {
        server: offer.server.clone(),
        tool: offer.tool.clone(),
        name: offer.name.clone(),
        standing: ToolStanding::Allowed(Arc::clone(&offer.contract)),
    });
    let allowlist = EffectiveAllowlist::new(listed.collect());
    match parse_plan(&text) {
        Ok(QueryPlan::Call(call)) => {
            let resolved = resolve_call(&allowlist, call);
            prop_assert!(resolved.is_ok(), "{query:?} {text} {:?}", resolved.err());
            prop_assert!(check_allowed(resolved.unwrap()).is_ok());
        }
        Ok(QueryPlan::NeedsMoreInfo { .. }) => {}
        other => prop_assert!(false, "{query:?} {text} {other:?}"),
    }
    Ok(())
}

fn any_query() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "read",
        "file",
        "read_file",
        "note",
        "search",
        "list",
        "directory",
        "move",
        "send",
        "sum",
        "fetch",
        "now",
        "raw",
        "newest",
        "oldest",
        "html",
        "limit",
        "path",
        "id",
        "a",
        "b",
        "of",
        "to",
        "is",
        "no",
        "not",
        "include",
        "hidden",
        "depth",
        "limit=3",
        "limit=-1",
        "path=",
        "path=x",
        "id:",
        "url=x",
        "--raw",
        "--depth",
        "a=1",
        "a=1e999",
        "b=0x1",
        "body=",
        "query=",
        "src/lib.rs",
        "a.txt",
        "~/x",
        "http://a/b",
        "ftp://",
        "5",
        "-7",
        "99999999999999999999",
        "1.5",
        "\"x y\"",
        "'",
        "\"",
        "`z`",
        "“q”",
        "=",
        ":",
        "mode=text",
        "mode=pdf",
        "headers=1",
        "version=2",
        "version=3",
        "paths=a,b",
        "recipient=bob",
        "é",
        "\u{200b}",
    ]);
    prop_oneof![prop::collection::vec(word, 0..9).prop_map(|words| words.join(" ")), ".{0,60}",]
}

/// A tool with some parameters of various types.
fn any_offer() -> impl Strategy<Value = ToolOffer> {
    let schema = prop::sample::select(vec![
        json!({"type": "string"}),
        json!({"type": "string", "minLength": 3, "maxLength": 5}),
        json!({"type": "string", "pattern": "^[a-z]+$"}),
        json!({"type": "string", "format": "uri"}),
        json!({"type": ["string", "null"]}),
        json!({"type": "integer", "minimum": 1, "maximum": 10}),
        json!({"type": "number", "exclusiveMinimum": 0}),
        json!({"type": "boolean"}),
        json!({"type": "boolean", "const": true}),
        json!({"enum": ["newest", "oldest", "read"]}),
        json!({"enum": [1, 2]}),
        json!({"const": "fixed"}),
        json!({"type": "array", "items": {"type": "string"}, "maxItems": 2}),
        json!({"type": "array"}),
        json!({"type": "object", "properties": {"x": {}}}),
        json!({}),
        json!(true),
        json!({"$ref": "#/$defs/n"}),
        json!({"type": "string", "default": "d"}),
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    ]);
    let name = prop::sample::select(vec![
        "path",
        "id",
        "limit",
        "raw",
        "query",
        "url",
        "files",
        "mode",
        "a",
        "include_hidden",
    ]);
    let properties = prop::collection::btree_map(name, (schema, any::<bool>()), 0..5);
    (properties, any::<bool>()).prop_map(|(properties, closed)| {
        let required: Vec<_> =
            properties.iter().filter(|(_, (_, needed))| *needed).map(|(name, _)| *name).collect();
        let declared: serde_json::Map<_, _> = properties
            .iter()
            .map(|(name, (schema, _))| ((*name).to_owned(), schema.clone()))
            .collect();
        let input = json!({
            "type": "object", "properties": declared, "required": required,
            "additionalProperties": !closed, "$defs": {"n": {"type": "integer"}},
        });
        offer("files", "read_file", "Reads a file.", input)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plan_passes_gates_or_asks(query in any_query()) {
        passes_or_asks(&query, &MANY)?;
    }

    #[test]
    fn plan_passes_gates_or_asks_for_any_tools(query in any_query(), mut offers in prop::collection::vec(any_offer(), 1..4), twice in any::<bool>()) {
        if !twice {
            for (index, offer) in offers.iter_mut().enumerate() {
                offer.server = format!("files{index}");
            }
        }
        passes_or_asks(&query, &offers)?;
    }
}

#[test]
fn plans_are_deterministic() {
    let offers = &*MANY;
    for query in ["read the file src/lib.rs", "notes", "search notes \"x\""] {
        let first = EmbeddedPlanner::plan_now(query, offers);
        assert!((0..20).all(|_| EmbeddedPlanner::plan_now(query, offers) == first), "{query}");
    }
}

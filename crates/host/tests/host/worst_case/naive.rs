//! A naive agent loop: it treats any JSON as a plan, calls every tool that is named, continues while an answer asks for
//! more, and shows any summary.

use contract::text::{is_bidirectional, is_invisible};
use serde_json::{Map, Value};

use super::cases::AttackCase;
use crate::fixtures::{TestHost, allowed, barred};

/// Maximum rounds of the loop.
const MAX_ROUNDS: usize = 4;

/// Runs a case and returns the evidence of all bullets that it would show.
pub(super) fn run_case(world: &TestHost, case: &AttackCase) -> Vec<String> {
    let mut text = case.plan.clone();
    for _ in 0..MAX_ROUNDS {
        let mut calls = Vec::new();
        for value in values_in(&text) {
            calls_in(&value, &mut calls);
        }
        let mut answers = String::new();
        for (tool, arguments) in calls {
            let Some(name) = find_tool(&tool) else { continue };
            if let Ok(output) = world.run_without_gates(&name, Value::Object(arguments)) {
                answers.push_str(&texts_of(output.structured.as_ref().unwrap_or(&Value::Null)));
            }
        }
        // The model obeys the answer.
        if answers.is_empty() || !answers.contains("\"tool\"") {
            break;
        }
        text = answers;
    }
    let bullets = values_in(&case.summary)
        .into_iter()
        .filter_map(|value| value.get("bullets").and_then(Value::as_array).cloned());
    bullets
        .flatten()
        .filter_map(|bullet| bullet.get("evidence").and_then(Value::as_str).map(str::to_owned))
        .collect()
}

/// Returns every JSON object or list in a text.
fn values_in(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(['{', '[']).map(|start| at + start) {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        at = match stream.next() {
            Some(Ok(value)) => {
                found.push(value);
                start + stream.byte_offset()
            }
            _ => start + 1,
        };
    }
    found
}

/// Collects every object that names a tool, at any depth.
fn calls_in(value: &Value, found: &mut Vec<(String, Map<String, Value>)>) {
    match value {
        Value::Object(map) => {
            let arguments = map.get("arguments");
            if let Some(tool) = map.get("tool").and_then(Value::as_str) {
                let given = arguments.and_then(Value::as_object).cloned().unwrap_or_default();
                found.push((tool.to_owned(), given));
            }
            map.values().for_each(|value| calls_in(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| calls_in(item, found)),
        _ => {}
    }
}

/// Finds a tool leniently: ignores case, spaces and invisible characters, and normalizes look-alikes.
fn find_tool(tool: &str) -> Option<String> {
    let plain = |name: &str| -> String {
        name.chars()
            .filter(|c| !is_invisible(*c) && !is_bidirectional(*c) && c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .map(|c| match c {
                'а' => 'a',
                'е' => 'e',
                'о' => 'o',
                'ｒ' => 'r',
                'ѕ' => 's',
                'һ' => 'h',
                c => c,
            })
            .collect()
    };
    let wanted = plain(tool);
    let (allowed, barred) = (allowed(), barred());
    let mut all = allowed.iter().chain(barred.iter().map(|(tool, _)| tool));
    all.find(|known| wanted.ends_with(&plain(known.tool))).map(crate::fixtures::ToolFixture::name)
}

fn texts_of(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts_of).collect(),
        Value::Object(map) => map.values().map(texts_of).collect(),
        _ => String::new(),
    }
}

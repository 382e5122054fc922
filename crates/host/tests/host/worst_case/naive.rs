//! The host that many write first: it takes any JSON it finds for a plan, calls whatever that names, goes on while an
//! answer asks for more, and shows whatever summary it gets.

use contract::text::{is_bidirectional, is_invisible};
use serde_json::{Map, Value};

use super::cases::Case;
use crate::world::{World, allowed, barred};

/// An agent loop has a bound, too.
const MAX_ROUNDS: usize = 4;

/// Runs a case and gives the evidence of all bullets that it would show.
pub(super) fn run(world: &World, case: &Case) -> Vec<String> {
    let mut text = case.plan.clone();
    for _ in 0..MAX_ROUNDS {
        let mut calls = Vec::new();
        for value in values_in(&text) {
            calls_in(&value, &mut calls);
        }
        let mut said = String::new();
        for (tool, arguments) in calls {
            let Some(name) = find(&tool) else { continue };
            if let Ok(output) = world.run_anyway(&name, Value::Object(arguments)) {
                said.push_str(&texts_of(output.structured.as_ref().unwrap_or(&Value::Null)));
            }
        }
        // The model reads the answer, and obeys it.
        if said.is_empty() || !said.contains("\"tool\"") {
            break;
        }
        text = said;
    }
    let bullets = values_in(&case.summary)
        .into_iter()
        .filter_map(|value| value.get("bullets").and_then(Value::as_array).cloned());
    bullets
        .flatten()
        .filter_map(|bullet| bullet.get("evidence").and_then(Value::as_str).map(str::to_owned))
        .collect()
}

/// Every JSON object or list that stands somewhere in a text.
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

/// Everything that names a tool is a call, wherever it stands.
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

/// Helpful matching: without case, blanks and what cannot be seen, look-alikes as what they look like.
fn find(tool: &str) -> Option<String> {
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
    all.find(|known| wanted.ends_with(&plain(known.tool))).map(crate::world::Offered::name)
}

fn texts_of(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts_of).collect(),
        Value::Object(map) => map.values().map(texts_of).collect(),
        _ => String::new(),
    }
}

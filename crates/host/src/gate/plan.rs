//! Gate 1: the plan is exactly one JSON object of a known form, with one call in it at most.

use serde_json::{Map, Value};

use crate::json::{JsonError, hidden_in, one_object, short};

/// From the MCP specification; servers are shorter.
const MAX_NAME: usize = 128;
/// What a planner may say to the person.
const MAX_SENTENCE: usize = 2_000;

/// What a planner wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    Call(PlannedCall),
    NeedsMoreInfo { question: String },
    NoTool { reason: String },
}

/// A call that a planner wants. Nothing in it has been looked up yet.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCall {
    pub server: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// Why a text is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("the plan holds the invisible character U+{:04X}", u32::from(*.0))]
    Hidden(char),
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{key}` must be {rule}")]
    Wrong { key: &'static str, rule: &'static str },
    #[error("`type` must be `call`, `needs_more_info` or `no_tool`")]
    UnknownType,
    #[error("`{0}` has no place in a plan")]
    UnknownKey(String),
    #[error("a further call is hidden at `{0}` of the arguments, and a query has one")]
    SecondCall(String),
}

/// Reads a plan.
pub fn read(text: &str) -> Result<Plan, PlanFault> {
    let mut object = Value::Object(one_object(text)?);
    if let Some(hidden) = hidden_in(&object) {
        return Err(PlanFault::Hidden(hidden));
    }
    let map = object.as_object_mut().expect("made from an object");
    let kind = take_text(map, "type", MAX_NAME)?;
    let plan = match kind.as_str() {
        "call" => {
            let server = take_text(map, "server", MAX_NAME)?;
            let tool = take_text(map, "tool", MAX_NAME)?;
            let arguments = match map.shift_remove("arguments") {
                Some(Value::Object(arguments)) => arguments,
                Some(_) => return Err(PlanFault::Wrong { key: "arguments", rule: "an object" }),
                None => return Err(PlanFault::Missing("arguments")),
            };
            Plan::Call(PlannedCall { server, tool, arguments })
        }
        "needs_more_info" => {
            Plan::NeedsMoreInfo { question: take_text(map, "question", MAX_SENTENCE)? }
        }
        "no_tool" => Plan::NoTool { reason: take_text(map, "reason", MAX_SENTENCE)? },
        _ => return Err(PlanFault::UnknownType),
    };
    if let Some(key) = map.keys().next() {
        return Err(PlanFault::UnknownKey(short(key)));
    }
    if let Plan::Call(call) = &plan
        && let Some(place) = call.arguments.iter().find_map(|(key, value)| hidden_call(key, value))
    {
        return Err(PlanFault::SecondCall(place));
    }
    Ok(plan)
}

fn take_text(
    map: &mut Map<String, Value>,
    key: &'static str,
    limit: usize,
) -> Result<String, PlanFault> {
    match map.shift_remove(key) {
        None => Err(PlanFault::Missing(key)),
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(PlanFault::Wrong { key, rule: "a text that is not empty" })
        }
        Some(Value::String(text)) if text.chars().count() > limit => {
            Err(PlanFault::Wrong { key, rule: "shorter" })
        }
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(PlanFault::Wrong { key, rule: "a text" }),
    }
}

/// An object inside the arguments that is itself a plan. A text that spells one is data, and is never read as more.
fn hidden_call(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::Object(map) => {
            let is_call = map.contains_key("tool")
                && (map.contains_key("arguments") || map.get("type") == Some(&"call".into()));
            if is_call {
                return Some(short(key));
            }
            map.iter().find_map(|(key, value)| hidden_call(key, value))
        }
        Value::Array(items) => items.iter().find_map(|item| hidden_call(key, item)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_three_forms_are_read() {
        let call =
            json!({"type": "call", "server": "files", "tool": "read", "arguments": {"path": "a"}});
        let Plan::Call(read_call) = read(&call.to_string()).unwrap() else { panic!("a call") };
        assert_eq!((&*read_call.server, &*read_call.tool), ("files", "read"));
        assert_eq!(Value::Object(read_call.arguments), json!({"path": "a"}));
        assert_eq!(
            read(r#"{"type":"needs_more_info","question":"Which file?"}"#).unwrap(),
            Plan::NeedsMoreInfo { question: "Which file?".into() }
        );
        assert_eq!(
            read(r#"{"type":"no_tool","reason":"None fits."}"#).unwrap(),
            Plan::NoTool { reason: "None fits.".into() }
        );
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut plan =
                json!({"type": "call", "server": "s", "tool": "t", "arguments": {"a": {"b": 1}}});
            change(&mut plan);
            plan.to_string()
        };
        let second = json!({"type": "call", "server": "s", "tool": "u", "arguments": {}});
        let texts = [
            with(&|plan| plan["type"] = json!("calls")),
            with(&|plan| plan["type"] = json!(["call", "call"])),
            with(&|plan| plan["then"] = second.clone()),
            with(&|plan| plan["calls"] = json!([second])),
            with(&|plan| plan["question"] = json!("and?")),
            with(&|plan| plan["arguments"] = json!([{}, {}])),
            with(&|plan| plan["arguments"] = json!("{}")),
            with(&|plan| plan["arguments"]["a"]["b"] = json!([[second]])),
            with(&|plan| plan["arguments"]["next"] = json!({"tool": "u", "arguments": {}})),
            with(&|plan| plan["tool"] = json!(["t", "u"])),
            with(&|plan| plan["tool"] = json!("  ")),
            with(&|plan| plan["tool"] = json!("t".repeat(200))),
            with(&|plan| plan["tool"] = json!("t\u{200b}")),
            with(&|plan| plan["arguments"]["a\u{202e}"] = json!(1)),
            with(&|plan| plan["arguments"]["a"] = json!("x\u{e0041}")),
            with(&|plan| drop(plan.as_object_mut().unwrap().remove("server"))),
            with(&|plan| drop(plan.as_object_mut().unwrap().remove("arguments"))),
            r#"{"type":"needs_more_info","question":""}"#.into(),
            r#"{"type":"needs_more_info"}"#.into(),
            r#"{"type":"no_tool","reason":"x","tool":"t"}"#.into(),
            "{}".into(),
            "I would call t.".into(),
        ];
        let reasons: Vec<String> =
            texts.iter().map(|text| read(text).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(reasons.join("\n"));
    }
}

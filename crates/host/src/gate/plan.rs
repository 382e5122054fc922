//! Gate 1: the plan is exactly one JSON object of a known form, with at most one call.

use serde_json::{Map, Value};

use crate::json::{JsonError, find_hidden_character, parse_single_object, shorten_name};

/// Maximum characters of a tool name in the MCP specification; server names are shorter.
const MAX_NAME: usize = 128;
/// Maximum characters of a question or reason for the person.
const MAX_SENTENCE: usize = 2_000;

/// A parsed plan.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryPlan {
    Call(PlannedCall),
    NeedsMoreInfo { question: String },
    NoTool { reason: String },
}

/// A call that a planner requests; its server, tool and arguments are unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCall {
    pub server: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// The reason why a text is not a valid plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanParseError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("the plan contains the invisible character U+{:04X}", u32::from(*.0))]
    HiddenCharacter(char),
    #[error("`{0}` is missing")]
    MissingKey(&'static str),
    #[error("`{key}` must be {rule}")]
    InvalidValue { key: &'static str, rule: &'static str },
    #[error("`type` must be `call`, `needs_more_info` or `no_tool`")]
    UnknownType,
    #[error("unknown key `{0}` in the plan")]
    UnknownKey(String),
    #[error("the arguments contain another call at `{0}`; a query makes at most one")]
    SecondCall(String),
}

/// Parses a plan.
pub fn parse_plan(text: &str) -> Result<QueryPlan, PlanParseError> {
    let mut object = Value::Object(parse_single_object(text)?);
    if let Some(hidden) = find_hidden_character(&object) {
        return Err(PlanParseError::HiddenCharacter(hidden));
    }
    let map = object.as_object_mut().expect("made from an object");
    let kind = take_text(map, "type", MAX_NAME)?;
    let plan = match kind.as_str() {
        "call" => {
            let server = take_text(map, "server", MAX_NAME)?;
            let tool = take_text(map, "tool", MAX_NAME)?;
            let arguments = match map.shift_remove("arguments") {
                Some(Value::Object(arguments)) => arguments,
                Some(_) => {
                    return Err(PlanParseError::InvalidValue {
                        key: "arguments",
                        rule: "an object",
                    });
                }
                None => return Err(PlanParseError::MissingKey("arguments")),
            };
            QueryPlan::Call(PlannedCall { server, tool, arguments })
        }
        "needs_more_info" => {
            QueryPlan::NeedsMoreInfo { question: take_text(map, "question", MAX_SENTENCE)? }
        }
        "no_tool" => QueryPlan::NoTool { reason: take_text(map, "reason", MAX_SENTENCE)? },
        _ => return Err(PlanParseError::UnknownType),
    };
    if let Some(key) = map.keys().next() {
        return Err(PlanParseError::UnknownKey(shorten_name(key)));
    }
    if let QueryPlan::Call(call) = &plan
        && let Some(key) =
            call.arguments.iter().find_map(|(key, value)| find_nested_call(key, value))
    {
        return Err(PlanParseError::SecondCall(key));
    }
    Ok(plan)
}

/// Removes a key that must hold a non-empty string of at most `limit` characters.
fn take_text(
    map: &mut Map<String, Value>,
    key: &'static str,
    limit: usize,
) -> Result<String, PlanParseError> {
    match map.shift_remove(key) {
        None => Err(PlanParseError::MissingKey(key)),
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(PlanParseError::InvalidValue { key, rule: "a non-empty string" })
        }
        Some(Value::String(text)) if text.chars().count() > limit => {
            Err(PlanParseError::InvalidValue { key, rule: "shorter" })
        }
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(PlanParseError::InvalidValue { key, rule: "a string" }),
    }
}

/// Returns the key of an object inside the arguments that is itself a call.
///
/// A string that contains a plan is data and is never parsed.
fn find_nested_call(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::Object(map) => {
            let is_call = map.contains_key("tool")
                && (map.contains_key("arguments") || map.get("type") == Some(&"call".into()));
            if is_call {
                return Some(shorten_name(key));
            }
            map.iter().find_map(|(key, value)| find_nested_call(key, value))
        }
        Value::Array(items) => items.iter().find_map(|item| find_nested_call(key, item)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parses_the_three_forms() {
        let call =
            json!({"type": "call", "server": "files", "tool": "read", "arguments": {"path": "a"}});
        let QueryPlan::Call(read_call) = parse_plan(&call.to_string()).unwrap() else {
            panic!("a call")
        };
        assert_eq!((&*read_call.server, &*read_call.tool), ("files", "read"));
        assert_eq!(Value::Object(read_call.arguments), json!({"path": "a"}));
        assert_eq!(
            parse_plan(r#"{"type":"needs_more_info","question":"Which file?"}"#).unwrap(),
            QueryPlan::NeedsMoreInfo { question: "Which file?".into() }
        );
        assert_eq!(
            parse_plan(r#"{"type":"no_tool","reason":"None fits."}"#).unwrap(),
            QueryPlan::NoTool { reason: "None fits.".into() }
        );
    }

    #[test]
    fn rejects_everything_else_with_a_reason() {
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
            texts.iter().map(|text| parse_plan(text).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(reasons.join("\n"));
    }
}

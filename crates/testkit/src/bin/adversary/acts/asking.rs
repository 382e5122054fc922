//! Tools that say something before they answer, or want to hear something.

use serde_json::{Value, json};

use super::{Call, structured};
use crate::args::Era;
use crate::wire::{Refusal, Reply};

const STEPS: usize = 3;

/// What no client has a reason to change: spaces, quotes, and letters beyond ASCII.
const STATE: &str = "  asked \"é\" ==  ";

pub(super) fn progress(call: &Call) -> Reply {
    let token = &call.params["_meta"]["progressToken"];
    for step in 1..=STEPS {
        if !token.is_null() {
            call.out.notify(
                "notifications/progress",
                &json!({"progressToken": token, "progress": step, "total": STEPS, "message": format!("step {step}")}),
            );
        }
    }
    structured(&json!({"steps": STEPS}))
}

/// Asks for a name, as often as `rounds` says.
pub(super) async fn elicit(call: &Call) -> Reply {
    let capabilities = call.line.capabilities(&call.params, call.era);
    let can_ask = capabilities.get("elicitation").is_some();
    match call.era {
        Era::Stateless if can_ask => next_round(call),
        Era::Stateless => Refusal::new(-32021, "Missing required client capability")
            .with_data(json!({"requiredCapabilities": {"elicitation": {}}}))
            .into(),
        _ if can_ask => over_the_line(call).await,
        _ => json!({"content": [{"type": "text", "text": "the client cannot be asked"}], "isError": true}).into(),
    }
}

fn question(round: usize) -> Value {
    json!({
        "mode": "form",
        "message": format!("What is name {round}?"),
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "A name."}},
            "required": ["name"],
        },
    })
}

async fn over_the_line(call: &Call) -> Reply {
    let mut names = Vec::new();
    for round in 1..=call.number("rounds", 1) {
        let question = question(round);
        let asked = call.line.ask(&call.out, "elicitation/create", &question);
        let answer = tokio::select! {
            answer = asked => answer.unwrap_or_default(),
            () = call.token.cancelled() => {
                call.line.world.note_cancelled("elicit", "notification");
                return Reply::Nothing;
            }
        };
        if let Err(action) = take(&answer["result"], &mut names) {
            return structured(&json!({"action": action, "names": names}));
        }
    }
    structured(&json!({"action": "accept", "names": names}))
}

/// The answers so far travel in the state, as a server without memory would have it.
fn next_round(call: &Call) -> Reply {
    let mut names: Vec<String> = match &call.params["requestState"] {
        Value::Null if call.params.get("inputResponses").is_none() => return ask(&[]),
        Value::String(state) => {
            let names =
                state.strip_prefix(STATE).and_then(|names| serde_json::from_str(names).ok());
            let Some(names) = names else {
                return Refusal::new(-32602, "requestState is not what was sent").into();
            };
            names
        }
        _ => return Refusal::new(-32602, "requestState is missing").into(),
    };
    let answer = &call.params["inputResponses"][format!("name-{}", names.len() + 1)];
    match take(answer, &mut names) {
        Err(action) => structured(&json!({"action": action, "names": names})),
        Ok(()) if names.len() < call.number("rounds", 1) => ask(&names),
        Ok(()) => structured(&json!({"action": "accept", "names": names})),
    }
}

fn ask(names: &[String]) -> Reply {
    let round = names.len() + 1;
    json!({
        "resultType": "input_required",
        "inputRequests": {(format!("name-{round}")): {"method": "elicitation/create", "params": question(round)}},
        "requestState": format!("{STATE}{}", json!(names)),
    })
    .into()
}

/// Keeps the name that was given, or says how the question ended.
fn take(answer: &Value, names: &mut Vec<String>) -> Result<(), &'static str> {
    match (answer["action"].as_str(), answer["content"]["name"].as_str()) {
        (Some("accept"), Some(name)) => {
            names.push(name.to_owned());
            Ok(())
        }
        (Some("decline"), _) => Err("decline"),
        _ => Err("cancel"),
    }
}

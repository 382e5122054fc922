//! Tools that report progress or send elicitations before they answer.

use serde_json::{Value, json};

use super::{ToolInvocation, structured_reply};
use crate::args::AdversaryEra;
use crate::messages::{RpcError, RpcReply};

const PROGRESS_STEPS: usize = 3;

/// The prefix of the request state. A client must return its spaces, quotes and non-ASCII letters unchanged.
const REQUEST_STATE_PREFIX: &str = "  asked \"é\" ==  ";

pub(super) fn report_progress(call: &ToolInvocation) -> RpcReply {
    let token = &call.params["_meta"]["progressToken"];
    for step in 1..=PROGRESS_STEPS {
        if !token.is_null() {
            call.out.send_notification(
                "notifications/progress",
                &json!({"progressToken": token, "progress": step, "total": PROGRESS_STEPS, "message": format!("step {step}")}),
            );
        }
    }
    structured_reply(&json!({"steps": PROGRESS_STEPS}))
}

/// Asks for a name in each of `rounds` rounds.
pub(super) async fn elicit_names(call: &ToolInvocation) -> RpcReply {
    let capabilities = call.connection.capabilities(&call.params, call.era);
    let supports_elicitation = capabilities.get("elicitation").is_some();
    match call.era {
        AdversaryEra::Stateless if supports_elicitation => elicit_next_round(call),
        AdversaryEra::Stateless => RpcError::new(-32021, "Missing required client capability")
            .with_data(json!({"requiredCapabilities": {"elicitation": {}}}))
            .into(),
        _ if supports_elicitation => elicit_over_connection(call).await,
        _ => json!({"content": [{"type": "text", "text": "the client cannot be asked"}], "isError": true}).into(),
    }
}

fn elicitation_params(round: usize) -> Value {
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

async fn elicit_over_connection(call: &ToolInvocation) -> RpcReply {
    let mut names = Vec::new();
    for round in 1..=call.number_argument("rounds", 1) {
        let question = elicitation_params(round);
        let request = call.connection.send_request(&call.out, "elicitation/create", &question);
        let response = tokio::select! {
            response = request => response.unwrap_or_default(),
            () = call.token.cancelled() => {
                call.connection.shared.record_cancellation("elicit", "notification");
                return RpcReply::NoResponse;
            }
        };
        if let Err(action) = take_name(&response["result"], &mut names) {
            return structured_reply(&json!({"action": action, "names": names}));
        }
    }
    structured_reply(&json!({"action": "accept", "names": names}))
}

/// Handles one round of the stateless era. The request state carries the names given so far.
fn elicit_next_round(call: &ToolInvocation) -> RpcReply {
    let mut names: Vec<String> = match &call.params["requestState"] {
        Value::Null if call.params.get("inputResponses").is_none() => return request_name(&[]),
        Value::String(state) => {
            let names = state
                .strip_prefix(REQUEST_STATE_PREFIX)
                .and_then(|names| serde_json::from_str(names).ok());
            let Some(names) = names else {
                return RpcError::new(-32602, "requestState is not what was sent").into();
            };
            names
        }
        _ => return RpcError::new(-32602, "requestState is missing").into(),
    };
    let answer = &call.params["inputResponses"][format!("name-{}", names.len() + 1)];
    match take_name(answer, &mut names) {
        Err(action) => structured_reply(&json!({"action": action, "names": names})),
        Ok(()) if names.len() < call.number_argument("rounds", 1) => request_name(&names),
        Ok(()) => structured_reply(&json!({"action": "accept", "names": names})),
    }
}

fn request_name(names: &[String]) -> RpcReply {
    let round = names.len() + 1;
    json!({
        "resultType": "input_required",
        "inputRequests": {(format!("name-{round}")): {"method": "elicitation/create", "params": elicitation_params(round)}},
        "requestState": format!("{REQUEST_STATE_PREFIX}{}", json!(names)),
    })
    .into()
}

/// Adds the given name to the list. Returns the action as an error if the elicitation was not accepted.
fn take_name(answer: &Value, names: &mut Vec<String>) -> Result<(), &'static str> {
    match (answer["action"].as_str(), answer["content"]["name"].as_str()) {
        (Some("accept"), Some(name)) => {
            names.push(name.to_owned());
            Ok(())
        }
        (Some("decline"), _) => Err("decline"),
        _ => Err("cancel"),
    }
}

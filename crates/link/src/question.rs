//! What a server asks of us while a call runs: answered here, or relayed to whoever made the call.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::context::{Context, count};
use crate::envelope::Refusal;
use crate::flight::Listener;
use crate::{Abilities, scan};

const UNKNOWN_METHOD: i64 = -32601;
const BAD_PARAMS: i64 = -32602;
const NOBODY: i64 = -32603;
const SHOWN_REASON: usize = 500;

/// What only the one who made a call can answer.
pub(crate) fn is_for_callers(method: &str) -> bool {
    matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list")
}

/// What was offered may be asked, and nothing else.
pub(crate) fn is_within(abilities: Abilities, method: &str) -> bool {
    match method {
        "elicitation/create" => abilities.elicitation,
        "sampling/createMessage" => abilities.sampling,
        "roots/list" => abilities.roots,
        _ => false,
    }
}

/// `listener` is the call that the question is about, where there is exactly one.
pub(crate) async fn answer(
    context: Arc<Context>,
    listener: Option<Listener>,
    method: String,
    params: Option<Box<RawValue>>,
) -> Result<Value, Refusal> {
    if method == "ping" {
        return Ok(json!({}));
    }
    if !is_for_callers(&method) {
        return Err(refuse(UNKNOWN_METHOD, "this client has no such method"));
    }
    let Some(listener) = listener else {
        count(&context.declined);
        return Err(refuse(NOBODY, "there is no single call that this could be asked for"));
    };
    let able = is_within(listener.abilities, &method);
    let Some(asker) = listener.asker.filter(|_| able) else {
        count(&context.declined);
        return Err(refuse(UNKNOWN_METHOD, "this caller cannot be asked that"));
    };
    let text = params.as_deref().map_or("{}", RawValue::get);
    if scan::check(text, context.bounds.max_depth).is_err() {
        return Err(refuse(
            BAD_PARAMS,
            "the question is nested too deep or holds a number that cannot be passed on",
        ));
    }
    let params: Value = serde_json::from_str(text)
        .map_err(|_| refuse(BAD_PARAMS, "the question cannot be read"))?;
    if params.get("mode").is_some_and(|mode| mode != "form") {
        return Err(refuse(BAD_PARAMS, "only forms were offered"));
    }
    asker
        .ask(&method, params)
        .await
        .map_err(|reason| refuse(NOBODY, &context.shown(&reason, SHOWN_REASON)))
}

pub(crate) fn too_large(limit: usize) -> Refusal {
    refuse(BAD_PARAMS, &format!("the question has over {limit} bytes"))
}

fn refuse(code: i64, message: &str) -> Refusal {
    Refusal { code, message: message.to_owned() }
}

//! Answers the requests that a server sends during a call, or relays them to the caller.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::context::{ConnectionContext, increment_counter};
use crate::envelope::ServerRequestRefusal;
use crate::in_flight::CallListener;
use crate::{CallerCapabilities, json_scan};

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const NO_RECIPIENT: i64 = -32603;
const MAX_SHOWN_REASON: usize = 500;

/// Returns true for methods that only a caller can answer.
pub(crate) fn is_for_callers(method: &str) -> bool {
    matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list")
}

/// Returns true if the caller offered to answer this method.
pub(crate) fn is_offered(offered: CallerCapabilities, method: &str) -> bool {
    match method {
        "elicitation/create" => offered.elicitation,
        "sampling/createMessage" => offered.sampling,
        "roots/list" => offered.roots,
        _ => false,
    }
}

/// Returns the response to a request. `listener` is the call that the request belongs to, if there is exactly one.
///
/// # Errors
/// With the JSON-RPC error to send, if the request is refused.
pub(crate) async fn respond_to_request(
    context: Arc<ConnectionContext>,
    listener: Option<CallListener>,
    method: String,
    params: Option<Box<RawValue>>,
) -> Result<Value, ServerRequestRefusal> {
    if method == "ping" {
        return Ok(json!({}));
    }
    if !is_for_callers(&method) {
        return Err(build_refusal(METHOD_NOT_FOUND, "unknown method"));
    }
    let Some(listener) = listener else {
        increment_counter(&context.declined);
        return Err(build_refusal(NO_RECIPIENT, "the request cannot be assigned to a single call"));
    };
    let can_respond = is_offered(listener.capabilities, &method);
    let Some(responder) = listener.responder.filter(|_| can_respond) else {
        increment_counter(&context.declined);
        return Err(build_refusal(METHOD_NOT_FOUND, "the caller does not support this request"));
    };
    let text = params.as_deref().map_or("{}", RawValue::get);
    if json_scan::check_json(text, context.bounds.max_depth).is_err() {
        return Err(build_refusal(
            INVALID_PARAMS,
            "the request is nested too deeply or contains a number that does not fit in 64 bits",
        ));
    }
    let params: Value = serde_json::from_str(text)
        .map_err(|_| build_refusal(INVALID_PARAMS, "the request is not valid JSON"))?;
    if params.get("mode").is_some_and(|mode| mode != "form") {
        return Err(build_refusal(INVALID_PARAMS, "only form elicitation is supported"));
    }
    responder.respond(&method, params).await.map_err(|reason| {
        build_refusal(NO_RECIPIENT, &context.sanitize_text(&reason, MAX_SHOWN_REASON))
    })
}

pub(crate) fn refuse_too_large(limit: usize) -> ServerRequestRefusal {
    build_refusal(INVALID_PARAMS, &format!("the request has more than {limit} bytes"))
}

fn build_refusal(code: i64, message: &str) -> ServerRequestRefusal {
    ServerRequestRefusal { code, message: message.to_owned() }
}

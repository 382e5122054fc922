//! Clients that say what they are told and check nothing: for tests that must see what really went over the wire.

mod http;
mod stdio;

pub use http::{Answer, Http};
pub use stdio::Stdio;

use serde_json::{Value, json};

/// The parameters of `initialize`, from a client that can be asked.
pub fn hello() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "raw", "version": "0"},
    })
}

/// Parameters of the stateless era: those given, and the `_meta` that each request carries.
pub fn stateless(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "raw", "version": "0"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    params
}

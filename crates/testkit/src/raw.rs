//! MCP clients that send exactly the given messages and validate nothing, for tests that inspect the wire format.

mod http;
mod stdio;

pub use http::{RawHttpClient, RawHttpResponse};
pub use stdio::RawStdioClient;

use serde_json::{Value, json};

/// Returns the parameters of `initialize` for a client that supports elicitation.
pub fn initialize_params() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "raw", "version": "0"},
    })
}

/// Returns the parameters with the `_meta` that each request of the stateless era carries.
pub fn with_stateless_meta(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "raw", "version": "0"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    params
}

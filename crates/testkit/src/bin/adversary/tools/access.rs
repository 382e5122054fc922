//! Tools that report what the server can access, for tests of sandboxes and of the environment of child processes.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ToolInvocation, structured_reply};
use crate::messages::RpcReply;

/// Maximum time for a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn report_environment() -> RpcReply {
    let variables: Vec<Value> = std::env::vars_os()
        .map(|(name, value)| json!({"name": name.to_string_lossy(), "value": value.to_string_lossy()}))
        .collect();
    let cwd = std::env::current_dir().unwrap_or_default();
    structured_reply(&json!({"cwd": cwd.to_string_lossy(), "variables": variables}))
}

pub(super) fn try_read(call: &ToolInvocation) -> RpcReply {
    let path = std::path::Path::new(call.text_argument("path"));
    attempt_reply(if path.is_dir() {
        std::fs::read_dir(path).map(drop)
    } else {
        std::fs::read(path).map(drop)
    })
}

pub(super) fn try_write(call: &ToolInvocation) -> RpcReply {
    attempt_reply(std::fs::write(call.text_argument("path"), "written by the adversary\n"))
}

pub(super) async fn try_connect(call: &ToolInvocation) -> RpcReply {
    let attempt = tokio::net::TcpStream::connect(call.text_argument("address").to_owned());
    match tokio::time::timeout(CONNECT_TIMEOUT, attempt).await {
        Ok(outcome) => attempt_reply(outcome.map(drop)),
        Err(_) => structured_reply(&json!({"done": false, "reason": "timed out"})),
    }
}

fn attempt_reply(outcome: std::io::Result<()>) -> RpcReply {
    let reason = outcome.as_ref().err().map(|error| error.kind().to_string()).unwrap_or_default();
    structured_reply(&json!({"done": outcome.is_ok(), "reason": reason}))
}

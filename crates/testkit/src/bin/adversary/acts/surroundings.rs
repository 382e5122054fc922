//! Tools that tell what the server can see and reach: for tests of sandboxes and of the environment a child is given.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Call, structured};
use crate::wire::Reply;

const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn environment() -> Reply {
    let variables: Vec<Value> = std::env::vars_os()
        .map(|(name, value)| json!({"name": name.to_string_lossy(), "value": value.to_string_lossy()}))
        .collect();
    let cwd = std::env::current_dir().unwrap_or_default();
    structured(&json!({"cwd": cwd.to_string_lossy(), "variables": variables}))
}

pub(super) fn read_path(call: &Call) -> Reply {
    let path = std::path::Path::new(call.text("path"));
    tried(if path.is_dir() {
        std::fs::read_dir(path).map(drop)
    } else {
        std::fs::read(path).map(drop)
    })
}

pub(super) fn write_path(call: &Call) -> Reply {
    tried(std::fs::write(call.text("path"), "written by the adversary\n"))
}

pub(super) async fn connect(call: &Call) -> Reply {
    let attempt = tokio::net::TcpStream::connect(call.text("address").to_owned());
    match tokio::time::timeout(PATIENCE, attempt).await {
        Ok(outcome) => tried(outcome.map(drop)),
        Err(_) => structured(&json!({"done": false, "reason": "timed out"})),
    }
}

fn tried(outcome: std::io::Result<()>) -> Reply {
    let reason = outcome.as_ref().err().map(|error| error.kind().to_string()).unwrap_or_default();
    structured(&json!({"done": outcome.is_ok(), "reason": reason}))
}

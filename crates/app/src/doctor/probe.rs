//! Probes whether the server on a port is a `vouch`.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum wait for the answer. A `vouch` on this machine answers far sooner.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_ANSWER: u64 = 64 * 1024;

/// Returns the version of the `vouch` that serves at the address, or `None` if it is another program.
pub(super) async fn probe_vouch(address: SocketAddr) -> Option<String> {
    let answer = tokio::time::timeout(PROBE_TIMEOUT, get_health(address)).await.ok()?.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let health: Value = serde_json::from_str(body).ok()?;
    let ours =
        head.starts_with("HTTP/1.1 200") && health["status"] == "ok" && health["tools"].is_u64();
    ours.then(|| health["version"].as_str().map(contract::text::one_line))?
}

async fn get_health(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER).read_to_string(&mut answer).await?;
    Ok(answer)
}

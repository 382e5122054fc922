//! Answers that are hard to process: very large, deeply nested, mixed with garbage, or with exact numbers.

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{ToolInvocation, structured_reply};
use crate::messages::RpcReply;

/// A result that parsing and printing would change: digits, signs, escapes, spaces, order of keys.
pub(super) const EXACT_NUMBERS: &str = r#"{"content": [{"type":"text","text":"see \u0073tructuredContent"}],"structuredContent":{"zebra":1.10,"exponent":1.5E+3,"tiny":5e-324,"negative_zero":-0.0,"max_u64":18446744073709551615,"precise":0.1000000000000000055511151231257827,"text":"\u00e9 é \ud83d\ude00 😀 \u2028 \/","apple":{ "z" : 1, "a" : 2 }}}"#;

/// Numbers beyond 64-bit integers and doubles.
pub(super) const OVERFLOWING_NUMBERS: &str = r#"{"content":[{"type":"text","text":"large"}],"structuredContent":{"big":123456789012345678901234567890,"far":1e400}}"#;

pub(super) fn send_huge_text(call: &ToolInvocation) -> RpcReply {
    let bytes = call.number_argument("bytes", 20_000_000);
    let text = "x".repeat(bytes);
    json!({"content": [{"type": "text", "text": text}], "structuredContent": {"bytes": bytes}})
        .into()
}

/// Returns a deeply nested list. It is written as text, because dropping a value that deep could overflow the stack.
pub(super) fn send_nested_list(call: &ToolInvocation) -> RpcReply {
    let levels = call.number_argument("levels", 100);
    let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    RpcReply::Result(format!(
        r#"{{"content":[{{"type":"text","text":"deep"}}],"structuredContent":{{"nested":{nested}}}}}"#
    ))
}

/// Fills stderr before the answer. A client that does not read stderr waits forever.
pub(super) async fn flood_stderr(call: &ToolInvocation) -> RpcReply {
    let bytes = call.number_argument("bytes", 4_000_000);
    let line = format!("{}\u{1b}[31m red \u{202e} turned\n", "noise ".repeat(100));
    let mut stderr = tokio::io::stderr();
    for _ in 0..bytes.div_ceil(line.len()) {
        // The reader may close stderr at any time.
        if stderr.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
    structured_reply(&json!({"bytes": bytes}))
}

pub(super) fn send_garbage(call: &ToolInvocation) -> RpcReply {
    for line in [
        "Server listening on port 3000...",
        "{\"jsonrpc\":\"2.0\",\"id\":",
        "",
        "\u{1b}[2J\u{7}null",
        "[]",
        "{\"jsonrpc\":\"2.0\",\"method\":17}",
        "{\"id\":null,\"result\":{}}",
    ] {
        call.out.send_line(line);
    }
    structured_reply(&json!({"text": "after the garbage"}))
}

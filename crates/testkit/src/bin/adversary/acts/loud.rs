//! Answers that are too much: too large, too deep, in the wrong place, or exact to the last digit.

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{Call, structured};
use crate::wire::Reply;

/// A result that a parser and a printer between two ends would change: digits, signs, escapes, spaces, order of keys.
pub(super) const NUMBERS: &str = r#"{"content": [{"type":"text","text":"see \u0073tructuredContent"}],"structuredContent":{"zebra":1.10,"exponent":1.5E+3,"tiny":5e-324,"negative_zero":-0.0,"max_u64":18446744073709551615,"precise":0.1000000000000000055511151231257827,"text":"\u00e9 é \ud83d\ude00 😀 \u2028 \/","apple":{ "z" : 1, "a" : 2 }}}"#;

/// Numbers that no machine number holds.
pub(super) const BEYOND: &str = r#"{"content":[{"type":"text","text":"large"}],"structuredContent":{"big":123456789012345678901234567890,"far":1e400}}"#;

pub(super) fn huge(call: &Call) -> Reply {
    let bytes = call.number("bytes", 20_000_000);
    let text = "x".repeat(bytes);
    json!({"content": [{"type": "text", "text": text}], "structuredContent": {"bytes": bytes}})
        .into()
}

/// Written as text: nobody builds a value that deep, and dropping one could overflow the stack.
pub(super) fn deep(call: &Call) -> Reply {
    let levels = call.number("levels", 100);
    let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    Reply::Result(format!(
        r#"{{"content":[{{"type":"text","text":"deep"}}],"structuredContent":{{"nested":{nested}}}}}"#
    ))
}

/// Fills stderr before the answer: whoever does not read it waits for ever.
pub(super) async fn floods(call: &Call) -> Reply {
    let bytes = call.number("bytes", 4_000_000);
    let line = format!("{}\u{1b}[31m red \u{202e} turned\n", "noise ".repeat(100));
    let mut stderr = tokio::io::stderr();
    for _ in 0..bytes.div_ceil(line.len()) {
        // A closed stderr is the reader's right.
        if stderr.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
    structured(&json!({"bytes": bytes}))
}

pub(super) fn garbage(call: &Call) -> Reply {
    for line in [
        "Server listening on port 3000...",
        "{\"jsonrpc\":\"2.0\",\"id\":",
        "",
        "\u{1b}[2J\u{7}null",
        "[]",
        "{\"jsonrpc\":\"2.0\",\"method\":17}",
        "{\"id\":null,\"result\":{}}",
    ] {
        call.out.say(line);
    }
    structured(&json!({"text": "after the garbage"}))
}

//! Tests that the adversary misbehaves exactly as documented, and is a strict server otherwise.

mod contracts;
mod flags;
mod http;
mod stdio;

use std::fmt::Write;

use serde_json::Value;
use testkit::raw::RawStdioClient;

/// Returns the command line of the adversary of this build.
fn adversary_command_line(args: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_adversary");
    std::iter::once(program).chain(args.iter().copied()).map(str::to_owned).collect()
}

/// Starts an adversary and performs the handshake.
async fn start_initialized(args: &[&str]) -> RawStdioClient {
    let mut server = RawStdioClient::start(&adversary_command_line(args));
    server.initialize().await;
    server
}

/// Returns the tools of all pages.
async fn list_tools(server: &mut RawStdioClient) -> Vec<Value> {
    let mut tools = Vec::new();
    let mut params = serde_json::json!({});
    loop {
        let answer = server.send_request("tools/list", params).await;
        tools.extend(answer["result"]["tools"].as_array().expect("a list").iter().cloned());
        let cursor = &answer["result"]["nextCursor"];
        if cursor.is_null() {
            return tools;
        }
        params = serde_json::json!({"cursor": cursor});
    }
}

fn tool_names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

/// Appends `> ` and the call to the transcript, then the lines of the response.
fn append_exchange(transcript: &mut String, call: &str, lines: &[String]) {
    writeln!(transcript, "> {call}").expect("text grows");
    for line in lines {
        writeln!(transcript, "  {}", contract::text::escape_hidden(line)).expect("text grows");
    }
}

#[test]
fn adversary_command_uses_this_binary() {
    assert_eq!(
        testkit::adversary::adversary_command(["--http"]),
        adversary_command_line(&["--http"])
    );
}

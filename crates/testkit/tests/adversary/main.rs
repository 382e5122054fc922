//! The adversary misbehaves as promised, and behaves where nothing else is promised.

mod contracts;
mod http;
mod stdio;
mod switches;

use std::fmt::Write;

use serde_json::Value;
use testkit::raw::Stdio;

/// The command of the adversary of this build.
fn command(args: &[&str]) -> Vec<String> {
    let program = env!("CARGO_BIN_EXE_adversary");
    std::iter::once(program).chain(args.iter().copied()).map(str::to_owned).collect()
}

/// An adversary that was greeted.
async fn greeted(args: &[&str]) -> Stdio {
    let mut server = Stdio::start(&command(args));
    server.greet().await;
    server
}

/// All tools of all pages.
async fn list(server: &mut Stdio) -> Vec<Value> {
    let mut tools = Vec::new();
    let mut params = serde_json::json!({});
    loop {
        let answer = server.request("tools/list", params).await;
        tools.extend(answer["result"]["tools"].as_array().expect("a list").iter().cloned());
        let cursor = &answer["result"]["nextCursor"];
        if cursor.is_null() {
            return tools;
        }
        params = serde_json::json!({"cursor": cursor});
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

/// `> ` what was called, then what was said, line by line.
fn told(transcript: &mut String, call: &str, lines: &[String]) {
    writeln!(transcript, "> {call}").expect("text grows");
    for line in lines {
        writeln!(transcript, "  {}", contract::text::visible(line)).expect("text grows");
    }
}

#[test]
fn the_command_for_other_crates_names_this_binary() {
    assert_eq!(testkit::adversary::adversary_command(["--http"]), command(&["--http"]));
}

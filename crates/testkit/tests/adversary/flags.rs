//! Effects of the adversary_command_line-line flags on the whole server.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::raw::{RawStdioClient, with_stateless_meta};

use super::{adversary_command_line, list_tools, start_initialized, tool_names};

#[tokio::test]
async fn serves_long_and_endless_lists() {
    let mut server =
        start_initialized(&["--only", "good", "--tools", "2000", "--page-size", "300"]).await;
    assert_eq!(list_tools(&mut server).await.len(), 2001);

    for (switch, cursors) in
        [("--pages-forever", ["page-1", "page-2", "page-3"]), ("--same-cursor", ["again"; 3])]
    {
        let mut server = start_initialized(&["--only", "good", switch]).await;
        let mut params = json!({});
        for cursor in cursors {
            let answer = server.send_request("tools/list", params).await;
            assert_eq!(answer["result"]["nextCursor"], cursor);
            params = json!({"cursor": cursor});
        }
    }
}

#[tokio::test]
async fn mutates_and_restores_a_definition() {
    let mut server = start_initialized(&["--only", "good,mutate,restore"]).await;
    let first = list_tools(&mut server).await;
    let mut changed = String::new();
    for how in ["description", "instruction", "additive", "breaking", "annotation", "removal"] {
        server
            .start_request("tools/call", json!({"name": "mutate", "arguments": {"how": how}}))
            .await;
        let messages = [server.read_message().await, server.read_message().await];
        assert!(
            messages.iter().any(|message| message["method"] == "notifications/tools/list_changed")
        );
        let good = list_tools(&mut server).await.swap_remove(0);
        super::append_exchange(&mut changed, how, &[good.to_string()]);
        assert_ne!(good, first[0]);
    }
    server.call_tool("restore", json!({})).await;
    assert_eq!(list_tools(&mut server).await, first);
    assert_snapshot!(changed);
}

#[tokio::test]
async fn renames_a_mutated_tool() {
    let mut server = start_initialized(&["--only", "good,mutate", "--rename-on-mutate"]).await;
    server.call_tool("mutate", json!({})).await;
    assert_eq!(tool_names(&list_tools(&mut server).await), ["good_again", "mutate"]);
}

#[tokio::test]
async fn changes_the_description_in_each_list() {
    let mut server = start_initialized(&["--only", "good", "--mutate-description"]).await;
    assert_ne!(list_tools(&mut server).await, list_tools(&mut server).await);
}

#[tokio::test]
async fn notifies_subscribers_in_the_stateless_era() {
    let mut server = RawStdioClient::start(&adversary_command_line(&[]));
    let listen = json!({"notifications": {"toolsListChanged": true}});
    server.start_request("subscriptions/listen", with_stateless_meta(listen)).await;
    let accepted = server.read_message().await;
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged");
    let mutate = json!({"name": "mutate", "arguments": {}});
    server.start_request("tools/call", with_stateless_meta(mutate)).await;
    let messages = [server.read_message().await, server.read_message().await];
    let notification =
        messages.iter().find(|message| message.get("method").is_some()).expect("a notification");
    assert_eq!(notification["method"], "notifications/tools/list_changed");
    assert_eq!(notification["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

#[tokio::test]
async fn state_file_keeps_counts_and_mutations() {
    let folder = tempfile::tempdir().expect("a folder");
    let (state, record) = (folder.path().join("state"), folder.path().join("record"));
    let args =
        ["--state", state.to_str().expect("text"), "--record", record.to_str().expect("text")];
    let mut server = start_initialized(&args).await;
    server.call_tool("good", json!({"text": "x"})).await;
    server.call_tool("mutate", json!({"how": "removal"})).await;
    assert!(server.close().await.success());

    let mut server = start_initialized(&args).await;
    assert_eq!(tool_names(&list_tools(&mut server).await)[0], "good_many");
    let counts = server.call_tool("count", json!({})).await;
    let counts = &counts["result"]["structuredContent"];
    assert_eq!(counts["starts"], 2);
    assert_eq!(
        counts["calls"],
        json!([{"tool": "good", "count": 1}, {"tool": "mutate", "count": 1}])
    );

    let record = std::fs::read_to_string(record).expect("a record");
    let methods: Vec<Value> = record
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("a JSON line")["message"]["method"].clone()
        })
        .collect();
    assert_eq!(methods[..3], ["initialize", "notifications/initialized", "tools/call"]);
}

#[tokio::test]
async fn exit_at_start_exits_with_code_3() {
    let server = RawStdioClient::start(&adversary_command_line(&["--exit-at-start"]));
    assert_eq!(server.close().await.code(), Some(3));
}

#[tokio::test]
async fn stubborn_server_survives_closed_stdin() {
    let server = start_initialized(&["--stubborn"]).await;
    let ended = tokio::time::timeout(std::time::Duration::from_millis(300), server.close()).await;
    assert!(ended.is_err(), "the server exited when stdin closed");
}

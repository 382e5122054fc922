//! What the switches change for the server as a whole.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::raw::{Stdio, stateless};

use super::{command, greeted, list, names};

#[tokio::test]
async fn lists_may_be_long_and_never_end() {
    let mut server = greeted(&["--only", "good", "--tools", "2000", "--page-size", "300"]).await;
    assert_eq!(list(&mut server).await.len(), 2001);

    for (switch, cursors) in
        [("--pages-forever", ["page-1", "page-2", "page-3"]), ("--same-cursor", ["again"; 3])]
    {
        let mut server = greeted(&["--only", "good", switch]).await;
        let mut params = json!({});
        for cursor in cursors {
            let answer = server.request("tools/list", params).await;
            assert_eq!(answer["result"]["nextCursor"], cursor);
            params = json!({"cursor": cursor});
        }
    }
}

#[tokio::test]
async fn a_definition_changes_and_changes_back() {
    let mut server = greeted(&["--only", "good,mutate,restore"]).await;
    let first = list(&mut server).await;
    let mut changed = String::new();
    for how in ["description", "instruction", "additive", "breaking", "annotation", "removal"] {
        server.ask("tools/call", json!({"name": "mutate", "arguments": {"how": how}})).await;
        let said = [server.message().await, server.message().await];
        assert!(said.iter().any(|message| message["method"] == "notifications/tools/list_changed"));
        let good = list(&mut server).await.swap_remove(0);
        super::told(&mut changed, how, &[good.to_string()]);
        assert_ne!(good, first[0]);
    }
    server.call("restore", json!({})).await;
    assert_eq!(list(&mut server).await, first);
    assert_snapshot!(changed);
}

#[tokio::test]
async fn a_changed_tool_may_take_another_name() {
    let mut server = greeted(&["--only", "good,mutate", "--rename-on-mutate"]).await;
    server.call("mutate", json!({})).await;
    assert_eq!(names(&list(&mut server).await), ["good_again", "mutate"]);
}

#[tokio::test]
async fn a_description_may_change_with_each_list() {
    let mut server = greeted(&["--only", "good", "--mutate-description"]).await;
    assert_ne!(list(&mut server).await, list(&mut server).await);
}

#[tokio::test]
async fn who_listens_hears_of_changes_in_the_stateless_era() {
    let mut server = Stdio::start(&command(&[]));
    let listen = json!({"notifications": {"toolsListChanged": true}});
    server.ask("subscriptions/listen", stateless(listen)).await;
    let accepted = server.message().await;
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged");
    let mutate = json!({"name": "mutate", "arguments": {}});
    server.ask("tools/call", stateless(mutate)).await;
    let said = [server.message().await, server.message().await];
    let told = said.iter().find(|message| message.get("method").is_some()).expect("it is told");
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

#[tokio::test]
async fn counts_and_changes_outlive_the_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let (state, record) = (folder.path().join("state"), folder.path().join("record"));
    let args =
        ["--state", state.to_str().expect("text"), "--record", record.to_str().expect("text")];
    let mut server = greeted(&args).await;
    server.call("good", json!({"text": "x"})).await;
    server.call("mutate", json!({"how": "removal"})).await;
    assert!(server.close().await.success());

    let mut server = greeted(&args).await;
    assert_eq!(names(&list(&mut server).await)[0], "good_many");
    let counts = server.call("count", json!({})).await;
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
async fn a_server_may_not_even_start() {
    let server = Stdio::start(&command(&["--exit-at-start"]));
    assert_eq!(server.close().await.code(), Some(3));
}

#[tokio::test]
async fn a_stubborn_server_lives_on() {
    let server = greeted(&["--stubborn"]).await;
    let ended = tokio::time::timeout(std::time::Duration::from_millis(300), server.close()).await;
    assert!(ended.is_err(), "it ended with its stdin");
}

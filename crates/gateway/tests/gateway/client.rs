//! An MCP client of either era over in-memory streams. It sends any message and checks nothing.

use contract::Caller;
use runtime::transports::mcp::{McpService, ServerIdentity};
use runtime::transports::stdio::serve_streams;
use serde_json::{Value, json};
use testkit::raw::{initialize_params, with_stateless_meta};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::harness::{LIMIT, TestGateway};

pub(crate) struct TestClient {
    is_stateless: bool,
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    ids: u64,
    _stop: DropGuard,
}

impl TestClient {
    pub(crate) async fn connect(rig: &TestGateway, era: &str) -> Self {
        let (input, server_input) = tokio::io::duplex(64 * 1024);
        let (output, server_output) = tokio::io::duplex(64 * 1024);
        let identity =
            ServerIdentity { name: "gateway".into(), version: "0".into(), instructions: None };
        let service = McpService::new(rig.pipeline.clone(), identity, Caller::new("stdio"));
        let stop = CancellationToken::new();
        tokio::spawn(serve_streams(service, server_input, server_output, stop.clone()));
        let mut client = Self {
            is_stateless: era == "stateless",
            input,
            output: BufReader::new(output).lines(),
            ids: 0,
            _stop: stop.drop_guard(),
        };
        if client.is_stateless {
            client.request("server/discover", json!({})).await;
        } else {
            client.request("initialize", initialize_params()).await;
            client.notify("notifications/initialized", json!({})).await;
        }
        client
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request and returns its id without waiting.
    pub(crate) async fn send_request(&mut self, method: &str, params: Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        let params = if self.is_stateless { with_stateless_meta(params) } else { params };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Returns the next message as text.
    pub(crate) async fn read_line(&mut self) -> String {
        let line = tokio::time::timeout(LIMIT, self.output.next_line()).await;
        line.expect("a message arrives in time").unwrap().expect("the connection is open")
    }

    pub(crate) async fn read_message(&mut self) -> Value {
        serde_json::from_str(&self.read_line().await).unwrap()
    }

    /// Returns the response to a request and the messages before it.
    pub(crate) async fn read_response(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.read_message().await;
            if message["id"] == id && message.get("method").is_none() {
                return (message, before);
            }
            before.push(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.read_response(id).await.0
    }

    pub(crate) async fn list_tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Subscribes to list changes. In the handshake era, they are sent without a subscription.
    pub(crate) async fn subscribe(&mut self) {
        if self.is_stateless {
            self.send_request(
                "subscriptions/listen",
                json!({"notifications": {"toolsListChanged": true}}),
            )
            .await;
            let accepted = self.read_message().await;
            assert_eq!(
                accepted["method"], "notifications/subscriptions/acknowledged",
                "{accepted}"
            );
        }
    }

    /// Calls `elicit` and answers each of its elicitations, in the way of the era. Returns the result and the
    /// elicitations.
    pub(crate) async fn call_elicit(&mut self, rounds: u64, answer: &Value) -> (Value, Vec<Value>) {
        let mut params = json!({"name": "up__elicit", "arguments": {"rounds": rounds}});
        let mut asked = Vec::new();
        let mut id = self.send_request("tools/call", params.clone()).await;
        loop {
            let message = self.read_message().await;
            if message["method"] == "elicitation/create" {
                asked.push(message["params"].clone());
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer})).await;
            } else if message["result"]["resultType"] == "input_required" {
                let requests = message["result"]["inputRequests"].as_object().unwrap();
                assert_eq!(requests.len(), 1, "{message}");
                for (key, request) in requests {
                    assert_eq!(request["method"], "elicitation/create");
                    asked.push(request["params"].clone());
                    params["inputResponses"] = json!({key: answer});
                }
                params["requestState"] = message["result"]["requestState"].clone();
                id = self.send_request("tools/call", params.clone()).await;
            } else if message["id"] == id {
                return (message["result"]["structuredContent"].clone(), asked);
            } else {
                panic!("unexpected message {message}");
            }
        }
    }
}

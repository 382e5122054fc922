//! A client of either era at the MCP door, over streams in memory: it says what it is told and checks nothing.

use contract::Caller;
use runtime::doors::mcp::{Face, McpDoor};
use runtime::doors::stdio::serve_over;
use serde_json::{Value, json};
use testkit::raw::{hello, stateless};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::rig::{LIMIT, Rig};

pub(crate) struct Client {
    is_stateless: bool,
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    ids: u64,
    _stop: DropGuard,
}

impl Client {
    pub(crate) async fn connect(rig: &Rig, era: &str) -> Self {
        let (input, server_input) = tokio::io::duplex(64 * 1024);
        let (output, server_output) = tokio::io::duplex(64 * 1024);
        let face = Face { name: "gateway".into(), version: "0".into(), instructions: None };
        let door = McpDoor::new(rig.pipeline.clone(), face, Caller::new("stdio"));
        let stop = CancellationToken::new();
        tokio::spawn(serve_over(door, server_input, server_output, stop.clone()));
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
            client.request("initialize", hello()).await;
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

    /// Sends a request and gives its id, without waiting.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        let params = if self.is_stateless { stateless(params) } else { params };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// A message as it is written.
    pub(crate) async fn line(&mut self) -> String {
        let line = tokio::time::timeout(LIMIT, self.output.next_line()).await;
        line.expect("the door says something in time").unwrap().expect("the door is open")
    }

    pub(crate) async fn message(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// The answer to a request, and what came before it.
    pub(crate) async fn answer(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.message().await;
            if message["id"] == id && message.get("method").is_none() {
                return (message, before);
            }
            before.push(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await.0
    }

    pub(crate) async fn listed(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// From now on it is told of changes; in the handshake era it is told anyway.
    pub(crate) async fn listen(&mut self) {
        if self.is_stateless {
            self.ask("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
                .await;
            let accepted = self.message().await;
            assert_eq!(
                accepted["method"], "notifications/subscriptions/acknowledged",
                "{accepted}"
            );
        }
    }

    /// Calls `elicit` and answers each of its questions with this, whichever way the era has for it.
    pub(crate) async fn elicited(&mut self, rounds: u64, answer: &Value) -> (Value, Vec<Value>) {
        let mut params = json!({"name": "up__elicit", "arguments": {"rounds": rounds}});
        let mut asked = Vec::new();
        let mut id = self.ask("tools/call", params.clone()).await;
        loop {
            let message = self.message().await;
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
                id = self.ask("tools/call", params.clone()).await;
            } else if message["id"] == id {
                return (message["result"]["structuredContent"].clone(), asked);
            } else {
                panic!("nobody expects {message}");
            }
        }
    }
}

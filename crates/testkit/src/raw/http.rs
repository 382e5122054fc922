//! Streamable HTTP, one request at a time.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

/// What came back for one POST.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Answered as an event stream.
    pub streamed: bool,
    pub session: Option<String>,
    /// The body, or the `data` of each event, as text.
    pub texts: Vec<String>,
}

impl Answer {
    /// The last message.
    pub fn message(&self) -> Value {
        let text = self.texts.last().map(String::as_str).unwrap_or_default();
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// A client that keeps its session, once it has one.
#[derive(Clone, Debug)]
pub struct Http {
    pub url: String,
    pub session: Option<String>,
    client: reqwest::Client,
}

impl Http {
    pub fn new(url: &str) -> Self {
        // Built together with crates that speak TLS, reqwest wants a provider even for plain HTTP. A second one is
        // refused, and as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { url: url.to_owned(), session: None, client: reqwest::Client::new() }
    }

    /// Opens a session.
    pub async fn greet(&mut self) -> Answer {
        let answer = self.request("initialize", super::hello()).await;
        self.session.clone_from(&answer.session);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }

    /// A request, with the headers that belong to it.
    pub async fn request(&self, method: &str, params: Value) -> Answer {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await
    }

    /// Calls a tool in the handshake era.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends any message and reads all that comes back for it.
    ///
    /// # Panics
    ///
    /// If the server cannot be reached or breaks off.
    pub async fn send(&self, message: &Value) -> Answer {
        let meta = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let mut request = self
            .client
            .post(&self.url)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        if let Some(version) = meta.as_str() {
            request = request.header("mcp-protocol-version", version);
            request = request.header("mcp-method", message["method"].as_str().unwrap_or_default());
        }
        if let Some(name) = message["params"]["name"].as_str() {
            request = request.header("mcp-name", name);
        }
        let response = request.body(message.to_string()).send().await.expect("the server answers");
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let streamed =
            header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let session = header("mcp-session-id").map(str::to_owned);
        let status = response.status().as_u16();
        let body = response.text().await.expect("the answer can be read");
        let texts = match streamed {
            true => body
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .map(str::to_owned)
                .collect(),
            false => vec![body],
        };
        Answer { status, streamed, session, texts }
    }
}

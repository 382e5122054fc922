//! A streamable HTTP client that sends one request at a time.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

/// The response to one POST.
#[derive(Debug)]
pub struct RawHttpResponse {
    pub status: u16,
    /// True if the body is an event stream.
    pub streamed: bool,
    pub session: Option<String>,
    /// The body, or the `data` of each event.
    pub texts: Vec<String>,
}

impl RawHttpResponse {
    /// Returns the last message, or null if it is not JSON.
    pub fn last_message(&self) -> Value {
        let text = self.texts.last().map(String::as_str).unwrap_or_default();
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// An HTTP client that sends its session id once it has one.
#[derive(Clone, Debug)]
pub struct RawHttpClient {
    pub url: String,
    pub session: Option<String>,
    client: reqwest::Client,
}

impl RawHttpClient {
    pub fn new(url: &str) -> Self {
        // Built together with crates that use TLS, reqwest needs a crypto provider even for plain HTTP. Installing a
        // second provider fails, which is harmless.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { url: url.to_owned(), session: None, client: reqwest::Client::new() }
    }

    /// Performs the handshake, keeps the session id and returns the response to `initialize`.
    pub async fn initialize(&mut self) -> RawHttpResponse {
        let answer = self.send_request("initialize", super::initialize_params()).await;
        self.session.clone_from(&answer.session);
        self.send_message(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }

    /// Sends a request with its standard headers and returns the response.
    pub async fn send_request(&self, method: &str, params: Value) -> RawHttpResponse {
        self.send_message(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .await
    }

    /// Calls a tool in the handshake era and returns the response.
    pub async fn call_tool(&self, tool: &str, arguments: Value) -> RawHttpResponse {
        self.send_request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends a message and returns the complete response.
    ///
    /// # Panics
    ///
    /// If the server cannot be reached or closes the connection early.
    pub async fn send_message(&self, message: &Value) -> RawHttpResponse {
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
        let body = response.text().await.expect("the response can be read");
        let texts = match streamed {
            true => body
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .map(str::to_owned)
                .collect(),
            false => vec![body],
        };
        RawHttpResponse { status, streamed, session, texts }
    }
}

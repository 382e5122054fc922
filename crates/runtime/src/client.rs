//! Calling a tool of a running server over streamable HTTP, whatever protocol revision it speaks.
//!
//! For `vouch call --url`: one connection, one call. Connections that live on belong to the host.

mod error;

use std::sync::{Arc, Once};

use contract::{Content, Output};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, RequestContext, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};

use crate::call::{Ask, Question};
pub use error::ClientError;

/// Where and as whom to call.
pub struct Target {
    pub url: String,
    pub token: Option<String>,
    /// Answers the server's questions; without it the client does not offer to be asked.
    pub ask: Option<Arc<dyn Ask>>,
}

/// An answer as it came: `failed` is the result's own `isError`.
#[derive(Debug)]
pub struct Answer {
    pub output: Output,
    pub failed: bool,
}

pub async fn call(
    target: Target,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<Answer, ClientError> {
    install_tls();
    let Target { url, token, ask } = target;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.clone());
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let client = serve_client_with_lifecycle(Client { ask }, transport, lifecycle)
        .await
        .map_err(|error| ClientError::connect(&url, &error))?;
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let called = client.call_tool(params).await;
    let result = called.map_err(|error| ClientError::call(&url, tool, &error))?;
    // The answer is there; a server that does not take the goodbye changes nothing about it.
    let _ = client.cancel().await;
    let content = result
        .content
        .into_iter()
        .filter_map(|block| serde_json::to_value(block).ok())
        .map(|block| match block.get("text").and_then(Value::as_str) {
            Some(text) if block["type"] == "text" => Content::Text(text.to_owned()),
            _ => Content::Block(block),
        })
        .collect();
    let failed = result.is_error.unwrap_or(false);
    let output = Output {
        structured: result.structured_content,
        content,
        is_error: failed,
        ..Output::default()
    };
    Ok(Answer { output, failed })
}

/// `rustls` wants its cryptography chosen once for the process, before the first HTTP client is made.
pub fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that somebody else has chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

struct Client {
    ask: Option<Arc<dyn Ask>>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = if self.ask.is_some() {
            ClientCapabilities::builder().enable_elicitation().build()
        } else {
            ClientCapabilities::default()
        };
        ClientConfig::new(capabilities, Implementation::new("vouch", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (
            Some(ask),
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. },
        ) = (&self.ask, request)
        else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(requested_schema).unwrap_or_default();
        // The message is a stranger's text on its way to a terminal.
        let question = Question::form("question", contract::text::visible(&message), schema);
        let answer =
            ask.ask(&question).await.map_err(|reason| ErrorData::internal_error(reason, None))?;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

//! Client for one tool call to a running server over streamable HTTP, for any supported protocol revision.
//!
//! Used by `vouch call --url`: one connection, one call. Long-lived connections to upstream servers are not handled
//! here.

mod error;

use std::sync::{Arc, Once};

use contract::{ContentBlock, ToolOutput};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, RequestContext, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};

use crate::call::{ElicitationHandler, ElicitationRequest};
pub use error::ClientError;

/// The server to call, and the credentials to use.
pub struct RemoteServer {
    pub url: String,
    pub token: Option<String>,
    /// Answers the server's elicitations. Without it the client does not declare the capability.
    pub handler: Option<Arc<dyn ElicitationHandler>>,
}

/// The server's answer; `failed` is the result's `isError`.
#[derive(Debug)]
pub struct RemoteAnswer {
    pub output: ToolOutput,
    pub failed: bool,
}

/// Connects, calls one tool, disconnects, and returns the answer.
pub async fn call_remote_tool(
    target: RemoteServer,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<RemoteAnswer, ClientError> {
    install_tls();
    let RemoteServer { url, token, handler: ask } = target;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.clone());
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let client = serve_client_with_lifecycle(RemoteClient { handler: ask }, transport, lifecycle)
        .await
        .map_err(|error| ClientError::from_connect_error(&url, &error))?;
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let called = client.call_tool(params).await;
    let result = called.map_err(|error| ClientError::from_call_error(&url, tool, &error))?;
    // The answer has arrived, so a failed disconnect does not matter.
    let _ = client.cancel().await;
    let content = result
        .content
        .into_iter()
        .filter_map(|block| serde_json::to_value(block).ok())
        .map(|block| match block.get("text").and_then(Value::as_str) {
            Some(text) if block["type"] == "text" => ContentBlock::Text(text.to_owned()),
            _ => ContentBlock::Block(block),
        })
        .collect();
    let failed = result.is_error.unwrap_or(false);
    let output = ToolOutput {
        structured: result.structured_content,
        content,
        is_error: failed,
        ..ToolOutput::default()
    };
    Ok(RemoteAnswer { output, failed })
}

/// Installs the `rustls` crypto provider once per process. Call it before the first HTTP client is created.
pub fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

struct RemoteClient {
    handler: Option<Arc<dyn ElicitationHandler>>,
}

impl ClientHandler for RemoteClient {
    fn get_info(&self) -> ClientConfig {
        let capabilities = if self.handler.is_some() {
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
        ) = (&self.handler, request)
        else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(requested_schema).unwrap_or_default();
        // The message is untrusted text that goes to a terminal.
        let request = ElicitationRequest::new_form(
            "question",
            contract::text::escape_hidden(&message),
            schema,
        );
        let answer =
            ask.elicit(&request).await.map_err(|reason| ErrorData::internal_error(reason, None))?;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

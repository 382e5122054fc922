//! One session with a server, from the negotiation of a protocol revision to its end, over any transport.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::duplex::DuplexTransport;
use crate::error::RequestFailure;
use crate::http::HttpClientTransport;
use crate::in_flight::{CallListener, InFlightCalls};
use crate::stdio::StdioChild;
use crate::{CallerCapabilities, ConnectionError, ProtocolEra, ServerInfo, envelope};

/// A request for a transport: the encoded body and its metadata.
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) body: Vec<u8>,
    /// Revision and era; `None` before the negotiation.
    pub(crate) protocol: Option<(&'a str, ProtocolEra)>,
    /// Name of the tool, for the `Mcp-Name` header.
    pub(crate) name: Option<&'a str>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) listener: CallListener,
    /// Notify the server if the request is dropped.
    pub(crate) cancel: bool,
}

impl<'a> OutgoingRequest<'a> {
    pub(crate) fn new(id: u64, method: &'a str, params: impl Serialize) -> Self {
        Self {
            id,
            method,
            body: envelope::encode_request(id, method, params),
            protocol: None,
            name: None,
            headers: Vec::new(),
            listener: CallListener::default(),
            cancel: false,
        }
    }
}

/// The transport of a session.
pub(crate) enum ClientTransport {
    Duplex(DuplexTransport),
    Http(HttpClientTransport),
}

impl ClientTransport {
    /// Sends a request and waits for its response. Returns the text of the result.
    pub(crate) async fn send_request(
        &self,
        request: OutgoingRequest<'_>,
    ) -> Result<Box<RawValue>, RequestFailure> {
        match self {
            Self::Duplex(duplex) => duplex.send_request(request).await,
            Self::Http(http) => http.send_request(request).await,
        }
    }

    /// Sends a notification; `protocol` is the negotiated revision.
    pub(crate) async fn send_notification(
        &self,
        text: Vec<u8>,
        protocol: &str,
    ) -> Result<(), RequestFailure> {
        match self {
            Self::Duplex(duplex) => duplex.outlet.send(text).await.map(drop),
            Self::Http(http) => http.send_notification(text, protocol).await,
        }
    }

    pub(crate) fn in_flight_calls(&self) -> &Arc<InFlightCalls> {
        match self {
            Self::Duplex(duplex) => &duplex.flight,
            Self::Http(http) => &http.flight,
        }
    }
}

/// An open session with a server.
pub(crate) struct UpstreamSession {
    pub(crate) transport: ClientTransport,
    pub(crate) server: ServerInfo,
    /// The server declared the `tools` capability.
    pub(crate) has_tools: bool,
    /// The child process, over stdio.
    pub(crate) child: Option<StdioChild>,
}

impl UpstreamSession {
    pub(crate) fn is_open(&self) -> bool {
        self.transport.in_flight_calls().closing_reason().is_none()
    }

    /// Returns the negotiated revision and its era.
    pub(crate) fn protocol(&self) -> (&str, ProtocolEra) {
        (&self.server.protocol, self.server.era)
    }

    /// Returns the `_meta` that every request of the stateless era requires, or `None` in the handshake era.
    pub(crate) fn request_meta(&self, offered: CallerCapabilities) -> Option<RequestMeta> {
        (self.server.era == ProtocolEra::Stateless)
            .then(|| RequestMeta::new(&self.server.protocol, offered))
    }

    /// Closes the transport without waiting; the supervisor ends the child.
    pub(crate) fn shut_down(&self, reason: &ConnectionError) {
        self.transport.in_flight_calls().close(reason);
        match &self.transport {
            ClientTransport::Duplex(duplex) => duplex.outlet.close(),
            ClientTransport::Http(http) => http.abort_tasks(),
        }
    }

    /// Closes the session and waits, within limits, until the child has exited.
    pub(crate) async fn close(&self) {
        const DELETE_LIMIT: Duration = Duration::from_secs(1);
        if let ClientTransport::Http(http) = &self.transport {
            let _ = tokio::time::timeout(DELETE_LIMIT, http.delete_session(&self.server.protocol))
                .await;
        }
        self.shut_down(&ConnectionError::Closed);
        if let Some(child) = &self.child {
            child.wait_until_exited().await;
        }
    }
}

impl Drop for UpstreamSession {
    fn drop(&mut self) {
        self.shut_down(&ConnectionError::Closed);
    }
}

/// Sends a message in the background, with a time limit and without a result. No-op outside a runtime.
pub(crate) fn send_in_background<T>(sending: impl Future<Output = T> + Send + 'static) {
    const SEND_LIMIT: Duration = Duration::from_secs(5);
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            let _ = tokio::time::timeout(SEND_LIMIT, sending).await;
        });
    }
}

/// The `_meta` object of a request.
#[derive(Default, Serialize)]
pub(crate) struct RequestMeta {
    #[serde(
        rename = "io.modelcontextprotocol/protocolVersion",
        skip_serializing_if = "Option::is_none"
    )]
    protocol: Option<String>,
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        skip_serializing_if = "Option::is_none"
    )]
    client: Option<Value>,
    #[serde(
        rename = "io.modelcontextprotocol/clientCapabilities",
        skip_serializing_if = "Option::is_none"
    )]
    capabilities: Option<Value>,
    #[serde(rename = "progressToken", skip_serializing_if = "Option::is_none")]
    pub(crate) progress_token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) traceparent: Option<String>,
}

impl RequestMeta {
    pub(crate) fn new(protocol: &str, offered: CallerCapabilities) -> Self {
        Self {
            protocol: Some(protocol.to_owned()),
            client: Some(client_info()),
            capabilities: Some(encode_capabilities(offered)),
            ..Self::default()
        }
    }
}

pub(crate) fn client_info() -> Value {
    json!({ "name": "vouch", "version": env!("CARGO_PKG_VERSION") })
}

/// Returns the client capabilities in wire format.
pub(crate) fn encode_capabilities(offered: CallerCapabilities) -> Value {
    let mut out = json!({});
    if offered.elicitation {
        out["elicitation"] = json!({ "form": {} });
    }
    if offered.sampling {
        out["sampling"] = json!({});
    }
    if offered.roots {
        out["roots"] = json!({});
    }
    out
}

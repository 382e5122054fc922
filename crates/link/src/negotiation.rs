//! Negotiates the protocol revision: `server/discover` first, `initialize` for servers that do not support it.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::context::ConnectionContext;
use crate::error::RequestFailure;
use crate::session::{
    ClientTransport, OutgoingRequest, RequestMeta, client_info, encode_capabilities,
};
use crate::{CallerCapabilities, ConnectionError, ProtocolEra, ServerInfo, envelope, json_scan};

pub(crate) const STATELESS_REVISION: &str = "2026-07-28";
const HANDSHAKE_REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Maximum wait for `server/discover`: some old servers do not respond to unknown requests.
const MAX_PROBE: Duration = Duration::from_secs(3);

/// `UnsupportedProtocolVersion`, since 2026-07-28.
const UNSUPPORTED_VERSION: i64 = -32022;

const MAX_SHOWN_NAME: usize = 128;

/// The result of the negotiation.
pub(crate) struct NegotiatedProtocol {
    pub(crate) server: ServerInfo,
    /// The server sends a notification when its tools change.
    pub(crate) list_changed: bool,
    /// The server declares the `tools` capability.
    pub(crate) has_tools: bool,
}

/// Negotiates a revision. `known` is the era of the previous session with this server, if any.
pub(crate) async fn negotiate_protocol(
    transport: &ClientTransport,
    context: &ConnectionContext,
    known: Option<ProtocolEra>,
    limit: Duration,
) -> Result<NegotiatedProtocol, ConnectionError> {
    if known == Some(ProtocolEra::Handshake) {
        return initialize_or_probe(transport, context).await;
    }
    let probe =
        tokio::time::timeout(MAX_PROBE.min(limit / 3), probe_stateless(transport, context)).await;
    match probe {
        Ok(Ok(Some(agreed))) => Ok(agreed),
        // Some old servers fail instead of rejecting the request. If the cause was another, `initialize` fails as well.
        Ok(Err(ConnectionError::Unavailable { may_have_run: true, .. }))
            if matches!(transport, ClientTransport::Http(_)) =>
        {
            initialize_session(transport, context).await
        }
        Ok(Err(error)) => Err(error),
        Ok(Ok(None)) => initialize_session(transport, context).await,
        // The server does not respond, or is only slow to start.
        Err(_) => initialize_or_probe(transport, context).await,
    }
}

/// Tries the handshake first. A server that rejects it may support only the stateless revision.
async fn initialize_or_probe(
    transport: &ClientTransport,
    context: &ConnectionContext,
) -> Result<NegotiatedProtocol, ConnectionError> {
    match initialize_session(transport, context).await {
        Err(error @ ConnectionError::Rejected { .. }) => {
            probe_stateless(transport, context).await?.ok_or(error)
        }
        other => other,
    }
}

/// Probes for the stateless revision. Returns `None` if the server responds but does not support it.
async fn probe_stateless(
    transport: &ClientTransport,
    context: &ConnectionContext,
) -> Result<Option<NegotiatedProtocol>, ConnectionError> {
    let result = match send_discover(transport, context).await {
        // A server that knows this error code is not an old server, so it is probed again.
        Err(RequestFailure::Final(ConnectionError::Rejected {
            code: UNSUPPORTED_VERSION, ..
        })) => send_discover(transport, context).await,
        other => other,
    };
    let result = match result {
        Ok(result) => result,
        Err(
            RequestFailure::Final(
                ConnectionError::Rejected { .. } | ConnectionError::ProtocolViolation { .. },
            )
            | RequestFailure::SessionLost,
        ) => {
            return Ok(None);
        }
        Err(fail) => return Err(fail.into_error()),
    };
    let Ok(discovered) = parse_result::<DiscoverResult>(context, &result) else { return Ok(None) };
    if !discovered.supported_versions.iter().any(|version| version == STATELESS_REVISION) {
        return Ok(None);
    }
    let info = discovered.meta.get("io.modelcontextprotocol/serverInfo").cloned();
    let info = info.and_then(|info| serde_json::from_value(info).ok()).unwrap_or_default();
    Ok(Some(build_negotiated(
        context,
        info,
        STATELESS_REVISION,
        ProtocolEra::Stateless,
        &discovered.capabilities,
    )))
}

async fn send_discover(
    transport: &ClientTransport,
    context: &ConnectionContext,
) -> Result<Box<RawValue>, RequestFailure> {
    let params =
        json!({ "_meta": RequestMeta::new(STATELESS_REVISION, CallerCapabilities::default()) });
    let mut request = OutgoingRequest::new(context.next_id(), "server/discover", params);
    request.protocol = Some((STATELESS_REVISION, ProtocolEra::Stateless));
    transport.send_request(request).await
}

async fn initialize_session(
    transport: &ClientTransport,
    context: &ConnectionContext,
) -> Result<NegotiatedProtocol, ConnectionError> {
    // The handshake declares capabilities for all calls. Requests to callers without them are refused (`server_request`).
    let offered = CallerCapabilities { elicitation: true, ..CallerCapabilities::default() };
    let params = json!({
        "protocolVersion": HANDSHAKE_REVISIONS[0],
        "capabilities": encode_capabilities(offered),
        "clientInfo": client_info(),
    });
    let request = OutgoingRequest::new(context.next_id(), "initialize", params);
    let result = transport.send_request(request).await.map_err(RequestFailure::into_error)?;
    let initialized: InitializeResult = parse_result(context, &result)?;
    let version = initialized.protocol_version.as_str();
    let Some(protocol) = HANDSHAKE_REVISIONS.into_iter().find(|known| *known == version) else {
        let version = context.sanitize_text(version, MAX_SHOWN_NAME);
        return Err(ConnectionError::protocol_violation(format!(
            "unknown protocol revision {version}"
        )));
    };
    let notification = envelope::encode_notification("notifications/initialized", json!({}));
    transport
        .send_notification(notification, protocol)
        .await
        .map_err(RequestFailure::into_error)?;
    Ok(build_negotiated(
        context,
        initialized.server_info,
        protocol,
        ProtocolEra::Handshake,
        &initialized.capabilities,
    ))
}

fn build_negotiated(
    context: &ConnectionContext,
    info: ImplementationInfo,
    protocol: &str,
    era: ProtocolEra,
    capabilities: &Value,
) -> NegotiatedProtocol {
    let server = ServerInfo {
        name: context.sanitize_text(&info.name, MAX_SHOWN_NAME),
        version: context.sanitize_text(&info.version, MAX_SHOWN_NAME),
        protocol: protocol.to_owned(),
        era,
    };
    let tools = &capabilities["tools"];
    NegotiatedProtocol {
        server,
        list_changed: tools["listChanged"] == true,
        has_tools: tools.is_object(),
    }
}

fn parse_result<T: DeserializeOwned>(
    context: &ConnectionContext,
    result: &RawValue,
) -> Result<T, ConnectionError> {
    json_scan::check_depth(result.get(), context.bounds.max_depth)?;
    serde_json::from_str(result.get())
        .map_err(|_| ConnectionError::protocol_violation("invalid response to the first request"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: ImplementationInfo,
}

#[derive(Default, Deserialize)]
struct ImplementationInfo {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
}

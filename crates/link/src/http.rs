//! The streamable HTTP transport: each request is a POST in the caller's own task, and the response arrives on it.

mod client;
mod listen;
mod response;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use reqwest::{Client, Response, Url};
use serde_json::value::RawValue;
use tokio::task::AbortHandle;

use crate::error::RequestFailure;
use crate::in_flight::InFlightCalls;
use crate::session::{OutgoingRequest, send_in_background};
use crate::{ConnectionError, HttpEndpoint, ProtocolEra, envelope, headers};

pub(crate) use client::{build_client, classify_transport_error, parse_endpoint};
pub(crate) use response::read_bounded;

pub(crate) const SESSION_HEADER: &str = "mcp-session-id";
const PROTOCOL_HEADER: &str = "mcp-protocol-version";

/// Maximum size of the body of an error response.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The streamable HTTP transport of one session.
pub(crate) struct HttpClientTransport {
    pub(crate) flight: Arc<InFlightCalls>,
    channel: Arc<HttpChannel>,
    tasks: Mutex<Vec<AbortHandle>>,
}

/// HTTP client, address and session id, shared with background tasks.
pub(crate) struct HttpChannel {
    client: Client,
    url: Url,
    headers: HeaderMap,
    session: OnceLock<HeaderValue>,
    /// Set if the server no longer knows the session, so it must not be deleted.
    forgotten: AtomicBool,
}

impl HttpClientTransport {
    pub(crate) fn new(
        client: Client,
        target: &HttpEndpoint,
        flight: Arc<InFlightCalls>,
    ) -> Result<Self, ConnectionError> {
        let (url, mut headers) = parse_endpoint(target)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (session, forgotten) = (OnceLock::new(), AtomicBool::new(false));
        let channel = Arc::new(HttpChannel { client, url, headers, session, forgotten });
        Ok(Self { flight, channel, tasks: Mutex::default() })
    }

    /// Sends a request and waits for its response. Returns the text of the result.
    pub(crate) async fn send_request(
        &self,
        request: OutgoingRequest<'_>,
    ) -> Result<Box<RawValue>, RequestFailure> {
        let OutgoingRequest { id, method, body, protocol, name, headers: extra, listener, cancel } =
            request;
        let ticket =
            self.flight.register_call(id, listener, None).map_err(RequestFailure::NotSent)?;
        let era = protocol.map_or(ProtocolEra::Handshake, |(_, era)| era);
        // In the stateless era a request is cancelled by closing its connection.
        let cancel = cancel && era == ProtocolEra::Handshake;
        let version = protocol.map(|(version, _)| version);
        let mut waiting = HttpCancelGuard { channel: &self.channel, id, protocol: version, cancel };
        let mut headers = self.channel.build_headers(version);
        if era == ProtocolEra::Stateless {
            headers.insert("mcp-method", headers::encode_header_value(method));
            if let Some(name) = name {
                headers.insert("mcp-name", headers::encode_header_value(name));
            }
            for (name, value) in extra {
                headers.insert(name, value);
            }
        }
        let reply = self.post_and_read(id, headers, body, version).await;
        waiting.cancel = false;
        drop(ticket);
        reply
    }

    async fn post_and_read(
        &self,
        id: u64,
        headers: HeaderMap,
        body: Vec<u8>,
        version: Option<&str>,
    ) -> Result<Box<RawValue>, RequestFailure> {
        let response = self.channel.post_message(headers, body, &self.flight).await?;
        if let Some(session) = response.headers().get(SESSION_HEADER)
            && version.is_none()
        {
            let mut session = session.clone();
            session.set_sensitive(true);
            let _ = self.channel.session.set(session);
        }
        response::read_response(self, response, id, version).await
    }

    pub(crate) async fn send_notification(
        &self,
        text: Vec<u8>,
        protocol: &str,
    ) -> Result<(), RequestFailure> {
        self.channel
            .post_message(self.channel.build_headers(Some(protocol)), text, &self.flight)
            .await
            .map(drop)
    }

    /// Deletes the session at the server, if there is one.
    pub(crate) async fn delete_session(&self, protocol: &str) {
        let channel = &self.channel;
        if channel.session.get().is_none() || channel.forgotten.swap(true, Ordering::Relaxed) {
            return;
        }
        let headers = channel.build_headers(Some(protocol));
        // Servers may refuse it.
        let _ = channel.client.delete(channel.url.clone()).headers(headers).send().await;
    }

    pub(crate) fn abort_tasks(&self) {
        for task in self.tasks.lock().drain(..) {
            task.abort();
        }
    }
}

impl Drop for HttpClientTransport {
    /// Deletes the server's session in the background, if a runtime is still available.
    fn drop(&mut self) {
        let channel = &self.channel;
        if channel.session.get().is_none() || channel.forgotten.swap(true, Ordering::Relaxed) {
            return;
        }
        let delete =
            channel.client.delete(channel.url.clone()).headers(channel.build_headers(None));
        send_in_background(delete.send());
    }
}

impl HttpChannel {
    fn build_headers(&self, protocol: Option<&str>) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(session) = self.session.get() {
            headers.insert(SESSION_HEADER, session.clone());
        }
        if let Some(protocol) = protocol {
            headers.insert(PROTOCOL_HEADER, headers::encode_header_value(protocol));
        }
        headers
    }

    /// Posts a message and returns the response if its status is a success.
    async fn post_message(
        &self,
        headers: HeaderMap,
        body: Vec<u8>,
        flight: &InFlightCalls,
    ) -> Result<Response, RequestFailure> {
        let sent = self.client.post(self.url.clone()).headers(headers).body(body).send().await;
        let response = sent.map_err(|error| classify_transport_error(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let fail = classify_error_response(response, self.session.get().is_some(), flight).await;
        if matches!(fail, RequestFailure::SessionLost) {
            self.forgotten.store(true, Ordering::Relaxed);
        }
        Err(fail)
    }

    /// Answers a server's request; `stream_of` as in [`InFlightCalls::handle_server_request`].
    fn handle_server_request(
        self: &Arc<Self>,
        question: envelope::ServerRequest<'_>,
        stream_of: Option<u64>,
        protocol: Option<&str>,
        flight: &Arc<InFlightCalls>,
    ) {
        let (channel, headers, flight_too) =
            (self.clone(), self.build_headers(protocol), flight.clone());
        flight.handle_server_request(question, stream_of, async move |reply| {
            let _ = channel.post_message(headers, reply, &flight_too).await;
        });
    }
}

/// Classifies an error response. `with_session` is set if the request carried a session id.
pub(crate) async fn classify_error_response(
    response: Response,
    with_session: bool,
    flight: &InFlightCalls,
) -> RequestFailure {
    let status = response.status();
    let code = status.as_u16();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return ConnectionError::Unauthenticated { status: code }.into();
    }
    if with_session && status == StatusCode::NOT_FOUND {
        return RequestFailure::SessionLost;
    }
    let body = read_bounded(response, MAX_ERROR_BODY).await.unwrap_or_default();
    if with_session && status == StatusCode::BAD_REQUEST && is_session_error(&body) {
        return RequestFailure::SessionLost;
    }
    if let Some(envelope::IncomingMessage::Response {
        outcome: error @ envelope::ResponsePayload::Error(_),
        ..
    }) = envelope::parse_message(&body)
        && let Err(error) = flight.decode_payload(&error)
    {
        return error.into();
    }
    if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
        return ConnectionError::protocol_violation(format!(
            "the server responded with HTTP {code}"
        ))
        .into();
    }
    let may_have_run = status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE;
    let reason = format!("it responded with HTTP {code}");
    ConnectionError::Unavailable { reason, may_have_run }.into()
}

/// Returns true if the body of a 400 response reports an unknown session. The specification requires 404, but some old
/// and widely used servers send 400 with such a text. A response with a request id means that the server handled the
/// request, so the text is about something else.
fn is_session_error(body: &[u8]) -> bool {
    if let Some(envelope::IncomingMessage::Response { id: Some(_), .. }) =
        envelope::parse_message(body)
    {
        return false;
    }
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    text.contains("session") && (text.contains("valid") || text.contains("not found"))
}

/// Sends a cancellation if it is dropped while the request is pending. In the handshake era, closing the request alone does
/// not cancel it.
struct HttpCancelGuard<'a> {
    channel: &'a HttpChannel,
    id: u64,
    protocol: Option<&'a str>,
    cancel: bool,
}

impl Drop for HttpCancelGuard<'_> {
    fn drop(&mut self) {
        if self.cancel {
            let channel = self.channel;
            let note = channel
                .client
                .post(channel.url.clone())
                .headers(channel.build_headers(self.protocol));
            send_in_background(note.body(envelope::encode_cancellation(self.id)).send());
        }
    }
}

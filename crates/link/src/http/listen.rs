//! Listens for unsolicited messages: on the GET stream of the handshake era, or with `subscriptions/listen` since
//! 2026-07-28.

use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use reqwest::Response;
use serde_json::json;

use super::response::is_stream;
use super::{HttpChannel, HttpClientTransport, classify_error_response, classify_transport_error};
use crate::envelope::{self, IncomingMessage};
use crate::error::RequestFailure;
use crate::in_flight::InFlightCalls;
use crate::session::RequestMeta;
use crate::sse_parser::SseParser;
use crate::{CallerCapabilities, ConnectionError, ProtocolEra, headers};
use tokio::time::Instant;

const MIN_LISTEN_DELAY: Duration = Duration::from_secs(1);
const MAX_LISTEN_DELAY: Duration = Duration::from_secs(30);

impl HttpClientTransport {
    /// Listens in the background until the session ends. Stops if the server does not support it.
    pub(crate) fn spawn_listener(&self, protocol: &str, era: ProtocolEra) {
        let (channel, flight, protocol) =
            (self.channel.clone(), self.flight.clone(), protocol.to_owned());
        let task = tokio::spawn(async move {
            let mut pause = MIN_LISTEN_DELAY;
            let mut missed_messages = false;
            loop {
                let opened = match era {
                    ProtocolEra::Handshake => channel.open_stream(&protocol, &flight).await,
                    ProtocolEra::Stateless => {
                        channel.subscribe_to_list_changes(&protocol, &flight).await
                    }
                };
                match opened {
                    Ok(Some(response)) => {
                        // Notifications sent between two streams were lost.
                        if missed_messages {
                            flight.context.notify_list_changed();
                        }
                        let opened = Instant::now();
                        dispatch_stream(&channel, &flight, &protocol, response).await;
                        // The delay keeps growing for a server that ends each stream at once.
                        if opened.elapsed() > MAX_LISTEN_DELAY {
                            pause = MIN_LISTEN_DELAY;
                        }
                    }
                    Ok(None) => return,
                    // The next call or the background reconnect opens a new session.
                    Err(RequestFailure::SessionLost | RequestFailure::NotSent(_)) => {
                        flight.close(&ConnectionError::server_unreachable(
                            "it closed the connection",
                        ));
                        return;
                    }
                    Err(RequestFailure::Final(_)) => {}
                }
                missed_messages = true;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_LISTEN_DELAY);
            }
        });
        self.tasks.lock().push(task.abort_handle());
    }
}

impl HttpChannel {
    /// Opens the GET stream. Returns `None` if the server does not support it.
    async fn open_stream(
        &self,
        protocol: &str,
        flight: &InFlightCalls,
    ) -> Result<Option<Response>, RequestFailure> {
        let mut headers = self.build_headers(Some(protocol));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let sent = self.client.get(self.url.clone()).headers(headers).send().await;
        let response = sent.map_err(|error| classify_transport_error(&error))?;
        match response.status() {
            status if status.is_success() => Ok(Some(response).filter(is_stream)),
            StatusCode::NOT_FOUND if self.session.get().is_some() => {
                Err(RequestFailure::SessionLost)
            }
            status if status.is_client_error() => Ok(None),
            _ => Err(classify_error_response(response, self.session.get().is_some(), flight).await),
        }
    }

    /// Resumes a broken stream after the event `last`. Returns the response with the rest of the stream.
    pub(super) async fn resume_stream(
        &self,
        last: &str,
        version: Option<&str>,
    ) -> Result<Response, RequestFailure> {
        let mut headers = self.build_headers(version);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert("last-event-id", headers::encode_header_value(last));
        let sent = self.client.get(self.url.clone()).headers(headers).send().await;
        match sent {
            Ok(response) if response.status().is_success() && is_stream(&response) => Ok(response),
            _ => {
                Err(ConnectionError::connection_lost("the stream ended before the response").into())
            }
        }
    }

    /// Subscribes to `tools/list_changed`. Returns `None` if the server does not support it.
    async fn subscribe_to_list_changes(
        &self,
        protocol: &str,
        flight: &InFlightCalls,
    ) -> Result<Option<Response>, RequestFailure> {
        const METHOD: &str = "subscriptions/listen";
        let params = json!({
            "notifications": { "toolsListChanged": true },
            "_meta": RequestMeta::new(protocol, CallerCapabilities::default()),
        });
        let mut headers = self.build_headers(Some(protocol));
        headers.insert("mcp-method", HeaderValue::from_static(METHOD));
        let id = flight.context.next_id();
        match self.post_message(headers, envelope::encode_request(id, METHOD, params), flight).await
        {
            Ok(response) => Ok(Some(response).filter(is_stream)),
            Err(RequestFailure::Final(
                ConnectionError::Rejected { .. } | ConnectionError::ProtocolViolation { .. },
            )) => Ok(None),
            Err(fail) => Err(fail),
        }
    }
}

/// Dispatches the messages of a listening stream until it ends.
async fn dispatch_stream(
    channel: &Arc<HttpChannel>,
    flight: &Arc<InFlightCalls>,
    protocol: &str,
    mut response: Response,
) {
    let mut events = SseParser::new(flight.context.bounds.max_message_bytes);
    let mut ready = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        if events.push(&chunk, &mut ready).is_err() {
            return;
        }
        for event in ready.drain(..) {
            match envelope::parse_message(&event.data) {
                Some(IncomingMessage::Notification { method, params }) => {
                    flight.handle_notification(&method, params, None)
                }
                Some(IncomingMessage::Request(question)) => {
                    channel.handle_server_request(question, None, Some(protocol), flight)
                }
                Some(IncomingMessage::Response { .. }) | None => {}
            }
        }
    }
}

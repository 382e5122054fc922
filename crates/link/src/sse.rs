//! The legacy HTTP+SSE transport of 2024-11-05: incoming messages are events on one long response, and outgoing messages
//! are posted to the URL in its `endpoint` event.

use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use reqwest::{Client, Response, Url};
use tokio::task::AbortHandle;

use crate::context::increment_counter;
use crate::duplex::{self, DuplexOutlet, DuplexTransport};
use crate::error::RequestFailure;
use crate::http::{classify_error_response, classify_transport_error, parse_endpoint};
use crate::in_flight::InFlightCalls;
use crate::sse_parser::{SseEvent, SseParser};
use crate::{ConnectionError, HttpEndpoint};

/// Posts outgoing messages.
pub(crate) struct SsePostSender {
    client: Client,
    url: Url,
    headers: HeaderMap,
    flight: Arc<InFlightCalls>,
    reader: AbortHandle,
}

impl SsePostSender {
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<(), RequestFailure> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let response =
            request.body(message).send().await.map_err(|error| classify_transport_error(&error))?;
        if response.status().is_success() {
            return Ok(());
        }
        let fail = classify_error_response(response, true, &self.flight).await;
        if matches!(fail, RequestFailure::SessionLost) {
            self.flight.close(&ConnectionError::server_unreachable("it lost the session"));
        }
        Err(fail)
    }

    pub(crate) fn close(&self) {
        self.reader.abort();
    }
}

impl Drop for SsePostSender {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Opens the event stream and waits for its `endpoint` event.
///
/// # Errors
/// If the server cannot be reached, or names a URL of another origin.
pub(crate) async fn connect_sse(
    client: Client,
    target: &HttpEndpoint,
    flight: Arc<InFlightCalls>,
) -> Result<DuplexTransport, ConnectionError> {
    let (url, mut headers) = parse_endpoint(target)?;
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let sent = client.get(url.clone()).headers(headers.clone()).send().await;
    let response = sent.map_err(|error| classify_transport_error(&error).into_error())?;
    if response.status() != StatusCode::OK {
        return Err(classify_error_response(response, false, &flight).await.into_error());
    }
    let mut stream = SseStream::new(response, &flight);
    let location = stream.wait_for_endpoint().await?;
    let post_to = url.join(&location).ok().filter(|to| to.origin() == url.origin());
    let Some(post_to) = post_to else {
        return Err(ConnectionError::protocol_violation(
            "the SSE message endpoint is on another origin",
        ));
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (start, started) = tokio::sync::oneshot::channel();
    let reader = tokio::spawn({
        let flight = flight.clone();
        async move {
            if let Ok(outlet) = started.await {
                stream.dispatch_messages(&flight, &outlet).await;
            }
        }
    });
    let reader = reader.abort_handle();
    let post = SsePostSender { client, url: post_to, headers, flight: flight.clone(), reader };
    let outlet = Arc::new(DuplexOutlet::Post(post));
    let _ = start.send(Arc::downgrade(&outlet));
    Ok(DuplexTransport { flight, outlet })
}

/// The open event stream.
struct SseStream {
    response: Response,
    events: SseParser,
    ready: Vec<SseEvent>,
}

impl SseStream {
    fn new(response: Response, flight: &InFlightCalls) -> Self {
        let events = SseParser::new(flight.context.bounds.max_message_bytes);
        Self { response, events, ready: Vec::new() }
    }

    /// Reads more events.
    ///
    /// # Errors
    /// If the stream ended or an event is too large.
    async fn read_events(&mut self) -> Result<(), ConnectionError> {
        match self.response.chunk().await {
            Ok(Some(chunk)) => self.events.push(&chunk, &mut self.ready),
            Ok(None) | Err(_) => Err(ConnectionError::connection_lost("its event stream ended")),
        }
    }

    /// Waits for the `endpoint` event and returns the URL that messages are posted to.
    async fn wait_for_endpoint(&mut self) -> Result<String, ConnectionError> {
        loop {
            self.read_events().await?;
            if let Some(at) = self.ready.iter().position(|event| event.name == "endpoint") {
                let event = self.ready.drain(..=at).next_back().unwrap_or_default();
                return String::from_utf8(event.data).map_err(|_| {
                    ConnectionError::protocol_violation(
                        "the SSE message endpoint is not valid UTF-8",
                    )
                });
            }
            // No request was sent yet, so these events are not responses.
            self.ready.clear();
        }
    }

    /// Dispatches messages until the stream ends.
    async fn dispatch_messages(
        &mut self,
        flight: &Arc<InFlightCalls>,
        outlet: &std::sync::Weak<DuplexOutlet>,
    ) {
        loop {
            for event in self.ready.drain(..) {
                if event.name == "message" {
                    duplex::dispatch_message(flight, outlet, &event.data);
                }
            }
            if let Err(error) = self.read_events().await {
                if matches!(error, ConnectionError::TooLarge { .. }) {
                    increment_counter(&flight.context.oversized);
                }
                flight.close(&error);
                return;
            }
        }
    }
}

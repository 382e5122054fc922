//! Reads the response to a POST: one JSON message, or an event stream that ends with it.

use std::time::Duration;

use futures::FutureExt;
use http::header::CONTENT_TYPE;
use reqwest::Response;
use serde_json::value::RawValue;

use super::{HttpClientTransport, classify_transport_error};
use crate::ConnectionError;
use crate::context::increment_counter;
use crate::envelope::{self, IncomingMessage};
use crate::error::RequestFailure;
use crate::sse_parser::{SseEvent, SseParser};

/// Maximum times a stream that breaks before the response is resumed. Requires event ids from the server.
const MAX_RESUMES: usize = 5;
const MAX_RETRY: Duration = Duration::from_secs(10);
/// Maximum time a stream may stay open after the response before its connection is dropped.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Reads the response to request `id`. Returns the text of its result.
pub(super) async fn read_response(
    http: &HttpClientTransport,
    response: Response,
    id: u64,
    version: Option<&str>,
) -> Result<Box<RawValue>, RequestFailure> {
    let limit = http.flight.context.bounds.max_message_bytes;
    if is_stream(&response) {
        return ResponseStream { http, id, version }.read_until_response(response).await;
    }
    let body = read_bounded(response, limit).await.inspect_err(|error| {
        if matches!(error, ConnectionError::TooLarge { .. }) {
            increment_counter(&http.flight.context.oversized);
        }
    })?;
    match envelope::parse_message(&body) {
        Some(IncomingMessage::Response { id: Some(found), outcome }) if found == id => {
            Ok(http.flight.decode_payload(&outcome)?)
        }
        // An error without an id can only belong to this request.
        Some(IncomingMessage::Response {
            id: None,
            outcome: error @ envelope::ResponsePayload::Error(_),
        }) => Ok(http.flight.decode_payload(&error)?),
        Some(IncomingMessage::Response { .. }) => {
            increment_counter(&http.flight.context.stray_responses);
            Err(ConnectionError::protocol_violation("the response has the id of another request")
                .into())
        }
        _ => Err(ConnectionError::protocol_violation("the response is not JSON-RPC").into()),
    }
}

/// Returns true if the response is an event stream.
pub(super) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map_or(&[][..], |kind| kind.as_bytes());
    kind.starts_with(b"text/event-stream")
}

/// Returns the whole body. Never buffers more than `limit` bytes.
///
/// # Errors
/// If the body is larger than `limit`, or the connection breaks.
pub(crate) async fn read_bounded(
    mut response: Response,
    limit: usize,
) -> Result<Vec<u8>, ConnectionError> {
    let announced = response.content_length().and_then(|size| usize::try_from(size).ok());
    if let Some(size) = announced.filter(|size| *size > limit) {
        return Err(ConnectionError::TooLarge { size, limit });
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) =
        response.chunk().await.map_err(|error| classify_transport_error(&error).into_error())?
    {
        let size = body.len() + chunk.len();
        if size > limit {
            return Err(ConnectionError::TooLarge { size, limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A request whose response arrives on an event stream. Server requests on the stream belong to the same call.
struct ResponseStream<'a> {
    http: &'a HttpClientTransport,
    id: u64,
    version: Option<&'a str>,
}

impl ResponseStream<'_> {
    async fn read_until_response(
        self,
        mut response: Response,
    ) -> Result<Box<RawValue>, RequestFailure> {
        let limit = self.http.flight.context.bounds.max_message_bytes;
        let mut events = SseParser::new(limit);
        let mut ready = Vec::new();
        let mut resumes = 0;
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    events.push(&chunk, &mut ready).inspect_err(|_| {
                        increment_counter(&self.http.flight.context.oversized);
                    })?;
                }
                // The stream broke or ended before the response.
                Ok(None) | Err(_) => {
                    let Some(last) = events.last_id.clone().filter(|_| resumes < MAX_RESUMES)
                    else {
                        return Err(ConnectionError::connection_lost(
                            "the stream ended before the response",
                        )
                        .into());
                    };
                    resumes += 1;
                    let pause =
                        Duration::from_millis(events.retry_ms.unwrap_or(500)).min(MAX_RETRY);
                    tokio::time::sleep(pause).await;
                    response = self.http.channel.resume_stream(&last, self.version).await?;
                    events.reset_for_resume();
                }
            }
            for event in ready.drain(..) {
                if let Some(reply) = self.handle_event(&event) {
                    drain_response(response);
                    return Ok(reply?);
                }
            }
        }
    }

    fn handle_event(&self, event: &SseEvent) -> Option<Result<Box<RawValue>, ConnectionError>> {
        let flight = &self.http.flight;
        match envelope::parse_message(&event.data) {
            Some(IncomingMessage::Response { id: Some(id), outcome }) if id == self.id => {
                return Some(flight.decode_payload(&outcome));
            }
            Some(IncomingMessage::Response {
                id: None,
                outcome: error @ envelope::ResponsePayload::Error(_),
            }) => {
                return Some(flight.decode_payload(&error));
            }
            Some(IncomingMessage::Response { .. }) => {
                increment_counter(&flight.context.stray_responses)
            }
            Some(IncomingMessage::Notification { method, params }) => {
                flight.handle_notification(&method, params, Some(self.id));
            }
            Some(IncomingMessage::Request(question)) => {
                self.http.channel.handle_server_request(
                    question,
                    Some(self.id),
                    self.version,
                    flight,
                );
            }
            None if event.data.is_empty() => {}
            None => increment_counter(&flight.context.garbage),
        }
        None
    }
}

/// Reads a stream to its end, so that its connection can be reused. Usually the end has already arrived.
fn drain_response(mut response: Response) {
    if let Some(Ok(None) | Err(_)) = response.chunk().now_or_never() {
        return;
    }
    tokio::spawn(tokio::time::timeout(DRAIN_LIMIT, async move {
        while let Ok(Some(_)) = response.chunk().await {}
    }));
}

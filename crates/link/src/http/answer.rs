//! The answer to a POST: one JSON message, or a stream of events that ends with it.

use std::time::Duration;

use futures::FutureExt;
use http::header::CONTENT_TYPE;
use reqwest::Response;
use serde_json::value::RawValue;

use super::{Http, describe};
use crate::LinkError;
use crate::context::count;
use crate::envelope::{self, Message};
use crate::error::Fail;
use crate::events::{Event, Events};

/// A stream that breaks before the answer is taken up again this often, where the server numbers its events.
const MAX_RESUMES: usize = 5;
const MAX_RETRY: Duration = Duration::from_secs(10);
/// How long a stream may stay open after the answer before its connection is given up.
const DRAIN: Duration = Duration::from_secs(2);

pub(super) async fn read(
    http: &Http,
    response: Response,
    id: u64,
    version: Option<&str>,
) -> Result<Box<RawValue>, Fail> {
    let limit = http.flight.context.bounds.max_message_bytes;
    if is_stream(&response) {
        return Stream { http, id, version }.run(response).await;
    }
    let body = read_bounded(response, limit).await.inspect_err(|error| {
        if matches!(error, LinkError::TooLarge { .. }) {
            count(&http.flight.context.oversized);
        }
    })?;
    match envelope::read(&body) {
        Some(Message::Answer { id: Some(found), outcome }) if found == id => {
            Ok(http.flight.outcome(&outcome)?)
        }
        // An error that could not name its request can only mean this one.
        Some(Message::Answer { id: None, outcome: error @ envelope::Outcome::Error(_) }) => {
            Ok(http.flight.outcome(&error)?)
        }
        Some(Message::Answer { .. }) => {
            count(&http.flight.context.stray_answers);
            Err(LinkError::malformed("it answers another request than it was sent").into())
        }
        _ => Err(LinkError::malformed("its answer is no JSON-RPC response").into()),
    }
}

pub(super) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map_or(&[][..], |kind| kind.as_bytes());
    kind.starts_with(b"text/event-stream")
}

/// The whole body, if it is within the limit; not a byte more is held.
pub(crate) async fn read_bounded(
    mut response: Response,
    limit: usize,
) -> Result<Vec<u8>, LinkError> {
    let announced = response.content_length().and_then(|size| usize::try_from(size).ok());
    if let Some(size) = announced.filter(|size| *size > limit) {
        return Err(LinkError::TooLarge { size, limit });
    }
    let mut body = Vec::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) = response.chunk().await.map_err(|error| describe(&error).into_error())? {
        let size = body.len() + chunk.len();
        if size > limit {
            return Err(LinkError::TooLarge { size, limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A request whose answer comes as a stream. Questions that come before it are this call's.
struct Stream<'a> {
    http: &'a Http,
    id: u64,
    version: Option<&'a str>,
}

impl Stream<'_> {
    async fn run(self, mut response: Response) -> Result<Box<RawValue>, Fail> {
        let limit = self.http.flight.context.bounds.max_message_bytes;
        let mut events = Events::new(limit);
        let mut ready = Vec::new();
        let mut resumes = 0;
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    events.push(&chunk, &mut ready).inspect_err(|_| {
                        count(&self.http.flight.context.oversized);
                    })?;
                }
                // Broken or ended early.
                Ok(None) | Err(_) => {
                    let Some(last) = events.last_id.clone().filter(|_| resumes < MAX_RESUMES)
                    else {
                        return Err(LinkError::lost("the stream ended before the answer").into());
                    };
                    resumes += 1;
                    let pause =
                        Duration::from_millis(events.retry_ms.unwrap_or(500)).min(MAX_RETRY);
                    tokio::time::sleep(pause).await;
                    response = self.http.line.take_up(&last, self.version).await?;
                    events.restart();
                }
            }
            for event in ready.drain(..) {
                if let Some(reply) = self.take(&event) {
                    finish(response);
                    return Ok(reply?);
                }
            }
        }
    }

    fn take(&self, event: &Event) -> Option<Result<Box<RawValue>, LinkError>> {
        let flight = &self.http.flight;
        match envelope::read(&event.data) {
            Some(Message::Answer { id: Some(id), outcome }) if id == self.id => {
                return Some(flight.outcome(&outcome));
            }
            Some(Message::Answer { id: None, outcome: error @ envelope::Outcome::Error(_) }) => {
                return Some(flight.outcome(&error));
            }
            Some(Message::Answer { .. }) => count(&flight.context.stray_answers),
            Some(Message::Note { method, params }) => {
                flight.note(&method, params, Some(self.id));
            }
            Some(Message::Request(question)) => {
                self.http.line.ask(question, Some(self.id), self.version, flight);
            }
            None if event.data.is_empty() => {}
            None => count(&flight.context.garbage),
        }
        None
    }
}

/// Reads a stream to its end, so that its connection can serve the next call; mostly the end has come with the answer.
fn finish(mut response: Response) {
    if let Some(Ok(None) | Err(_)) = response.chunk().now_or_never() {
        return;
    }
    tokio::spawn(tokio::time::timeout(DRAIN, async move {
        while let Ok(Some(_)) = response.chunk().await {}
    }));
}

//! A transport with one shared stream of incoming messages: standard input and output, or legacy SSE.

mod stdin_pipe;

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::ConnectionError;
use crate::context::increment_counter;
use crate::envelope::{self, IncomingMessage};
use crate::error::RequestFailure;
use crate::in_flight::{InFlightCalls, InFlightGuard};
use crate::session::{OutgoingRequest, send_in_background};
use crate::sse::SsePostSender;

pub(crate) use stdin_pipe::StdinPipe;

/// Maximum wait for the reader to notice that the connection has ended.
const READER_LIMIT: Duration = Duration::from_secs(1);

/// The sending half. Only the session owns it, so dropping the session closes a child's standard input.
pub(crate) enum DuplexOutlet {
    Pipe(StdinPipe),
    Post(SsePostSender),
}

impl DuplexOutlet {
    /// Sends one message. Returns its offset if it went into a pipe.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<Option<u64>, RequestFailure> {
        match self {
            Self::Pipe(pipe) => pipe.send(message).await.map(Some),
            Self::Post(post) => post.send(message).await.map(|()| None),
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Self::Pipe(pipe) => pipe.close(),
            Self::Post(post) => post.close(),
        }
    }
}

/// A transport over a sending half and a shared stream of incoming messages.
pub(crate) struct DuplexTransport {
    pub(crate) flight: Arc<InFlightCalls>,
    pub(crate) outlet: Arc<DuplexOutlet>,
}

impl DuplexTransport {
    /// Sends a request and waits for its response. Returns the text of the result.
    pub(crate) async fn send_request(
        &self,
        request: OutgoingRequest<'_>,
    ) -> Result<Box<RawValue>, RequestFailure> {
        let (reply, answer) = oneshot::channel();
        let ticket = self
            .flight
            .register_call(request.id, request.listener, Some(reply))
            .map_err(RequestFailure::NotSent)?;
        let mut waiting =
            DuplexCancelGuard { ticket, outlet: &self.outlet, cancel: request.cancel };
        let sent = self.outlet.send(request.body).await;
        let start = match sent {
            Ok(start) => start,
            Err(fail) => {
                waiting.cancel = false;
                return Err(match (fail, self.closing_reason().await) {
                    (RequestFailure::NotSent(_), Some(reason)) => RequestFailure::NotSent(reason),
                    (RequestFailure::Final(_), Some(reason)) => {
                        RequestFailure::Final(reason.after_sending())
                    }
                    (fail, _) => fail,
                });
            }
        };
        let answer = answer.await;
        waiting.cancel = false;
        let error = match answer {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => error,
            Err(_) => ConnectionError::Closed.after_sending(),
        };
        Err(if self.is_unread(&error, start).await {
            RequestFailure::NotSent(error)
        } else {
            RequestFailure::Final(error)
        })
    }

    /// Returns true if the connection ended and the request at `start` stayed unread in the child's pipe. This happens if
    /// the child had exited before the request was written, even if its exit was noticed later.
    async fn is_unread(&self, error: &ConnectionError, start: Option<u64>) -> bool {
        match (&*self.outlet, start, error) {
            (DuplexOutlet::Pipe(pipe), Some(start), ConnectionError::Unavailable { .. }) => {
                pipe.is_unread(start).await
            }
            _ => false,
        }
    }
}

impl DuplexTransport {
    /// Returns the reason that the connection ended. The reader knows it better than the writer: it has the child's exit
    /// status and standard error.
    async fn closing_reason(&self) -> Option<ConnectionError> {
        if matches!(&*self.outlet, DuplexOutlet::Pipe(pipe) if pipe.is_closed()) {
            let mut closed = self.flight.watch_closed();
            let _ = tokio::time::timeout(READER_LIMIT, closed.wait_for(Option::is_some)).await;
        }
        self.flight.closing_reason()
    }
}

impl Drop for DuplexTransport {
    /// Closes the sending half, because a task may hold it while it sends a response that the server does not read. It must
    /// not outlive an abandoned attempt.
    fn drop(&mut self) {
        self.flight.close(&ConnectionError::Closed);
        self.outlet.close();
    }
}

/// Sends a cancellation to the server if it is dropped while the request is pending.
struct DuplexCancelGuard<'a> {
    ticket: InFlightGuard,
    outlet: &'a Arc<DuplexOutlet>,
    cancel: bool,
}

impl Drop for DuplexCancelGuard<'_> {
    fn drop(&mut self) {
        if self.cancel {
            let (outlet, id) = (self.outlet.clone(), self.ticket.id);
            send_in_background(async move { outlet.send(envelope::encode_cancellation(id)).await });
        }
    }
}

/// Dispatches one incoming message. The sending half is weak, so that a reader does not keep the session alive.
pub(crate) fn dispatch_message(
    flight: &Arc<InFlightCalls>,
    outlet: &Weak<DuplexOutlet>,
    text: &[u8],
) {
    match envelope::parse_message(text) {
        Some(IncomingMessage::Response { id, outcome }) => flight.complete_call(id, &outcome),
        Some(IncomingMessage::Notification { method, params }) => {
            flight.handle_notification(&method, params, None)
        }
        Some(IncomingMessage::Request(question)) => {
            let outlet = outlet.clone();
            flight.handle_server_request(question, None, async move |reply| {
                if let Some(outlet) = outlet.upgrade() {
                    let _ = outlet.send(reply).await;
                }
            });
        }
        None if text.trim_ascii().is_empty() => {}
        None => {
            increment_counter(&flight.context.garbage);
            tracing::debug!(
                server = flight.context.name,
                bytes = text.len(),
                "skipped output that is not JSON-RPC"
            );
        }
    }
}

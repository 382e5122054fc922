//! The pending calls of a session: routes each incoming message to the call that it belongs to.
//!
//! A response goes only to the call with its id. Messages that match no call are counted and dropped.

mod open_requests;

use std::collections::HashMap;
use std::sync::Arc;

use contract::Progress;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use crate::context::{ConnectionContext, increment_counter};
use crate::envelope::{JsonRpcError, ResponsePayload};
use crate::{CallerCapabilities, ConnectionError, ElicitationResponder, ProgressSink, json_scan};

use open_requests::OpenServerRequest;

const MAX_SHOWN_MESSAGE: usize = 1000;

/// The text of a result, or the error of a call.
pub(crate) type CallReply = Result<Box<RawValue>, ConnectionError>;

/// Callbacks of a call that the server can reach while it runs.
#[derive(Clone, Default)]
pub(crate) struct CallListener {
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) responder: Option<Arc<dyn ElicitationResponder>>,
    pub(crate) capabilities: CallerCapabilities,
}

struct InFlightCall {
    /// `None` if the response arrives elsewhere (over HTTP, on the request itself).
    reply: Option<oneshot::Sender<CallReply>>,
    listener: CallListener,
}

/// The pending calls and open server requests of one session.
pub(crate) struct InFlightCalls {
    pub(crate) context: Arc<ConnectionContext>,
    calls: Mutex<HashMap<u64, InFlightCall>>,
    /// Lock order: before `calls`.
    asks: Mutex<Vec<OpenServerRequest>>,
    closed: watch::Sender<Option<ConnectionError>>,
}

impl InFlightCalls {
    pub(crate) fn new(context: Arc<ConnectionContext>) -> Arc<Self> {
        let closed = watch::channel(None).0;
        Arc::new(Self { context, calls: Mutex::default(), asks: Mutex::default(), closed })
    }

    /// Registers a call until the returned guard is dropped.
    ///
    /// # Errors
    /// With the closing reason, if the session is closed.
    pub(crate) fn register_call(
        self: &Arc<Self>,
        id: u64,
        listener: CallListener,
        reply: Option<oneshot::Sender<CallReply>>,
    ) -> Result<InFlightGuard, ConnectionError> {
        let mut calls = self.calls.lock();
        // Checked under the lock, because `close` drains the map under it.
        if let Some(reason) = self.closing_reason() {
            return Err(reason);
        }
        calls.insert(id, InFlightCall { reply, listener });
        Ok(InFlightGuard { flight: self.clone(), id })
    }

    fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    /// Returns the closing reason, or `None` while the session is open.
    pub(crate) fn closing_reason(&self) -> Option<ConnectionError> {
        self.closed.borrow().clone()
    }

    pub(crate) fn watch_closed(&self) -> watch::Receiver<Option<ConnectionError>> {
        self.closed.subscribe()
    }

    /// Fails every pending call and rejects new ones. Keeps the first reason. Pending calls were already sent, so they fail
    /// as calls that may have run, regardless of the reason.
    pub(crate) fn close(&self, reason: &ConnectionError) {
        let mut calls = self.calls.lock();
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.clone());
            }
            first
        });
        let open = std::mem::take(&mut *calls);
        drop(calls);
        for (_, entry) in open {
            if let Some(reply) = entry.reply {
                let _ = reply.send(Err(reason.after_sending()));
            }
        }
        self.end_all_requests();
    }

    /// Completes the call with this id, with a response from the shared stream.
    pub(crate) fn complete_call(&self, id: Option<u64>, outcome: &ResponsePayload<'_>) {
        let reply = id.and_then(|id| self.calls.lock().get_mut(&id)?.reply.take());
        match reply {
            Some(reply) => {
                let _ = reply.send(self.decode_payload(outcome));
            }
            None => {
                increment_counter(&self.context.stray_responses);
                tracing::debug!(
                    server = self.context.name,
                    "ignored a response to no pending call"
                );
            }
        }
    }

    /// Returns the text of a result, or the error of an error response.
    pub(crate) fn decode_payload(&self, outcome: &ResponsePayload<'_>) -> CallReply {
        match outcome {
            ResponsePayload::Result(result) => Ok((*result).to_owned()),
            ResponsePayload::Error(error) => Err(self.decode_error(error)),
            ResponsePayload::Invalid => Err(ConnectionError::protocol_violation(
                "a response requires either a result or an error",
            )),
        }
    }

    fn decode_error(&self, error: &RawValue) -> ConnectionError {
        let parsed =
            json_scan::check_depth(error.get(), self.context.bounds.max_depth).and_then(|()| {
                serde_json::from_str::<JsonRpcError>(error.get()).map_err(|_| {
                    ConnectionError::protocol_violation("an error requires a code and a message")
                })
            });
        match parsed {
            Ok(JsonRpcError { code, message }) => ConnectionError::Rejected {
                code,
                message: self.context.sanitize_text(&message, MAX_SHOWN_MESSAGE),
            },
            Err(error) => error,
        }
    }

    /// Handles a message over the size limit: fails its call, or all calls if its id is unknown.
    pub(crate) fn fail_oversized(&self, size: usize, id: Option<u64>) {
        increment_counter(&self.context.oversized);
        let limit = self.context.bounds.max_message_bytes;
        tracing::warn!(server = self.context.name, size, limit, "skipped a message over the limit");
        let mut calls = self.calls.lock();
        for (call, entry) in calls.iter_mut() {
            if id.is_none_or(|id| id == *call)
                && let Some(reply) = entry.reply.take()
            {
                let _ = reply.send(Err(ConnectionError::TooLarge { size, limit }));
            }
        }
    }

    /// Handles a notification: progress, a changed tool list, or a cancelled server request. `stream_of` as in
    /// [`InFlightCalls::handle_server_request`].
    pub(crate) fn handle_notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
        stream_of: Option<u64>,
    ) {
        match method {
            "notifications/tools/list_changed" => self.context.notify_list_changed(),
            "notifications/progress" => self.report_progress(params),
            "notifications/cancelled" => {
                if let Some(note) = self.parse_params::<CancelledNotification>(params) {
                    self.cancel_server_request(&note.request_id.to_string(), stream_of);
                }
            }
            _ => {}
        }
    }

    fn parse_params<'a, T: Deserialize<'a>>(&self, params: Option<&'a RawValue>) -> Option<T> {
        let text = params?.get();
        json_scan::check_depth(text, self.context.bounds.max_depth).ok()?;
        serde_json::from_str(text).ok()
    }

    fn report_progress(&self, params: Option<&RawValue>) {
        let Some(note) = self.parse_params::<ProgressNotification>(params) else { return };
        let id = match &note.progress_token {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let sink = id.and_then(|id| self.calls.lock().get(&id)?.listener.progress.clone());
        if let Some(sink) = sink {
            let message =
                note.message.map(|text| self.context.sanitize_text(&text, MAX_SHOWN_MESSAGE));
            sink(Progress { done: note.progress, total: note.total, message });
        }
    }

    fn remove_call(&self, id: u64) {
        self.calls.lock().remove(&id);
        self.end_requests_of_call(id);
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgressNotification {
    progress_token: Value,
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledNotification {
    request_id: Value,
}

/// Removes its call from the pending calls on drop.
pub(crate) struct InFlightGuard {
    flight: Arc<InFlightCalls>,
    pub(crate) id: u64,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.flight.remove_call(self.id);
    }
}

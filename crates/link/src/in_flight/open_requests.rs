//! Open requests from the server, from arrival to response: each runs in its own task, up to a limit per call.

use std::future::Future;
use std::sync::atomic::Ordering;

use serde_json::value::RawValue;
use tokio::task::AbortHandle;

use super::InFlightCalls;
use crate::context::increment_counter;
use crate::envelope::{self, ServerRequest};
use crate::server_request;

/// Maximum open requests per call, and in total for requests that belong to no call.
const MAX_OPEN_REQUESTS: usize = 64;
/// Maximum size of a request. Elicitation and sampling requests are far smaller.
const MAX_REQUEST_BYTES: usize = 256 * 1024;

/// A server's request without a response yet.
pub(super) struct OpenServerRequest {
    /// The server's request id, as raw JSON.
    id: String,
    /// The call that the request belongs to.
    call: Option<u64>,
    task: AbortHandle,
}

impl InFlightCalls {
    /// Starts a task that answers a server's request. The task ends with its call, with the session, and when the server
    /// cancels the request. `stream_of` is the call whose own stream the request arrived on. For a shared stream it is
    /// `None`, and the call is determined here.
    pub(crate) fn handle_server_request<Told: Future<Output = ()> + Send>(
        &self,
        asked: ServerRequest<'_>,
        stream_of: Option<u64>,
        tell: impl FnOnce(Vec<u8>) -> Told + Send + 'static,
    ) {
        let ServerRequest { id, method, params } = asked;
        let mut asks = self.asks.lock();
        asks.retain(|ask| !ask.task.is_finished());
        let call = stream_of.or_else(|| self.find_only_elicitable_call(&method));
        let mut of_call = asks.iter().filter(|ask| ask.call == call);
        // The responses to two open requests with the same id could not be distinguished.
        let is_repeated = of_call.clone().any(|ask| ask.id == id.get());
        let is_flood = of_call.nth(MAX_OPEN_REQUESTS - 1).is_some();
        // Checked under the lock, because `close` ends the open requests under it.
        if is_repeated || is_flood || id.get().len() > MAX_REQUEST_BYTES || self.is_closed() {
            increment_counter(&self.context.declined);
            return;
        }
        let listener = call.and_then(|call| Some(self.calls.lock().get(&call)?.listener.clone()));
        let size = id.get().len() + method.len() + params.map_or(0, |params| params.get().len());
        let answer = (size <= MAX_REQUEST_BYTES).then(|| {
            let params = params.map(RawValue::to_owned);
            server_request::respond_to_request(
                self.context.clone(),
                listener,
                method.into_owned(),
                params,
            )
        });
        let reply_to = id.to_owned();
        let task = tokio::spawn(async move {
            let answer = match answer {
                Some(answer) => answer.await,
                None => Err(server_request::refuse_too_large(MAX_REQUEST_BYTES)),
            };
            tell(envelope::encode_response(&reply_to, answer)).await;
        });
        let (id, task) = (id.get().to_owned(), task.abort_handle());
        asks.push(OpenServerRequest { id, call, task });
    }

    /// Returns the only call that a request on a shared stream can belong to. If several are possible, the request is
    /// declined, because one caller must not see another caller's elicitation. From then on such calls run one at a time.
    fn find_only_elicitable_call(&self, method: &str) -> Option<u64> {
        if !server_request::is_for_callers(method) {
            return None;
        }
        let calls = self.calls.lock();
        let mut askable = calls.iter().filter(|(_, entry)| entry.listener.responder.is_some());
        match (askable.next(), askable.next()) {
            (Some((only, _)), None) => Some(*only),
            (None, _) => None,
            (Some(_), Some(_)) => {
                self.context.one_at_a_time.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Ends a request that the server cancelled. On a call's own stream, it affects only requests of that call.
    pub(super) fn cancel_server_request(&self, id: &str, stream_of: Option<u64>) {
        self.end_matching_requests(|ask| {
            ask.id == id && (stream_of.is_none() || ask.call == stream_of)
        });
    }

    pub(super) fn end_requests_of_call(&self, call: u64) {
        self.end_matching_requests(|ask| ask.call == Some(call));
    }

    pub(super) fn end_all_requests(&self) {
        self.end_matching_requests(|_| true);
    }

    fn end_matching_requests(&self, is_over: impl Fn(&OpenServerRequest) -> bool) {
        self.asks.lock().retain(|ask| {
            let over = is_over(ask);
            if over {
                ask.task.abort();
            }
            !over
        });
    }
}

//! Tool calls in sessions of the handshake revisions.
//!
//! Such a call is answered by an event stream. It outlives its connection, its client can cancel it by a notification, and can
//! read the answer on another connection (`Last-Event-ID`) once the stream has begun. It ends with its session.

use std::convert::Infallible;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use contract::Caller;
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::owned_sessions::OpenStream;
use super::{
    CallLifetime, DirectRoute, EVENT_STREAM, InlineCall, LAST_EVENT_HEADER, RunningCall, first,
};
use crate::transports::mcp::{DirectCall, DirectClient, DirectRun, McpService};

/// The number of the first call in the ids of events. The SDK numbers its own requests from zero.
const FIRST_NUMBER: u64 = 1 << 32;
/// Time after which a client may connect again, as the SDK announces it.
const RETRY_MS: u64 = 3000;
/// Time between comments that keep an idle stream open, as with the SDK.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time for a call to finish after its session has ended, as with the SDK.
pub(super) const END_GRACE: Duration = Duration::from_secs(5);
const KEEP_ALIVE_COMMENT: Bytes = Bytes::from_static(b":\n\n");
const BUFFERING_HEADER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The calls of one session that the SDK does not see.
pub(in super::super) struct SessionCalls {
    /// Set after the handshake if the calls of the client can be answered here.
    client: OnceLock<(McpService, DirectClient)>,
    is_left_to_sdk: AtomicBool,
    ended: CancellationToken,
    next_number: AtomicU64,
    open: Mutex<Vec<OpenCall>>,
    last_touch: Mutex<Option<Instant>>,
}

/// A call that has not finished.
struct OpenCall {
    number: u64,
    request: RequestId,
    cancel: CancellationToken,
    /// The reader of its stream, once that has begun.
    reader: Option<AnswerReader>,
}

/// Waits for the answer to a call. A call has one reader at a time.
#[derive(Clone)]
struct AnswerReader {
    /// The event with the answer; empty if there is none.
    answer: watch::Receiver<Option<Bytes>>,
    /// Cancelled with the call, and when another reader takes over.
    end: CancellationToken,
}

impl Default for SessionCalls {
    fn default() -> Self {
        Self {
            client: OnceLock::new(),
            is_left_to_sdk: AtomicBool::new(false),
            ended: CancellationToken::new(),
            next_number: AtomicU64::new(FIRST_NUMBER),
            open: Mutex::default(),
            last_touch: Mutex::default(),
        }
    }
}

impl SessionCalls {
    /// Sets the client. The first one counts.
    pub(in super::super) fn set_client(&self, service: McpService, client: DirectClient) {
        let _ = self.client.set((service, client));
    }

    /// Leaves all further calls to the SDK, which alone knows the client after another handshake.
    pub(in super::super) fn leave_to_sdk(&self) {
        self.is_left_to_sdk.store(true, Ordering::Relaxed);
    }

    /// Returns true if the client has finished its handshake and its calls can be answered here.
    pub(super) fn has_client(&self) -> bool {
        self.client().is_some()
    }

    fn client(&self) -> Option<&(McpService, DirectClient)> {
        self.client.get().filter(|_| !self.is_left_to_sdk.load(Ordering::Relaxed))
    }

    /// Ends the streams, and after some time the calls.
    pub(in super::super) fn end(&self) {
        self.ended.cancel();
    }

    /// Returns true if the session must be told that its client is active. It is at most once in this time.
    pub(in super::super) fn needs_touch(&self, interval: Duration) -> bool {
        let mut last = self.last_touch.lock();
        let is_due = last.is_none_or(|last| last.elapsed() >= interval);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }

    pub(in super::super) fn cancel(&self, request: &RequestId) {
        for call in self.open.lock().iter().filter(|call| call.request == *request) {
            call.cancel.cancel();
        }
    }

    fn register(self: &Arc<Self>, request: RequestId, cancel: CancellationToken) -> CallGuard {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        self.open.lock().push(OpenCall { number, request, cancel, reader: None });
        CallGuard { calls: Arc::clone(self), number }
    }

    /// Returns a new reader of a stream that has begun, which takes over from the one before.
    fn take_over_reader(&self, number: u64) -> Option<AnswerReader> {
        let mut open = self.open.lock();
        let call = open.iter_mut().find(|call| call.number == number)?;
        let end = call.cancel.child_token();
        let reader = call.reader.as_mut()?;
        std::mem::replace(&mut reader.end, end).cancel();
        Some(reader.clone())
    }
}

/// The registration of a call, until dropped.
pub(super) struct CallGuard {
    calls: Arc<SessionCalls>,
    number: u64,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut open = self.calls.open.lock();
        if let Some(at) = open.iter().position(|call| call.number == self.number) {
            open.swap_remove(at);
        }
    }
}

impl DirectRoute {
    /// Answers a call in a session. Returns `None` if only the SDK can.
    pub(super) async fn call_in_session(
        &self,
        caller: &Caller,
        id: &SessionId,
        calls: &Arc<SessionCalls>,
        call: DirectCall,
    ) -> Option<Response> {
        let (service, client) = calls.client()?;
        let caller = Caller { session: Some(Arc::clone(id)), ..caller.clone() };
        let request = call.id().clone();
        let DirectRun { answer, cancel } = service.prepare_direct(call, caller, client)?;
        let open = self.sessions.open_stream(id).ok()?;
        service.record_activity();
        self.sessions.touch(id, calls);
        let guard = calls.register(request, cancel.clone());
        let number = guard.number;
        let ended = calls.ended.clone();
        let lifetime = CallLifetime::Session { ended: ended.clone(), _guard: guard };
        let mut call = InlineCall::new(answer, cancel.clone(), lifetime);
        let answer = tokio::select! {
            biased;
            answer = call.finish() => Some(answer),
            () = cancel.cancelled() => None,
            () = ended.cancelled() => None,
            () = self.end.cancelled() => None,
            () = tokio::time::sleep(self.hold_back) => {
                let call = call.0.take()?;
                let reader = self.finish_in_background(id, calls, number, call);
                let end = self.end.clone();
                let events = AnswerEvents { number, reader, ended, end, _open: open };
                return Some(events.into_response(true));
            }
        };
        self.sessions.touch(id, calls);
        // A cancelled call has no answer.
        let answer = answer.filter(|_| !cancel.is_cancelled());
        let mut events = Vec::with_capacity(answer.as_ref().map_or(0, |it| it.message.len()) + 96);
        write_first_event(&mut events, number);
        if let Some(answer) = answer {
            write_answer_event(&mut events, number, &answer.message);
        }
        Some(stream_response(events.into()))
    }

    /// Continues the stream of a call on another connection. Returns `None` for streams of the SDK.
    pub(super) fn resume(&self, caller: &Caller, headers: &HeaderMap) -> Option<Response> {
        let (index, number) = first(headers, LAST_EVENT_HEADER)?.split_once('/')?;
        let (index, number): (u64, u64) = (index.parse().ok()?, number.parse().ok()?);
        if number < FIRST_NUMBER || index > 1 {
            return None;
        }
        let (id, calls) = self.find_session(caller, headers)?;
        let open = self.sessions.open_stream(&id).ok()?;
        let reader = calls.take_over_reader(number)?;
        self.sessions.touch(&id, &calls);
        let (ended, end) = (calls.ended.clone(), self.end.clone());
        let events = AnswerEvents { number, reader, ended, end, _open: open };
        Some(events.into_response(index == 0))
    }

    /// Finishes a call in a task of its own. Returns the reader of its answer.
    fn finish_in_background(
        &self,
        id: &SessionId,
        calls: &Arc<SessionCalls>,
        number: u64,
        mut call: RunningCall,
    ) -> AnswerReader {
        let (sender, answer) = watch::channel(None);
        let reader = AnswerReader { answer, end: call.cancel.child_token() };
        if let Some(open) = calls.open.lock().iter_mut().find(|open| open.number == number) {
            open.reader = Some(reader.clone());
        }
        let (sessions, id, calls) = (Arc::clone(&self.sessions), Arc::clone(id), Arc::clone(calls));
        tokio::spawn(async move {
            let answer = call.finish().await;
            // The session is idle from now on, not since the call began.
            sessions.touch(&id, &calls);
            let mut event = Vec::new();
            if !call.cancel.is_cancelled() {
                write_answer_event(&mut event, number, &answer.message);
            }
            sender.send_replace(Some(event.into()));
        });
        reader
    }
}

/// The event stream of a call that has not finished.
struct AnswerEvents {
    number: u64,
    reader: AnswerReader,
    /// The end of the session.
    ended: CancellationToken,
    /// Ends all streams.
    end: CancellationToken,
    _open: OpenStream,
}

impl AnswerEvents {
    /// Returns the response; `with_first` if it begins with the event to resume from.
    fn into_response(self, with_first: bool) -> Response {
        let mut first = Vec::new();
        write_first_event(&mut first, self.number);
        let first = stream::iter(with_first.then(|| Ok(Bytes::from(first))));
        let rest = stream::unfold(Some(self), |events| async {
            let mut events = events?;
            let next = events.next().await?;
            let is_last = next != KEEP_ALIVE_COMMENT;
            Some((Ok::<_, Infallible>(next), (!is_last).then_some(events)))
        });
        stream_response(Body::from_stream(first.chain(rest)))
    }

    /// Returns the event with the answer, a comment if there is none for some time, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            biased;
            () = self.reader.end.cancelled() => None,
            answer = self.reader.answer.wait_for(Option::is_some) => {
                answer.ok()?.clone().filter(|event| !event.is_empty())
            }
            () = self.ended.cancelled() => None,
            () = self.end.cancelled() => None,
            () = tokio::time::sleep(KEEP_ALIVE) => Some(KEEP_ALIVE_COMMENT),
        }
    }
}

fn stream_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING_HEADER, HeaderValue::from_static("no"));
    response
}

/// Writes the event to resume from, as the SDK does.
fn write_first_event(events: &mut Vec<u8>, number: u64) {
    let _ = write!(events, "data: \nid: 0/{number}\nretry: {RETRY_MS}\n\n");
}

fn write_answer_event(events: &mut Vec<u8>, number: u64, message: &[u8]) {
    events.extend_from_slice(b"data: ");
    events.extend_from_slice(message);
    let _ = write!(events, "\nid: 1/{number}\n\n");
}

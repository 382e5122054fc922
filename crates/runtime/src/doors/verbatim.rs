//! Results of calls that the SDK's types cannot hold without loss: written by ourselves, byte for byte.
//!
//! The SDK knows the fields of content blocks and of forms, and leaves out or refuses what it does not know. What an
//! upstream server answers or asks is not ours to change, though. So where the types do not fit, the SDK is given a
//! stand-in with a mark, and where its message leaves, the result takes the place of the stand-in: as a value on stdio
//! ([`Verbatim::restore`]), as bytes in the body of an HTTP response ([`Verbatim::in_response`]).
//!
//! A client that lost its connection and has the SDK repeat an event (`Last-Event-ID`) gets the stand-in.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, CustomResult, JsonRpcMessage, MetaObject, ServerResult};
use rmcp::service::TxJsonRpcMessage;
use serde_json::{Map, Value};

/// Where a stand-in has its mark.
const MARK: &str = "dev.vouchsafe/verbatim";
const RESULT_TYPE: &str = "resultType";

/// The results of one connection or one HTTP request that wait to take their place.
#[derive(Default)]
pub(super) struct Verbatim {
    results: Mutex<Vec<Waiting>>,
    /// Nearly always false, and then nothing is looked at.
    has_any: AtomicBool,
}

struct Waiting {
    mark: String,
    result: Map<String, Value>,
}

impl Verbatim {
    /// Keeps the result and gives the stand-in for it; None if there is no randomness for a mark.
    pub(super) fn stand_in(&self, result: Map<String, Value>) -> Option<CallToolResult> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let mark = format!("{:032x}", u128::from_be_bytes(bytes));
        let mut stand_in = CallToolResult::success(Vec::new());
        stand_in.is_error = None;
        let meta = Map::from_iter([(MARK.to_owned(), Value::String(mark.clone()))]);
        stand_in.meta = Some(MetaObject(meta));
        self.results().push(Waiting { mark, result });
        self.has_any.store(true, Ordering::Release);
        Some(stand_in)
    }

    /// Puts the result in the place of its stand-in, if this is the message that has one.
    pub(super) fn restore(&self, message: &mut TxJsonRpcMessage<RoleServer>) {
        if !self.has_any.load(Ordering::Acquire) {
            return;
        }
        let JsonRpcMessage::Response(response) = message else { return };
        let ServerResult::CallToolResult(stand_in) = &response.result else { return };
        let mark = stand_in.meta.as_ref().and_then(|meta| meta.0.get(MARK)).and_then(Value::as_str);
        let is_typed = stand_in.result_type.is_some();
        if let Some(result) = mark.and_then(|mark| self.take(mark)) {
            let result = Value::Object(typed(result, is_typed));
            response.result = ServerResult::CustomResult(CustomResult::new(result));
        }
    }

    /// The same in the bytes of a response: one frame of a body holds one message.
    pub(super) fn in_response(self: Arc<Self>, response: Response) -> Response {
        let kind = response.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
        let is_stream = kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"));
        // A stream goes on, and its result may be yet to come.
        if !is_stream && !self.has_any.load(Ordering::Acquire) {
            return response;
        }
        response.map(|body| Body::new(Restoring { body, verbatim: self }))
    }

    fn restore_bytes(&self, bytes: Bytes) -> Bytes {
        if !self.has_any.load(Ordering::Acquire) {
            return bytes;
        }
        let marks: Vec<_> = self.results().iter().map(|waiting| waiting.mark.clone()).collect();
        for mark in marks {
            if let Some((start, end, is_typed)) = find(&bytes, &mark)
                && let Some(result) = self.take(&mark)
            {
                let result = serde_json::to_vec(&typed(result, is_typed))
                    .expect("a JSON object always serialises");
                return [&bytes[..start], &result, &bytes[end..]].concat().into();
            }
        }
        bytes
    }

    fn take(&self, mark: &str) -> Option<Map<String, Value>> {
        let mut results = self.results();
        let index = results.iter().position(|waiting| waiting.mark == mark)?;
        let result = results.swap_remove(index).result;
        self.has_any.store(!results.is_empty(), Ordering::Release);
        Some(result)
    }

    fn results(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result with its type in front, which only the stateless revisions want.
fn typed(result: Map<String, Value>, is_typed: bool) -> Map<String, Value> {
    if !is_typed || result.contains_key(RESULT_TYPE) {
        return result;
    }
    let mut typed = Map::from_iter([(RESULT_TYPE.to_owned(), "complete".into())]);
    typed.extend(result);
    typed
}

/// Where the stand-in with this mark begins and ends, and whether it has a type. The message around it is short.
fn find(bytes: &[u8], mark: &str) -> Option<(usize, usize, bool)> {
    const TYPE: &[u8] = br#"{"resultType":"complete","#;
    let body = format!(r#""content":[],"_meta":{{"{MARK}":"{mark}"}}}}"#);
    let at = bytes.windows(body.len()).position(|window| window == body.as_bytes())?;
    let end = at + body.len();
    match bytes[..at].ends_with(TYPE) {
        true => Some((at - TYPE.len(), end, true)),
        false => bytes[..at].ends_with(b"{").then_some((at - 1, end, false)),
    }
}

struct Restoring {
    body: Body,
    verbatim: Arc<Verbatim>,
}

impl HttpBody for Restoring {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        frame.map_ok(|frame| frame.map_data(|bytes| self.verbatim.restore_bytes(bytes)))
    }

    /// The result is longer than its stand-in.
    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

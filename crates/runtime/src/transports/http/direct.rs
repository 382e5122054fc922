//! Answers tool calls over MCP without the SDK, see [`DirectCall`].
//!
//! [`DirectRoute::route`] looks at every request to the MCP endpoint. It answers what it fully understands, and hands everything
//! else to the SDK as it was. `sessions.rs` has the calls of sessions, which outlive their connections.

mod sessions;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::AsHeaderName;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use contract::Caller;
use futures::future::BoxFuture;
use futures::stream;
use http_body::Body as HttpBody;
use rmcp::model::ErrorCode as RpcErrorCode;
use tokio_util::sync::CancellationToken;

use super::super::mcp::{DirectAnswer, DirectCall, DirectRun, McpService};
use super::super::session::{self, MCP_HEADER};
use super::owned_sessions::OwnedSessions;
pub(super) use sessions::SessionCalls;
use sessions::{CallGuard, END_GRACE};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";
const LAST_EVENT_HEADER: &str = "last-event-id";
/// The revision without sessions that is answered here.
const STATELESS_VERSION: &str = "2026-07-28";
/// The revisions with sessions.
const SESSION_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// Start of a header value that is encoded.
const ENCODED_PREFIX: &str = "=?base64?";

/// Answers tool calls.
pub(super) struct DirectRoute {
    service: McpService,
    sessions: Arc<OwnedSessions>,
    /// Ends all calls.
    end: CancellationToken,
    max_body_bytes: usize,
    /// See [`super::limits::HttpLimits`].
    hold_back: Duration,
}

/// The way of a request.
pub(super) enum Routed {
    Answered(Response),
    ToSdk(Request),
}

impl DirectRoute {
    pub(super) fn new(
        service: McpService,
        sessions: Arc<OwnedSessions>,
        end: CancellationToken,
        max_body_bytes: usize,
        hold_back: Duration,
    ) -> Self {
        Self { service, sessions, end, max_body_bytes, hold_back }
    }

    /// Answers a request if it is a plain tool call, or resumes the stream of one.
    pub(super) async fn route(&self, caller: &Caller, request: Request) -> Routed {
        let headers = request.headers();
        match *request.method() {
            Method::POST if accepts(headers, JSON) && accepts(headers, EVENT_STREAM) => {}
            Method::GET if accepts(headers, EVENT_STREAM) => {
                return match self.resume(caller, headers) {
                    Some(response) => Routed::Answered(response),
                    None => Routed::ToSdk(request),
                };
            }
            _ => return Routed::ToSdk(request),
        }
        if !first(headers, header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with(JSON)) {
            return Routed::ToSdk(request);
        }
        let session = self.find_session(caller, headers).filter(|(_, calls)| calls.has_client());
        if session.is_none() && first(headers, VERSION_HEADER) != Some(STATELESS_VERSION) {
            return Routed::ToSdk(request);
        }
        let (parts, body) = request.into_parts();
        let body = match read_body(body, self.max_body_bytes).await {
            Ok(body) => body,
            Err(body) => return Routed::ToSdk(Request::from_parts(parts, body)),
        };
        let response = match (DirectCall::parse(&body), session) {
            (Some(call), Some((id, calls))) if call.belongs_to_session() => {
                self.call_in_session(caller, &id, &calls, call).await
            }
            (Some(call), _) => self.call_stateless(caller, &parts, call).await,
            (None, _) => None,
        };
        match response {
            Some(response) => Routed::Answered(response),
            None => Routed::ToSdk(Request::from_parts(parts, body.into())),
        }
    }

    /// Answers a call of the revision without sessions. Returns `None` if only the SDK can.
    async fn call_stateless(
        &self,
        caller: &Caller,
        Parts { headers, .. }: &Parts,
        call: DirectCall,
    ) -> Option<Response> {
        let is_named = first(headers, VERSION_HEADER) == Some(STATELESS_VERSION)
            && single(headers, METHOD_HEADER) == Some("tools/call")
            && single(headers, NAME_HEADER) == Some(call.name())
            && !call.name().starts_with(ENCODED_PREFIX);
        if !is_named || self.service.has_header_arguments(call.name()) {
            return None;
        }
        let client = call.stateless_client()?;
        let session = session::session_from_transport(headers);
        let caller = Caller { session, ..caller.clone() };
        let DirectRun { answer, cancel } = self.service.prepare_direct(call, caller, &client)?;
        let mut call = InlineCall::new(answer, cancel, CallLifetime::Connection);
        tokio::select! {
            biased;
            answer = call.finish() => Some(to_json_response(answer)),
            // The end of a shutdown.
            () = self.end.cancelled() => Some(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        }
    }

    /// Returns the session that a request belongs to.
    fn find_session(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Option<(Arc<str>, Arc<SessionCalls>)> {
        let id = first(headers, MCP_HEADER)?;
        if headers.contains_key(VERSION_HEADER)
            && !SESSION_VERSIONS.contains(&first(headers, VERSION_HEADER)?)
        {
            return None;
        }
        self.sessions.find_calls(id, &caller.principal)
    }
}

/// Returns true if the client accepts the media type, by the rule of the SDK.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    first(headers, header::ACCEPT).is_some_and(|accepted| accepted.contains(kind))
}

/// Returns the first value of a header. The SDK ignores others, except for [`single`] headers.
fn first(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the value of a header that occurs once.
fn single(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).into_iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Reads the whole body. If it is too large or breaks off, returns an equivalent body for the SDK.
async fn read_body(mut body: Body, limit: usize) -> Result<Bytes, Body> {
    // Copied, because a part holds the buffer in which it arrived, and may be a single byte.
    let mut read = Vec::new();
    while !body.is_end_stream() {
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        match frame {
            None => break,
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    read.extend_from_slice(data);
                }
                if read.len() > limit {
                    return Err(read.into());
                }
            }
            Some(Err(error)) => {
                return Err(Body::from_stream(stream::iter([Ok(Bytes::from(read)), Err(error)])));
            }
        }
    }
    Ok(read.into())
}

fn to_json_response(answer: DirectAnswer) -> Response {
    let status = answer.error.map_or(StatusCode::OK, to_status);
    (status, [(header::CONTENT_TYPE, JSON)], answer.message).into_response()
}

/// Returns the HTTP status of a JSON-RPC error in the revision without sessions.
fn to_status(code: RpcErrorCode) -> StatusCode {
    match code {
        RpcErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | RpcErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | RpcErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        RpcErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// What ends a call before it has finished.
enum CallLifetime {
    /// The end of its connection.
    Connection,
    /// The end of its session.
    Session { ended: CancellationToken, _guard: CallGuard },
}

/// A call that is running.
struct RunningCall {
    answer: BoxFuture<'static, DirectAnswer>,
    cancel: CancellationToken,
    lifetime: CallLifetime,
}

impl RunningCall {
    /// Finishes a call whose connection does not wait for it.
    async fn finish(&mut self) -> DirectAnswer {
        if let CallLifetime::Session { ended, .. } = &self.lifetime {
            let end = async {
                ended.cancelled().await;
                tokio::time::sleep(END_GRACE).await;
            };
            tokio::select! {
                biased;
                answer = &mut self.answer => return answer,
                () = end => {}
            }
        }
        // The call records its own end.
        self.cancel.cancel();
        (&mut self.answer).await
    }
}

/// A call that its connection waits for. If that ends before, the call finishes in a task of its own.
struct InlineCall(Option<RunningCall>);

impl InlineCall {
    fn new(
        answer: BoxFuture<'static, DirectAnswer>,
        cancel: CancellationToken,
        lifetime: CallLifetime,
    ) -> Self {
        Self(Some(RunningCall { answer, cancel, lifetime }))
    }

    async fn finish(&mut self) -> DirectAnswer {
        let answer = poll_fn(|cx| match &mut self.0 {
            Some(call) => call.answer.as_mut().poll(cx),
            None => Poll::Pending,
        });
        let answer = answer.await;
        self.0 = None;
        answer
    }
}

impl Drop for InlineCall {
    fn drop(&mut self) {
        if let Some(mut call) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { call.finish().await });
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    /// A part of a body, with the count of those that exist.
    struct Part(#[expect(dead_code, reason = "held until the part is dropped")] Arc<()>);

    impl AsRef<[u8]> for Part {
        fn as_ref(&self) -> &[u8] {
            b"x"
        }
    }

    fn parts(count: usize) -> impl Iterator<Item = Result<Bytes, axum::Error>> {
        let existing = Arc::new(());
        (0..count).map(move |_| {
            assert_eq!(Arc::strong_count(&existing), 1);
            Ok(Bytes::from_owner(Part(Arc::clone(&existing))))
        })
    }

    #[tokio::test]
    async fn parts_of_a_body_are_not_kept() {
        let body = Body::from_stream(stream::iter(parts(1000)));
        assert_eq!(read_body(body, 1000).await.unwrap(), "x".repeat(1000));
        let body = Body::from_stream(stream::iter(parts(1000)));
        let rest = read_body(body, 10).await.unwrap_err();
        assert_eq!(axum::body::to_bytes(rest, 1000).await.unwrap(), "x".repeat(11));
        let broken = parts(3).chain([Err(axum::Error::new("broken"))]);
        let rest = read_body(Body::from_stream(stream::iter(broken)), 10).await.unwrap_err();
        let mut rest = rest.into_data_stream();
        assert_eq!(rest.next().await.unwrap().unwrap(), "xxx");
        assert_eq!(rest.next().await.unwrap().unwrap_err().to_string(), "broken");
        assert!(read_body(Body::empty(), 10).await.unwrap().is_empty());
    }
}

//! Sessions of the handshake revisions, each usable only by the principal that started it.
//!
//! A session id is not a secret: clients log it, and it is in every request. So it does not suffice. For any other
//! principal the session does not exist: it cannot send into it, answer its elicitations, cancel its calls, read or
//! resume its streams, or end it.
//!
//! The number of sessions, of sessions of one principal, and of open streams of one session is limited.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::HeaderMap;
use futures::Stream;
use parking_lot::RwLock;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

use super::super::mcp::{DirectClient, McpService, PRINCIPAL, SessionObserver};
use super::super::session::MCP_HEADER;
use super::direct::SessionCalls;
use super::exceeded_limit::{EXCEEDED_LIMIT, ExceededLimit};
use super::limits::HttpLimits;
use super::token::BearerTokens;
use crate::metrics::ServerMetrics;

type LocalError = LocalSessionManagerError;

/// Longest time between two signs of activity of a session.
const MAX_TOUCH_INTERVAL: Duration = Duration::from_secs(1);

/// Longest time after which a refused client is told to try again.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// The open sessions with their owners. Requests are attributed by [`PRINCIPAL`].
pub(super) struct OwnedSessions {
    sessions: LocalSessionManager,
    owners: RwLock<SessionOwners>,
    limits: RwLock<Arc<HttpLimits>>,
    metrics: ServerMetrics,
}

type SessionOwners = HashMap<SessionId, SessionOwner>;

struct SessionOwner {
    principal: Arc<str>,
    open_streams: Arc<AtomicUsize>,
    calls: Arc<SessionCalls>,
}

impl OwnedSessions {
    /// Creates an empty set of sessions. Later limits do not change the idle time and the queues.
    pub(super) fn new(limits: Arc<HttpLimits>, metrics: ServerMetrics) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(limits.session_idle_timeout);
        sessions.session_config.channel_capacity = limits.max_queued_messages;
        Self { sessions, owners: RwLock::default(), limits: RwLock::new(limits), metrics }
    }

    /// Replaces the limits on the numbers of sessions and streams. Existing ones stay open.
    pub(super) fn set_limits(&self, limits: Arc<HttpLimits>) {
        *self.limits.write() = limits;
    }

    /// Ends the sessions of principals that no longer have a token.
    pub(super) async fn end_sessions_without_token(&self, tokens: &BearerTokens) {
        let is_revoked = |owner: &SessionOwner| !tokens.has_principal(&owner.principal);
        let revoked: Vec<_> = {
            let owners = self.owners.read();
            let revoked = owners.iter().filter(|(_, owner)| is_revoked(owner));
            revoked.map(|(id, _)| Arc::clone(id)).collect()
        };
        for id in revoked {
            if let Err(error) = self.close_session(&id).await {
                tracing::warn!(%error, "failed to end the session of a revoked token");
            }
        }
    }

    /// Returns the limit that another session of the principal would exceed.
    fn exceeded_limit(&self, owners: &SessionOwners, principal: &str) -> Option<ExceededLimit> {
        let limits = self.limits.read();
        let retry_after = limits.session_idle_timeout.min(MAX_RETRY_AFTER);
        let limit = limits.max_sessions_per_client;
        if owners.values().filter(|owner| *owner.principal == *principal).count() >= limit {
            return Some(ExceededLimit::SessionsOfClient { limit, retry_after });
        }
        let limit = limits.max_sessions;
        (owners.len() >= limit).then_some(ExceededLimit::Sessions { limit, retry_after })
    }

    /// Registers a session. Errors if another request has used the last place since it was checked.
    fn register(&self, id: &SessionId, principal: Arc<str>) -> Result<(), LocalError> {
        let mut owners = self.owners.write();
        if let Some(exceeded) = self.exceeded_limit(&owners, &principal) {
            return Err(refuse(exceeded));
        }
        let (open_streams, calls) = (Arc::default(), Arc::default());
        owners.insert(Arc::clone(id), SessionOwner { principal, open_streams, calls });
        self.metrics.set_sessions(owners.len());
        Ok(())
    }

    fn unregister(&self, id: &SessionId) {
        let mut owners = self.owners.write();
        if let Some(owner) = owners.remove(id) {
            owner.calls.end();
        }
        self.metrics.set_sessions(owners.len());
    }

    /// Counts a stream of the session. Errors if it has too many.
    pub(super) fn open_stream(&self, id: &SessionId) -> Result<OpenStream, LocalError> {
        let limit = self.limits.read().max_streams_per_session;
        let owners = self.owners.read();
        let Some(owner) = owners.get(id) else {
            return Err(LocalError::SessionNotFound(Arc::clone(id)));
        };
        let count = Arc::clone(&owner.open_streams);
        let add = |open: usize| (open < limit).then_some(open + 1);
        if count.try_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            return Err(refuse(ExceededLimit::StreamsOfSession { limit }));
        }
        self.metrics.record_stream_start();
        Ok(OpenStream { count, metrics: self.metrics.clone() })
    }

    /// Returns the calls of a session of the principal that the SDK does not see.
    pub(super) fn find_calls(
        &self,
        id: &str,
        principal: &str,
    ) -> Option<(SessionId, Arc<SessionCalls>)> {
        let owners = self.owners.read();
        let (id, owner) = owners.get_key_value(id)?;
        (*owner.principal == *principal).then(|| (Arc::clone(id), Arc::clone(&owner.calls)))
    }

    /// Keeps a session open whose client is active. The SDK closes it after a time without messages, and does not see
    /// those that are answered without it.
    pub(super) fn touch(self: &Arc<Self>, id: &SessionId, calls: &SessionCalls) {
        let idle_timeout = self.sessions.session_config.keep_alive.unwrap_or(Duration::MAX);
        if !calls.needs_touch(MAX_TOUCH_INTERVAL.min(idle_timeout / 8)) {
            return;
        }
        let (sessions, id) = (Arc::clone(self), Arc::clone(id));
        tokio::spawn(async move {
            let session = sessions.sessions.sessions.read().await.get(&id).cloned();
            if let Some(session) = session {
                // A message without effect: there is no such channel.
                let _ = session.close_request_wise_channel(u64::MAX).await;
            }
        });
    }

    /// Returns true if the session exists and belongs to the principal.
    pub(super) fn is_owned_by(&self, id: &str, principal: &str) -> bool {
        self.owners.read().get(id).is_some_and(|owner| *owner.principal == *principal)
    }

    /// Returns true if the current request may use the session. The end of a session is no request.
    fn is_accessible(&self, id: &SessionId) -> bool {
        PRINCIPAL.try_with(|principal| self.is_owned_by(id, principal)).unwrap_or(false)
    }
}

impl SessionManager for OwnedSessions {
    type Error = LocalError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), LocalError> {
        // Without a principal, no request could use the session.
        let Ok(principal) = PRINCIPAL.try_with(Arc::clone) else {
            return self.sessions.create_session().await;
        };
        if let Some(exceeded) = self.exceeded_limit(&self.owners.read(), &principal) {
            return Err(refuse(exceeded));
        }
        let (id, transport) = self.sessions.create_session().await?;
        if let Err(error) = self.register(&id, principal) {
            drop(transport);
            self.sessions.close_session(&id).await?;
            return Err(error);
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, LocalError> {
        self.sessions.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, LocalError> {
        Ok(self.is_accessible(id) && self.sessions.has_session(id).await?)
    }

    /// Called for a request that was admitted, and when a session has ended by itself.
    async fn close_session(&self, id: &SessionId) -> Result<(), LocalError> {
        self.unregister(id);
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, LocalError> {
        let open = self.open_stream(id)?;
        if is_handshake(&message)
            && let Some(owner) = self.owners.read().get(id)
        {
            owner.calls.leave_to_sdk();
        }
        Ok(CountedStream {
            stream: Box::pin(self.sessions.create_stream(id, message).await?),
            open,
        })
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), LocalError> {
        self.sessions.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, LocalError> {
        let open = self.open_stream(id)?;
        Ok(CountedStream {
            stream: Box::pin(self.sessions.create_standalone_stream(id).await?),
            open,
        })
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, LocalError> {
        let open = self.open_stream(id)?;
        Ok(CountedStream { stream: Box::pin(self.sessions.resume(id, last_event_id).await?), open })
    }
}

/// Passes on what the SDK learns about sessions. It does not keep them, because their services hold it.
pub(super) struct SessionLink(Weak<OwnedSessions>);

impl SessionLink {
    pub(super) fn new(sessions: &Arc<OwnedSessions>) -> Arc<Self> {
        Arc::new(Self(Arc::downgrade(sessions)))
    }

    /// Returns the calls of the session that a request named. The SDK has admitted the request to it.
    fn find_calls(&self, headers: &HeaderMap) -> Option<Arc<SessionCalls>> {
        let sessions = self.0.upgrade()?;
        let owners = sessions.owners.read();
        let owner = owners.get(headers.get(MCP_HEADER)?.to_str().ok()?)?;
        Some(Arc::clone(&owner.calls))
    }
}

impl SessionObserver for SessionLink {
    fn on_handshake(&self, headers: &HeaderMap, service: McpService, client: DirectClient) {
        if let Some(calls) = self.find_calls(headers) {
            calls.set_client(service, client);
        }
    }

    fn on_cancellation(&self, headers: &HeaderMap, request: &RequestId) {
        if let Some(calls) = self.find_calls(headers) {
            calls.cancel(request);
        }
    }
}

/// Records the exceeded limit for the answer, and returns the error that ends the request.
fn refuse(exceeded: ExceededLimit) -> LocalError {
    let _ = EXCEEDED_LIMIT.try_with(|slot| slot.set(exceeded));
    LocalError::SessionError(SessionError::SessionServiceTerminated)
}

fn is_handshake(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(it) if matches!(it.request, ClientRequest::InitializeRequest(_)))
}

/// One open stream of a session, until dropped.
pub(super) struct OpenStream {
    count: Arc<AtomicUsize>,
    metrics: ServerMetrics,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.metrics.record_stream_end();
    }
}

/// A stream of a session that is counted while it is open.
struct CountedStream<S> {
    stream: Pin<Box<S>>,
    #[expect(dead_code, reason = "held until the stream ends")]
    open: OpenStream,
}

impl<S: Stream> Stream for CountedStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The channels of the SDK belong to it, so that their size is all that can be seen.
    #[test]
    fn queues_have_the_size_of_the_limit() {
        let limits = HttpLimits { max_queued_messages: 3, ..HttpLimits::default() };
        let sessions = OwnedSessions::new(Arc::new(limits), ServerMetrics::default());
        assert_eq!(sessions.sessions.session_config.channel_capacity, 3);
    }
    #[derive(Clone)]
    struct Nothing;

    impl rmcp::ServerHandler for Nothing {}

    /// Calls that are answered without the SDK keep a session open, and no longer.
    #[tokio::test(start_paused = true)]
    async fn session_stays_open_while_it_is_touched() {
        const IDLE: Duration = Duration::from_secs(60);
        let limits = HttpLimits { session_idle_timeout: IDLE, ..HttpLimits::default() };
        let sessions = Arc::new(OwnedSessions::new(Arc::new(limits), ServerMetrics::default()));
        let created = PRINCIPAL.scope("me".into(), sessions.create_session()).await;
        let (id, transport) = created.unwrap();
        let message = |text: &str| serde_json::from_str(text).unwrap();
        let serving = tokio::spawn(rmcp::serve_server(Nothing, transport));
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",
            "capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        sessions.initialize_session(&id, message(hello)).await.unwrap();
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        sessions.accept_message(&id, message(ready)).await.unwrap();
        let session = tokio::spawn(serving.await.unwrap().unwrap().waiting());
        let calls = SessionCalls::default();
        for _ in 0..10 {
            tokio::time::sleep(IDLE * 9 / 10).await;
            sessions.touch(&id, &calls);
        }
        assert!(!session.is_finished());
        tokio::time::sleep(IDLE / 2).await;
        assert!(!session.is_finished());
        tokio::time::sleep(IDLE).await;
        assert!(session.is_finished());
    }
}

//! Sessions of the handshake revisions, each usable only by the principal that started it.
//!
//! A session id is not a secret: clients log it, and it is in every request. So it does not suffice. For any other
//! principal the session does not exist: it cannot send into it, answer its elicitations, cancel its calls, read or
//! resume its streams, or end it.

use std::collections::HashMap;
use std::sync::Arc;

use futures::Stream;
use parking_lot::RwLock;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

use super::super::mcp::PRINCIPAL;

type LocalError = <LocalSessionManager as SessionManager>::Error;

/// The open sessions with their owners. Requests are attributed by [`PRINCIPAL`].
#[derive(Default)]
pub(super) struct OwnedSessions {
    sessions: LocalSessionManager,
    owners: RwLock<HashMap<SessionId, Arc<str>>>,
}

impl OwnedSessions {
    /// Returns true if the session exists and belongs to the principal.
    pub(super) fn is_owned_by(&self, id: &str, principal: &str) -> bool {
        self.owners.read().get(id).is_some_and(|owner| **owner == *principal)
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
        let created = self.sessions.create_session().await?;
        // Without a principal, no request could use the session.
        if let Ok(principal) = PRINCIPAL.try_with(Arc::clone) {
            self.owners.write().insert(Arc::clone(&created.0), principal);
        }
        Ok(created)
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
        self.owners.write().remove(id);
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, LocalError> {
        self.sessions.create_stream(id, message).await
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
        self.sessions.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, LocalError> {
        self.sessions.resume(id, last_event_id).await
    }
}

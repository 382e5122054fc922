//! Errors of a connection. Every message is safe to display: bounded, on one line, and without secrets.

/// Reason that a server cannot be reached, or that its response cannot be used. It implements `Clone` because all callers
/// that share one connection attempt receive the same error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The connection failed, timed out, or ended before the response.
    #[error("the server is unavailable: {reason}")]
    Unavailable {
        reason: String,
        /// Set if the request was sent, so the server may have acted on it.
        may_have_run: bool,
    },

    #[error("the server rejected the credentials (HTTP {status})")]
    Unauthenticated { status: u16 },

    /// The server responded with a JSON-RPC error.
    #[error("the server returned error {code}: {message}")]
    Rejected { code: i64, message: String },

    /// `size` is the number of bytes received when reading stopped.
    #[error("the server's message has {size} bytes, over the limit of {limit}")]
    TooLarge { size: usize, limit: usize },

    #[error("the server's message is nested deeper than {limit} levels")]
    TooDeep { limit: usize },

    #[error("the server offers more than {limit} {items}")]
    TooMany { items: &'static str, limit: usize },

    #[error("protocol violation: {reason}")]
    ProtocolViolation { reason: String },

    #[error("the number {number} does not fit in 64 bits and cannot be checked exactly")]
    InexactNumber { number: String },

    /// Landlock or a granted path is missing. The child was not started.
    #[error("sandbox unavailable: {reason}")]
    SandboxUnavailable { reason: String },

    #[error("failed to start the program: {reason}")]
    StartFailed { reason: String },

    /// The URL or a header is invalid.
    #[error("invalid upstream configuration: {reason}")]
    Misconfigured { reason: String },

    #[error("the connection was closed")]
    Closed,
}

impl ConnectionError {
    /// Returns an error for a request that did not reach the server.
    pub(crate) fn server_unreachable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), may_have_run: false }
    }

    /// Returns an error for a request that may have run.
    pub(crate) fn connection_lost(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), may_have_run: true }
    }

    /// Returns the error for a request that was already sent when the connection ended with this error.
    pub(crate) fn after_sending(&self) -> Self {
        match self {
            Self::Unavailable { reason, .. } => Self::connection_lost(reason),
            Self::Closed => Self::connection_lost(self.to_string()),
            other => other.clone(),
        }
    }

    pub(crate) fn protocol_violation(reason: impl Into<String>) -> Self {
        Self::ProtocolViolation { reason: reason.into() }
    }
}

/// Failure of a request, classified by whether it can be retried.
#[derive(Clone, Debug)]
pub(crate) enum RequestFailure {
    /// No part of the request reached the server, so it can be retried.
    NotSent(ConnectionError),
    /// The server does not know the session, so it did not run the request.
    SessionLost,
    /// The request may have run, or a retry would fail the same way.
    Final(ConnectionError),
}

impl From<ConnectionError> for RequestFailure {
    fn from(error: ConnectionError) -> Self {
        Self::Final(error)
    }
}

impl RequestFailure {
    pub(crate) fn into_error(self) -> ConnectionError {
        match self {
            Self::NotSent(ConnectionError::Unavailable { reason, .. }) => {
                ConnectionError::server_unreachable(reason)
            }
            Self::NotSent(error) | Self::Final(error) => error,
            Self::SessionLost => ConnectionError::server_unreachable("it lost the session"),
        }
    }
}

//! What can go wrong between us and a server. Every text is safe to show: bounded, on one line, without secrets.

/// Why a server could not be reached, or why what it said cannot be used. It can be cloned, because everybody who waits
/// for one attempt to connect learns of its failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Not connected, refused, too slow to connect, or gone before it answered.
    #[error("the server is unavailable: {reason}")]
    Unavailable {
        reason: String,
        /// The request had left us, so the server may have acted on it.
        may_have_run: bool,
    },

    #[error("the server wants other credentials (HTTP {status})")]
    Unauthenticated { status: u16 },

    /// A JSON-RPC error of the server.
    #[error("the server refused with error {code}: {message}")]
    Rejected { code: i64, message: String },

    /// `size` is what had come when we stopped counting.
    #[error("the server's message of {size} bytes is over the limit of {limit}")]
    TooLarge { size: usize, limit: usize },

    #[error("the server's message is nested deeper than {limit} levels")]
    TooDeep { limit: usize },

    #[error("the server offers more than {limit} {what}")]
    TooMany { what: &'static str, limit: usize },

    #[error("the server breaks the protocol: {reason}")]
    Malformed { reason: String },

    #[error("the number {number} is beyond 64 bits and cannot be checked exactly")]
    Inexact { number: String },

    /// Landlock, or a path that is to be granted, is missing: the child was not started.
    #[error("the sandbox is not to be had: {reason}")]
    SandboxUnavailable { reason: String },

    #[error("the program cannot be started: {reason}")]
    Program { reason: String },

    /// The address or a header cannot be used at all.
    #[error("the upstream is configured wrongly: {reason}")]
    Misconfigured { reason: String },

    #[error("the connection was closed by us")]
    Closed,
}

impl LinkError {
    pub(crate) fn unreachable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), may_have_run: false }
    }

    pub(crate) fn lost(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), may_have_run: true }
    }

    /// The end of a connection, as it is for a request that had left us.
    pub(crate) fn after_sending(&self) -> Self {
        match self {
            Self::Unavailable { reason, .. } => Self::lost(reason),
            Self::Closed => Self::lost(self.to_string()),
            other => other.clone(),
        }
    }

    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }
}

/// How a request ended without an answer, as far as repeating it is concerned.
#[derive(Clone, Debug)]
pub(crate) enum Fail {
    /// Nothing of it reached the server.
    Unsent(LinkError),
    /// The server does not know our session, so it did not run the request.
    Forgotten,
    Final(LinkError),
}

impl From<LinkError> for Fail {
    fn from(error: LinkError) -> Self {
        Self::Final(error)
    }
}

impl Fail {
    pub(crate) fn into_error(self) -> LinkError {
        match self {
            Self::Unsent(LinkError::Unavailable { reason, .. }) => LinkError::unreachable(reason),
            Self::Unsent(error) | Self::Final(error) => error,
            Self::Forgotten => LinkError::unreachable("it does not know the session it opened"),
        }
    }
}

//! Embedding errors. Messages never contain an API key, a header or an embedded text.

use std::time::Duration;

/// A failure to embed texts.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The endpoint returned 429 until the retries were exhausted.
    #[error("API rate limit exceeded")]
    RateLimited {
        /// Delay requested by the endpoint.
        retry_after: Option<Duration>,
    },
    /// No connection, a broken connection, or a 5xx status.
    #[error("embedding endpoint unavailable: {0}")]
    Unavailable(String),
    #[error("embedding endpoint did not respond within {0:?}")]
    Timeout(Duration),
    /// A status that a retry does not change: a wrong key, an unknown model, a redirect.
    #[error("embedding endpoint returned status {status}{}", format_detail(.message))]
    Rejected {
        status: u16,
        /// Error message of the endpoint, truncated and without control characters; may be empty.
        message: String,
    },
    /// A response that does not match the request.
    #[error("invalid response from embedding endpoint: {0}")]
    InvalidResponse(String),
    /// Invalid configuration.
    #[error("{0}")]
    Config(String),
    /// A defect of the bundled model or its runtime.
    #[error("embedded model failed: {0}")]
    Model(String),
}

fn format_detail(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

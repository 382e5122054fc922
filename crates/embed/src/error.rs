//! Why there is no vector. No message ever holds a key, a header or a text that was to be embedded.

use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The endpoint said 429 until patience ran out.
    #[error("API rate limit exceeded")]
    RateLimited {
        /// When it said one may come back.
        retry_after: Option<Duration>,
    },
    /// No connection, a connection that broke, or a server that answers 5xx.
    #[error("the embedding endpoint is not available: {0}")]
    Unavailable(String),
    #[error("the embedding endpoint did not answer within {0:?}")]
    Timeout(Duration),
    /// A status that asking again does not change: a wrong key, an unknown model, a redirect.
    #[error("the embedding endpoint refused with status {status}{}", hint(.message))]
    Refused {
        status: u16,
        /// What the endpoint said, bounded and without control characters; empty where it said nothing.
        message: String,
    },
    /// An answer that is not what was asked for.
    #[error("the embedding endpoint answered with {0}")]
    Garbage(String),
    /// What the caller configured can never work.
    #[error("{0}")]
    Config(String),
    /// A defect of the embedded model or its runtime.
    #[error("the embedded model failed: {0}")]
    Model(String),
}

fn hint(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

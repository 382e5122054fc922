//! Model endpoints: OpenAI-compatible chat completions and the Anthropic Messages API.
//!
//! A model is asked for one text; it gets no tools, and the gates check its output. The endpoint is not trusted either:
//! its responses are bounded in time and size, and messages quote only a short part of them. No message contains the
//! API key.

mod anthropic;
mod openai;
mod prompt;
mod request;
mod roles;

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

pub use anthropic::AnthropicModel;
pub use openai::OpenAiModel;

/// Timeout of a request: enough for one JSON object, and acceptable for a person who waits.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The address of a model, with its credentials.
#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    /// Base URL without the path of the protocol: `https://api.openai.com/v1`, `https://api.anthropic.com`.
    pub base_url: String,
    pub model: String,
    pub api_key: Option<SecretString>,
    pub timeout: Duration,
}

impl ModelEndpoint {
    /// Creates an endpoint without a key, with the default timeout.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        let (base_url, model) = (base_url.into(), model.into());
        Self { base_url, model, api_key: None, timeout: DEFAULT_TIMEOUT }
    }

    /// Sets the API key, trimmed: keys are often read from files that end in a line break.
    #[must_use]
    pub fn with_key(mut self, key: Option<SecretString>) -> Self {
        self.api_key = key.map(|key| key.expose_secret().trim().into());
        self
    }

    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// The reason why a model returned no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The configuration is invalid.
    #[error("{0}")]
    Config(String),
    #[error("the model at {authority} {problem}")]
    Unavailable { authority: String, problem: String },
    #[error("the model did not respond within {0:?}")]
    Timeout(Duration),
    #[error("the model endpoint rejected the API key, or no key was given (status {0})")]
    Unauthenticated(u16),
    #[error("the model endpoint limits the request rate (status 429); try again later")]
    RateLimited,
    #[error("the model endpoint returned status {status}{}", format_message_suffix(.message))]
    Refused {
        status: u16,
        /// The error message: bounded, on one line and without the key. Empty if there is none.
        message: String,
    },
    #[error("the model's response is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the model endpoint returned an invalid response: {0}")]
    InvalidResponse(&'static str),
}

fn format_message_suffix(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

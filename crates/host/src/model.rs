//! Models behind an address: OpenAI-compatible chat endpoints, and the Anthropic Messages API.
//!
//! A model is asked for one text and nothing else: it is offered no tools, and what it answers is judged by the gates. The
//! endpoint is not trusted either: its answers are bounded in time and size, and quoted only in short. No message ever
//! holds the key.

mod anthropic;
mod openai;
mod prompt;
mod request;
mod roles;

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

pub use anthropic::Anthropic;
pub use openai::OpenAi;

/// A minute is long for one JSON object, and short for a person who waits.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a model is.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Up to and without the path of the protocol: `https://api.openai.com/v1`, `https://api.anthropic.com`.
    pub base_url: String,
    pub model: String,
    pub api_key: Option<SecretString>,
    pub timeout: Duration,
}

impl Endpoint {
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        let (base_url, model) = (base_url.into(), model.into());
        Self { base_url, model, api_key: None, timeout: DEFAULT_TIMEOUT }
    }

    /// Sets the API key, without the white space around it: keys are often read from files that end in a line break.
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

/// Why a model gave no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// What was configured can never work.
    #[error("{0}")]
    Config(String),
    #[error("the model at {authority} {what}")]
    Unavailable { authority: String, what: String },
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
    #[error("the model's endpoint does not take the API key, or none was given (status {0})")]
    Unauthenticated(u16),
    #[error("the model's endpoint takes no more requests for now (status 429)")]
    RateLimited,
    #[error("the model's endpoint refused with status {status}{}", hint(.message))]
    Refused {
        status: u16,
        /// What it said, bounded, on one line and without the key; empty where it said nothing.
        message: String,
    },
    #[error("the model's answer has more than {0} bytes")]
    TooLarge(usize),
    #[error("the model's endpoint answered with {0}")]
    Garbage(&'static str),
}

fn hint(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

//! The Anthropic Messages API.

use async_trait::async_trait;
use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::request::Requests;
use super::roles::Chat;
use super::{Endpoint, ModelError};

/// The revision of the API that is spoken.
const VERSION: &str = "2023-06-01";
/// The API wants a bound; a plan has hundreds, a summary some thousands.
const MAX_TOKENS: u32 = 4_096;

/// A model behind the Messages API.
pub struct Anthropic {
    model: String,
    requests: Requests,
}

impl Anthropic {
    pub fn new(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let header = HeaderName::from_static("x-api-key");
        let requests = Requests::new(endpoint, "/v1/messages", (header, ""))?
            .with_header("anthropic-version", VERSION);
        Ok(Self { model: endpoint.model.clone(), requests })
    }
}

#[async_trait]
impl Chat for Anthropic {
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError> {
        let body = json!({
            "model": self.model,
            "max_tokens": MAX_TOKENS,
            "system": system,
            "messages": [{"role": "user", "content": user}],
        });
        let answer = self.requests.post(&body).await?;
        let blocks = answer.get("content").and_then(Value::as_array);
        let blocks = blocks.ok_or(ModelError::Garbage("no message"))?;
        let texts: Vec<&str> = blocks
            .iter()
            .filter(|block| block["type"] == "text")
            .filter_map(|block| block["text"].as_str())
            .collect();
        // Two texts are put together as they are: if that is no single object, gate 1 says so.
        if texts.is_empty() { Err(ModelError::Garbage("no text")) } else { Ok(texts.concat()) }
    }
}

//! The Anthropic Messages API.

use async_trait::async_trait;
use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::request::EndpointClient;
use super::roles::ChatModel;
use super::{ModelEndpoint, ModelError};

/// The version of the API.
const VERSION: &str = "2023-06-01";
/// Maximum tokens of a response, which the API requires. A plan has hundreds, a summary a few thousand.
const MAX_TOKENS: u32 = 4_096;

/// A model behind the Messages API.
pub struct AnthropicModel {
    model: String,
    requests: EndpointClient,
}

impl AnthropicModel {
    /// Creates a client; errors if the endpoint is invalid.
    pub fn new(endpoint: &ModelEndpoint) -> Result<Self, ModelError> {
        let header = HeaderName::from_static("x-api-key");
        let requests = EndpointClient::new(endpoint, "/v1/messages", (header, ""))?
            .with_header("anthropic-version", VERSION);
        Ok(Self { model: endpoint.model.clone(), requests })
    }
}

#[async_trait]
impl ChatModel for AnthropicModel {
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError> {
        let body = json!({
            "model": self.model,
            "max_tokens": MAX_TOKENS,
            "system": system,
            "messages": [{"role": "user", "content": user}],
        });
        let answer = self.requests.post(&body).await?;
        let blocks = answer.get("content").and_then(Value::as_array);
        let blocks = blocks.ok_or(ModelError::InvalidResponse("no message"))?;
        let texts: Vec<&str> = blocks
            .iter()
            .filter(|block| block["type"] == "text")
            .filter_map(|block| block["text"].as_str())
            .collect();
        // Texts are concatenated unchanged; gate 1 rejects the result if it is not a single object.
        if texts.is_empty() {
            Err(ModelError::InvalidResponse("no text"))
        } else {
            Ok(texts.concat())
        }
    }
}

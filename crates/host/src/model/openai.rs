//! The OpenAI chat completions API, also served by Ollama, vLLM, llama.cpp and others.

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::request::EndpointClient;
use super::roles::ChatModel;
use super::{ModelEndpoint, ModelError};

/// A model behind an OpenAI-compatible endpoint.
pub struct OpenAiModel {
    model: String,
    requests: EndpointClient,
}

impl OpenAiModel {
    /// Creates a client; errors if the endpoint is invalid.
    pub fn new(endpoint: &ModelEndpoint) -> Result<Self, ModelError> {
        let requests =
            EndpointClient::new(endpoint, "/chat/completions", (AUTHORIZATION, "Bearer "))?;
        Ok(Self { model: endpoint.model.clone(), requests })
    }
}

#[async_trait]
impl ChatModel for OpenAiModel {
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError> {
        let mut body = json!({
            "model": self.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            "response_format": {"type": "json_object"},
        });
        let answer = match self.requests.post(&body).await {
            // Not every server supports `response_format`; retry without it, since gate 1 checks the object anyway.
            Err(ModelError::Refused { status: 400 | 422, .. }) => {
                let map = body.as_object_mut().expect("the literal above is an object");
                map.shift_remove("response_format");
                self.requests.post(&body).await?
            }
            answer => answer?,
        };
        let text = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
        text.map(str::to_owned).ok_or(ModelError::InvalidResponse("no message"))
    }
}

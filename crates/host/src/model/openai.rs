//! Chat completions as OpenAI has them: OpenAI itself, Ollama, vLLM, llama.cpp and others.

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::request::Requests;
use super::roles::Chat;
use super::{Endpoint, ModelError};

/// A model behind an OpenAI-compatible endpoint.
pub struct OpenAi {
    model: String,
    requests: Requests,
}

impl OpenAi {
    pub fn new(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let requests = Requests::new(endpoint, "/chat/completions", (AUTHORIZATION, "Bearer "))?;
        Ok(Self { model: endpoint.model.clone(), requests })
    }
}

#[async_trait]
impl Chat for OpenAi {
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
            // Not every server knows the format; the gates want the object either way.
            Err(ModelError::Refused { status: 400 | 422, .. }) => {
                let map = body.as_object_mut().expect("the literal above is an object");
                map.shift_remove("response_format");
                self.requests.post(&body).await?
            }
            answer => answer?,
        };
        let text = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
        text.map(str::to_owned).ok_or(ModelError::Garbage("no message"))
    }
}

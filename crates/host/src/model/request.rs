//! One request to an endpoint and its answer, bounded in time and size.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Endpoint, ModelError};
use crate::json::shortened;

/// A plan has kilobytes; an answer with its wrapping this much at most.
const LARGEST_ANSWER: usize = 1 << 20;
/// Of an answer that says no, this much is read.
const LARGEST_REFUSAL: usize = 16 << 10;
/// And this much is repeated.
const MAX_SAID: usize = 200;

pub(super) struct Requests {
    url: Url,
    http: Client,
    headers: HeaderMap,
    key: Option<SecretString>,
    timeout: Duration,
}

impl Requests {
    /// Requests to `path` below the base address, with the key in the header that `authorize` names.
    pub(super) fn new(
        endpoint: &Endpoint,
        path: &str,
        authorize: (HeaderName, &str),
    ) -> Result<Self, ModelError> {
        let url = address(&endpoint.base_url, path)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &endpoint.api_key {
            let (name, scheme) = authorize;
            let mut value = HeaderValue::try_from(format!("{scheme}{}", key.expose_secret()))
                .map_err(|_| {
                    ModelError::Config("the API key holds a character that no header may".into())
                })?;
            // So that no log of the HTTP library shows the key.
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        runtime::client::install_tls();
        let mut http = Client::builder()
            // The key and the query go to the address that was configured, and nowhere else.
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")));
        if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            http = http.no_proxy();
        }
        let http = http
            .build()
            .map_err(|_| ModelError::Config("no HTTP client could be made".to_owned()))?;
        let (key, timeout) = (endpoint.api_key.clone(), endpoint.timeout);
        Ok(Self { url, http, headers, key, timeout })
    }

    #[must_use]
    pub(super) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// Sends a body and gives the JSON of a successful answer.
    pub(super) async fn post(&self, body: &Value) -> Result<Value, ModelError> {
        match tokio::time::timeout(self.timeout, self.exchange(body)).await {
            Ok(answer) => answer,
            Err(_) => Err(ModelError::Timeout(self.timeout)),
        }
    }

    async fn exchange(&self, body: &Value) -> Result<Value, ModelError> {
        let request =
            self.http.post(self.url.clone()).headers(self.headers.clone()).body(body.to_string());
        let answer = request.send().await.map_err(|error| {
            let what = if error.is_connect() {
                "cannot be reached"
            } else {
                "closed the connection without an answer"
            };
            self.unavailable(what)
        })?;
        let status = answer.status();
        if status.is_success() {
            let body = self.body(answer, LARGEST_ANSWER).await?;
            return serde_json::from_slice(&body)
                .map_err(|_| ModelError::Garbage("what is not JSON"));
        }
        Err(match status.as_u16() {
            // Servers like to quote the key here.
            code @ (401 | 403) => ModelError::Unauthenticated(code),
            429 => ModelError::RateLimited,
            code @ (408 | 500..) => self.unavailable(&format!("answers with status {code}")),
            code if status.is_redirection() => ModelError::Refused {
                status: code,
                message: "it points elsewhere, set the base address to the right one".to_owned(),
            },
            code => {
                let body = self.body(answer, LARGEST_REFUSAL).await.unwrap_or_default();
                ModelError::Refused { status: code, message: self.said(&body) }
            }
        })
    }

    async fn body(&self, mut answer: Response, limit: usize) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(None) => return Ok(body),
                Ok(Some(part)) if body.len() + part.len() > limit => {
                    return Err(ModelError::TooLarge(limit));
                }
                Ok(Some(part)) => body.extend_from_slice(&part),
                Err(_) => return Err(self.unavailable("closed the connection in the middle")),
            }
        }
    }

    /// What a refusal says, in both protocols `error.message`.
    fn said(&self, body: &[u8]) -> String {
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return String::new() };
        let said = body.pointer("/error/message").or_else(|| body.get("message"));
        let said = said.and_then(Value::as_str).unwrap_or_default();
        let said = match &self.key {
            Some(key) if !key.expose_secret().is_empty() => {
                said.replace(key.expose_secret(), "(secret)")
            }
            _ => said.to_owned(),
        };
        shortened(&said, MAX_SAID)
    }

    fn unavailable(&self, what: &str) -> ModelError {
        let authority = self.url.authority().to_owned();
        ModelError::Unavailable { authority, what: what.to_owned() }
    }
}

fn address(base_url: &str, path: &str) -> Result<Url, ModelError> {
    let wrong = |rule: &str| ModelError::Config(format!("the base address {rule}"));
    // The address is not quoted: it may hold a password.
    let mut url = Url::parse(base_url.trim())
        .map_err(|_| wrong("is none, write it like https://api.openai.com/v1"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not hold a user or a password, give the key as the API key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("must not hold ? or #"));
    }
    // Some write the revision as a part of the address, some do not.
    let base = url.path().trim_end_matches('/');
    let base =
        if path.starts_with("/v1/") { base.strip_suffix("/v1").unwrap_or(base) } else { base };
    let path = format!("{base}{path}");
    url.set_path(&path);
    Ok(url)
}

//! HTTP requests to a model endpoint, bounded in time and size.

use std::time::Duration;

use endpoint_url::{BaseUrlError, parse_base_url};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{ModelEndpoint, ModelError};
use crate::json::shorten_text;

/// Maximum bytes of a successful response. A plan has a few kilobytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// Maximum bytes that are read of an error response.
const MAX_ERROR_BYTES: usize = 16 << 10;
/// Maximum characters of an error response that are quoted.
const MAX_MESSAGE_CHARS: usize = 200;

/// HTTP client of one endpoint.
pub(super) struct EndpointClient {
    url: Url,
    http: Client,
    headers: HeaderMap,
    key: Option<SecretString>,
    timeout: Duration,
}

impl EndpointClient {
    /// Creates a client for `path` below the base URL; `authorize` is the header of the key and the prefix of its value.
    pub(super) fn new(
        endpoint: &ModelEndpoint,
        path: &str,
        authorize: (HeaderName, &str),
    ) -> Result<Self, ModelError> {
        let url = parse_request_url(&endpoint.base_url, path)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &endpoint.api_key {
            let (name, scheme) = authorize;
            let mut value = HeaderValue::try_from(format!("{scheme}{}", key.expose_secret()))
                .map_err(|_| {
                    ModelError::Config(
                        "the API key contains a character that is not allowed in a header".into(),
                    )
                })?;
            // Keeps the key out of the logs of the HTTP library.
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        runtime::client::install_tls();
        let mut http = Client::builder()
            // The key and the query are sent only to the configured address.
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")));
        if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            http = http.no_proxy();
        }
        let http = http
            .build()
            .map_err(|_| ModelError::Config("failed to create the HTTP client".to_owned()))?;
        let (key, timeout) = (endpoint.api_key.clone(), endpoint.timeout);
        Ok(Self { url, http, headers, key, timeout })
    }

    #[must_use]
    pub(super) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// Sends a body and returns the JSON of a successful response.
    pub(super) async fn post(&self, body: &Value) -> Result<Value, ModelError> {
        match tokio::time::timeout(self.timeout, self.send_request(body)).await {
            Ok(answer) => answer,
            Err(_) => Err(ModelError::Timeout(self.timeout)),
        }
    }

    async fn send_request(&self, body: &Value) -> Result<Value, ModelError> {
        let request =
            self.http.post(self.url.clone()).headers(self.headers.clone()).body(body.to_string());
        let answer = request.send().await.map_err(|error| {
            let problem = if error.is_connect() {
                "is unreachable"
            } else {
                "closed the connection without a response"
            };
            self.unavailable_error(problem)
        })?;
        let status = answer.status();
        if status.is_success() {
            let body = self.read_body(answer, MAX_RESPONSE_BYTES).await?;
            return serde_json::from_slice(&body)
                .map_err(|_| ModelError::InvalidResponse("not JSON"));
        }
        Err(match status.as_u16() {
            // The message is not read, because servers often quote the key in it.
            code @ (401 | 403) => ModelError::Unauthenticated(code),
            429 => ModelError::RateLimited,
            code @ (408 | 500..) => self.unavailable_error(&format!("returned status {code}")),
            code if status.is_redirection() => ModelError::Refused {
                status: code,
                message: "redirects are not followed, set the base URL to the final address"
                    .to_owned(),
            },
            code => {
                let body = self.read_body(answer, MAX_ERROR_BYTES).await.unwrap_or_default();
                ModelError::Refused { status: code, message: self.extract_error_message(&body) }
            }
        })
    }

    async fn read_body(&self, mut answer: Response, limit: usize) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        loop {
            match answer.chunk().await {
                Ok(None) => return Ok(body),
                Ok(Some(part)) if body.len() + part.len() > limit => {
                    return Err(ModelError::TooLarge(limit));
                }
                Ok(Some(part)) => body.extend_from_slice(&part),
                Err(_) => {
                    return Err(self.unavailable_error("closed the connection during the response"));
                }
            }
        }
    }

    /// Returns the message of an error response, which is `error.message` in both protocols.
    fn extract_error_message(&self, body: &[u8]) -> String {
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return String::new() };
        let message = body.pointer("/error/message").or_else(|| body.get("message"));
        let message = message.and_then(Value::as_str).unwrap_or_default();
        let message = match &self.key {
            Some(key) if !key.expose_secret().is_empty() => {
                message.replace(key.expose_secret(), "(secret)")
            }
            _ => message.to_owned(),
        };
        shorten_text(&message, MAX_MESSAGE_CHARS)
    }

    fn unavailable_error(&self, problem: &str) -> ModelError {
        let authority = self.url.authority().to_owned();
        ModelError::Unavailable { authority, problem: problem.to_owned() }
    }
}

/// Returns the URL of a request; errors if the base URL is invalid.
fn parse_request_url(base_url: &str, path: &str) -> Result<Url, ModelError> {
    let mut url = parse_base_url(base_url).map_err(base_url_error)?;
    // The base URL may or may not contain the version `/v1`.
    let base = url.path().trim_end_matches('/');
    let base =
        if path.starts_with("/v1/") { base.strip_suffix("/v1").unwrap_or(base) } else { base };
    let path = format!("{base}{path}");
    url.set_path(&path);
    Ok(url)
}

fn base_url_error(error: BaseUrlError) -> ModelError {
    let reason = match error {
        BaseUrlError::NotAUrl => "expected a URL such as https://api.openai.com/v1",
        BaseUrlError::UnsupportedScheme => "it must begin with http:// or https://",
        BaseUrlError::ContainsCredentials => {
            "it must not contain a user or password, pass the key as the API key"
        }
        BaseUrlError::ContainsQueryOrFragment => "it must not contain `?` or `#`",
    };
    ModelError::Config(format!("invalid base URL: {reason}"))
}

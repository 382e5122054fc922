//! HTTP client that sends one embeddings request and returns the response body.

use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::blocking::{Client as Http, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};

use super::retry::AttemptDeadline;
use super::wire;
use crate::EmbedError;

/// Maximum size of a response body. 96 vectors of 4,096 dimensions with twenty characters each take 8 MB.
const MAX_RESPONSE_BYTES: usize = 32 << 20;
/// Maximum size of an error response body.
const MAX_ERROR_BYTES: usize = 16 << 10;

pub(super) struct EmbeddingsClient {
    url: Url,
    model: String,
    dimensions: Option<usize>,
    /// Marked sensitive, so the HTTP library does not log the key.
    authorization: Option<HeaderValue>,
    /// Created with the first request, because creation blocks and must not happen on an async runtime thread.
    http: OnceLock<Result<Http, String>>,
}

impl EmbeddingsClient {
    pub(super) fn new(
        url: Url,
        model: String,
        dimensions: Option<usize>,
        api_key: Option<SecretString>,
    ) -> Result<Self, EmbedError> {
        let authorization = api_key.map(|key| {
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret().trim()))
                .map_err(|_| {
                    EmbedError::Config(
                        "invalid API key: contains a character not allowed in an HTTP header"
                            .to_owned(),
                    )
                })?;
            value.set_sensitive(true);
            Ok(value)
        });
        let authorization = authorization.transpose()?;
        Ok(Self { url, model, dimensions, authorization, http: OnceLock::new() })
    }

    /// Sends one request and returns the body of a successful response.
    pub(super) fn send_request(
        &self,
        texts: &[&str],
        deadline: AttemptDeadline,
    ) -> Result<Vec<u8>, EmbedError> {
        let http = self.http.get_or_init(|| self.build_http_client());
        let http = http.as_ref().map_err(|error| EmbedError::Unavailable(error.clone()))?;
        let mut request = http
            .post(self.url.clone())
            .timeout(deadline.time_left()?)
            .header(CONTENT_TYPE, "application/json")
            .body(wire::encode_request(texts, &self.model, self.dimensions));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let response = request.send().map_err(|error| self.transport_error(&error, deadline))?;
        let status = response.status();
        if status.is_success() {
            return self.read_body(response, MAX_RESPONSE_BYTES, deadline);
        }
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS => {
                EmbedError::RateLimited { retry_after: parse_retry_after(response.headers()) }
            }
            StatusCode::REQUEST_TIMEOUT => self.unavailable_error("returned status 408"),
            status if status.is_server_error() => {
                self.unavailable_error(&format!("returned status {}", status.as_u16()))
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => EmbedError::Rejected {
                status: status.as_u16(),
                // The server's message is not used, because servers often quote the key here.
                message: "missing or invalid API key".to_owned(),
            },
            status if status.is_redirection() => EmbedError::Rejected {
                status: status.as_u16(),
                message: "unexpected redirect; set base_url to the final address".to_owned(),
            },
            status => EmbedError::Rejected {
                status: status.as_u16(),
                message: self.read_body(response, MAX_ERROR_BYTES, deadline).map_or_else(
                    |_| String::new(),
                    |body| wire::extract_error_message(&body, self.api_key()),
                ),
            },
        })
    }

    fn build_http_client(&self) -> Result<Http, String> {
        // Fails if the process already has a default crypto provider, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = Http::builder()
            // The key and the texts are sent only to the configured address.
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")));
        if matches!(self.url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            http = http.no_proxy();
        }
        http.build().map_err(|error| format!("failed to create the HTTP client: {error}"))
    }

    /// Reads a response body of at most `limit` bytes.
    fn read_body(
        &self,
        mut response: Response,
        limit: usize,
        deadline: AttemptDeadline,
    ) -> Result<Vec<u8>, EmbedError> {
        let mut body = Vec::new();
        let mut part = [0; 16 << 10];
        loop {
            // Checked before each read, so a slow response cannot exceed the deadline.
            deadline.time_left()?;
            match response.read(&mut part) {
                Ok(0) => return Ok(body),
                Ok(read) if body.len() + read > limit => {
                    return Err(EmbedError::InvalidResponse(format!("body exceeds {limit} bytes")));
                }
                Ok(read) => body.extend_from_slice(&part[..read]),
                Err(_) if deadline.time_left().is_err() => return Err(deadline.timeout_error()),
                Err(_) => return Err(self.unavailable_error("closed the connection mid-response")),
            }
        }
    }

    fn transport_error(&self, error: &reqwest::Error, deadline: AttemptDeadline) -> EmbedError {
        if deadline.time_left().is_err() || (error.is_timeout() && !error.is_connect()) {
            deadline.timeout_error()
        } else if error.is_connect() {
            self.unavailable_error("is unreachable")
        } else {
            self.unavailable_error("closed the connection without a response")
        }
    }

    fn unavailable_error(&self, reason: &str) -> EmbedError {
        EmbedError::Unavailable(format!("{} {reason}", self.url.authority()))
    }

    fn api_key(&self) -> Option<&str> {
        self.authorization.as_ref()?.to_str().ok()?.strip_prefix("Bearer ")
    }
}

/// Parses a `Retry-After` header in seconds. The date form is ignored.
fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

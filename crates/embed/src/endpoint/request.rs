//! One request and its answer, as bytes.

use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::blocking::{Client as Http, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};

use super::patience::Deadline;
use super::wire;
use crate::EmbedError;

/// 96 vectors of 4,096 dimensions with twenty characters each are 8 MB.
const LARGEST_ANSWER: usize = 32 << 20;
/// Of an answer that says no, this much is read.
const LARGEST_REFUSAL: usize = 16 << 10;

pub(super) struct Client {
    url: Url,
    model: String,
    dimensions: Option<usize>,
    /// Marked sensitive, so that no log of the HTTP library shows the key.
    authorization: Option<HeaderValue>,
    /// Made with the first request: making it blocks, and may not be done where futures are driven.
    http: OnceLock<Result<Http, String>>,
}

impl Client {
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
                        "the API key holds a character that no header may".to_owned(),
                    )
                })?;
            value.set_sensitive(true);
            Ok(value)
        });
        let authorization = authorization.transpose()?;
        Ok(Self { url, model, dimensions, authorization, http: OnceLock::new() })
    }

    /// The body of a successful answer.
    pub(super) fn ask(&self, texts: &[&str], deadline: Deadline) -> Result<Vec<u8>, EmbedError> {
        let http = self.http.get_or_init(|| self.connect());
        let http = http.as_ref().map_err(|error| EmbedError::Unavailable(error.clone()))?;
        let mut request = http
            .post(self.url.clone())
            .timeout(deadline.left()?)
            .header(CONTENT_TYPE, "application/json")
            .body(wire::question(texts, &self.model, self.dimensions));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let answer = request.send().map_err(|error| self.failed(&error, deadline))?;
        let status = answer.status();
        if status.is_success() {
            return self.body(answer, LARGEST_ANSWER, deadline);
        }
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS => {
                EmbedError::RateLimited { retry_after: retry_after(answer.headers()) }
            }
            StatusCode::REQUEST_TIMEOUT => self.unavailable("answered with status 408"),
            status if status.is_server_error() => {
                self.unavailable(&format!("answered with status {}", status.as_u16()))
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => EmbedError::Refused {
                status: status.as_u16(),
                // Servers like to quote the key here.
                message: "it does not take the API key, or none was given".to_owned(),
            },
            status if status.is_redirection() => EmbedError::Refused {
                status: status.as_u16(),
                message: "it points elsewhere, set base_url to the right address".to_owned(),
            },
            status => EmbedError::Refused {
                status: status.as_u16(),
                message: self
                    .body(answer, LARGEST_REFUSAL, deadline)
                    .map_or_else(|_| String::new(), |body| wire::said(&body, self.key())),
            },
        })
    }

    fn connect(&self) -> Result<Http, String> {
        // Whoever came first has chosen the cryptography for the process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = Http::builder()
            // The key and the texts go to the address that was configured, and nowhere else.
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")));
        if matches!(self.url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
            http = http.no_proxy();
        }
        http.build().map_err(|error| format!("no HTTP client could be made, {error}"))
    }

    fn body(
        &self,
        mut answer: Response,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Vec<u8>, EmbedError> {
        let mut body = Vec::new();
        let mut part = [0; 16 << 10];
        loop {
            // Between parts too, against an answer that trickles.
            deadline.left()?;
            match answer.read(&mut part) {
                Ok(0) => return Ok(body),
                Ok(read) if body.len() + read > limit => {
                    return Err(EmbedError::Garbage(format!("more than {limit} bytes")));
                }
                Ok(read) => body.extend_from_slice(&part[..read]),
                Err(_) if deadline.left().is_err() => return Err(deadline.passed()),
                Err(_) => return Err(self.unavailable("closed the connection in the middle")),
            }
        }
    }

    fn failed(&self, error: &reqwest::Error, deadline: Deadline) -> EmbedError {
        if deadline.left().is_err() || (error.is_timeout() && !error.is_connect()) {
            deadline.passed()
        } else if error.is_connect() {
            self.unavailable("cannot be reached")
        } else {
            self.unavailable("closed the connection without an answer")
        }
    }

    fn unavailable(&self, what: &str) -> EmbedError {
        EmbedError::Unavailable(format!("{} {what}", self.url.authority()))
    }

    fn key(&self) -> Option<&str> {
        self.authorization.as_ref()?.to_str().ok()?.strip_prefix("Bearer ")
    }
}

/// In seconds; the other form, a date, is for pages.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

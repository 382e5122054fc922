//! HTTP client of one node: sends calls, repeats them after failures that may pass, and bounds what comes back.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fuzz::chain::RemoteError;
use reqwest::StatusCode;
use reqwest::blocking::{Client as Http, Response};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;

use crate::RpcUrl;
use crate::retry::RetryPolicy;
use crate::wire::{self, NodeError, RpcAnswer, RpcCall};

/// Maximum characters that are quoted from a node's error.
const MAX_QUOTE: usize = 200;
/// Codes of errors that may pass: limits of rates and resources, and internal errors.
const TRANSIENT_CODES: [i64; 5] = [-32005, -32016, -32029, -32603, 429];
/// Parts of messages of errors that may pass. A node behind a load balancer may lag behind another one.
const TRANSIENT_TEXTS: [&str; 5] =
    ["rate limit", "too many requests", "timeout", "timed out", "header not found"];

/// Bounds of requests.
#[derive(Clone, Debug)]
pub struct RpcLimits {
    /// Time for a request with all its attempts.
    pub request_time: Duration,
    /// Time for one attempt.
    pub attempt_time: Duration,
    pub attempts: u32,
    /// Wait before the second attempt, which doubles with each further one.
    pub first_wait: Duration,
    /// Maximum size of a response, in bytes. A block with 10,000 transactions takes 700 KB.
    pub response_bytes: usize,
    /// Maximum bytes of all responses of a campaign, which are kept in memory. A slot takes about 100 bytes, a large smart
    /// contract 50 KB.
    pub total_bytes: u64,
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self {
            request_time: Duration::from_secs(45),
            attempt_time: Duration::from_secs(15),
            attempts: 6,
            first_wait: Duration::from_millis(250),
            response_bytes: 8 << 20,
            total_bytes: 1 << 30,
        }
    }
}

/// Client of one node.
#[derive(Debug)]
pub(crate) struct RpcClient {
    pub(crate) url: RpcUrl,
    limits: RpcLimits,
    /// Bytes that this and the other nodes of the campaign sent.
    received: Arc<AtomicU64>,
    /// Created with the first request, because creation blocks and must not happen on an async runtime thread.
    http: OnceLock<Result<Http, String>>,
    /// The node answered a batch with a single error.
    refuses_batches: AtomicBool,
}

/// Reason that a request failed.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// Another attempt may succeed.
    Transient {
        message: String,
        retry_after: Option<Duration>,
        is_unreachable: bool,
    },
    Permanent {
        message: String,
        /// The node understood the request and answered with an error.
        is_answer: bool,
    },
    NoBatches,
}

impl RequestError {
    fn transient(message: impl Into<String>) -> Self {
        Self::Transient { message: message.into(), retry_after: None, is_unreachable: false }
    }

    fn permanent(message: impl Into<String>) -> Self {
        Self::Permanent { message: message.into(), is_answer: false }
    }

    /// Returns true if the node cannot be connected to.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Transient { is_unreachable: true, .. })
    }

    /// Returns true if another request with the same meaning may succeed.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Permanent { is_answer: true, .. })
    }

    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Transient { message, .. } | Self::Permanent { message, .. } => message,
            Self::NoBatches => "answered a batch of calls with a single error",
        }
    }
}

impl RpcClient {
    pub(crate) fn new(url: RpcUrl, limits: RpcLimits, received: Arc<AtomicU64>) -> Self {
        let refuses_batches = AtomicBool::new(false);
        Self { url, limits, received, http: OnceLock::new(), refuses_batches }
    }

    /// Returns the error of the node with this message.
    pub(crate) fn error(&self, message: &str) -> RemoteError {
        RemoteError::new(format!("node {} {message}", self.url.host()))
    }

    /// Makes calls in one request, or one after the other if the node refuses that. Returns their results.
    pub(crate) fn call(&self, calls: &[RpcCall]) -> Result<Vec<String>, RemoteError> {
        self.try_call(calls).map_err(|error| self.error(error.message()))
    }

    /// Makes calls like [`Self::call`].
    pub(crate) fn try_call(&self, calls: &[RpcCall]) -> Result<Vec<String>, RequestError> {
        if !self.refuses_batches.load(Ordering::Relaxed) {
            match self.send_with_retries(calls) {
                Err(RequestError::NoBatches) if calls.len() > 1 => {
                    self.refuses_batches.store(true, Ordering::Relaxed);
                }
                answered => return answered,
            }
        }
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            results.extend(self.send_with_retries(std::slice::from_ref(call))?);
        }
        Ok(results)
    }

    fn send_with_retries(&self, calls: &[RpcCall]) -> Result<Vec<String>, RequestError> {
        let mut policy = RetryPolicy::new(&self.limits);
        loop {
            match self.send(calls, policy.attempt_end()) {
                Ok(results) => return Ok(results),
                // A node of this machine that does not run is not started by waiting.
                Err(error) if error.is_unreachable() && self.url.is_loopback() => {
                    return Err(error);
                }
                Err(error) => policy.wait_after(error)?,
            }
        }
    }

    /// Sends one request and decodes its response.
    fn send(&self, calls: &[RpcCall], until: Instant) -> Result<Vec<String>, RequestError> {
        let http = self.http.get_or_init(|| self.build_http_client());
        let http = http.as_ref().map_err(|error| RequestError::permanent(error.clone()))?;
        let request = http
            .post(self.url.as_url().clone())
            .timeout(time_left(until)?)
            .header(CONTENT_TYPE, "application/json")
            .body(wire::encode_calls(calls));
        let response = request.send().map_err(|error| describe_transport(&error))?;
        let status = response.status();
        let retry_after = parse_retry_after(response.headers());
        if status.is_redirection() {
            let text = format!("redirects (status {}); use the final URL", status.as_u16());
            return Err(RequestError::permanent(text));
        }
        let body = self.read_body(response, until);
        if let Err(error @ RequestError::Permanent { .. }) = body {
            return Err(error);
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            let wait = retry_after.map(|wait| format!(", asks to wait {} s", wait.as_secs()));
            let message =
                format!("limits the rate of requests (status 429){}", wait.unwrap_or_default());
            return Err(RequestError::Transient { message, retry_after, is_unreachable: false });
        }
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            let message = format!("returned status {}", status.as_u16());
            return Err(RequestError::Transient { message, retry_after, is_unreachable: false });
        }
        let answer = wire::decode_answer(&body?, calls.len());
        match answer {
            RpcAnswer::Results(results) if status.is_success() => Ok(results),
            RpcAnswer::Failed(error) => Err(self.describe_node_error(calls, &error)),
            RpcAnswer::NotABatch => Err(RequestError::NoBatches),
            _ if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let text = format!("refuses access (status {}); check the URL", status.as_u16());
                Err(RequestError::permanent(text))
            }
            _ if !status.is_success() => {
                Err(RequestError::permanent(format!("returned status {}", status.as_u16())))
            }
            _ => Err(RequestError::permanent("sent a response that is not valid JSON-RPC")),
        }
    }

    fn describe_node_error(&self, calls: &[RpcCall], error: &NodeError) -> RequestError {
        let method = calls.first().map_or("the call", |call| call.method);
        let text = self.quote(&error.message);
        let message = format!("failed to answer {method}: {text} (code {})", error.code);
        let lower = text.to_ascii_lowercase();
        let is_transient = TRANSIENT_CODES.contains(&error.code)
            || TRANSIENT_TEXTS.iter().any(|part| lower.contains(part));
        match is_transient {
            true => RequestError::transient(message),
            false => RequestError::Permanent { message, is_answer: true },
        }
    }

    /// Returns a node's message on one line, shortened and without parts of the URL.
    fn quote(&self, message: &str) -> String {
        let plain: String =
            message.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
        let words: Vec<_> = plain.split_whitespace().collect();
        // Redacted first: a part of a secret would not be recognized.
        self.url.redact(&words.join(" ")).chars().take(MAX_QUOTE).collect()
    }

    fn build_http_client(&self) -> Result<Http, String> {
        // Fails if the process already has a default crypto provider, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = Http::builder()
            // The key is sent only to the host that the user named.
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")));
        if self.url.is_loopback() {
            http = http.no_proxy();
        }
        http.build().map_err(|error| format!("cannot be called: {error}"))
    }

    fn read_body(&self, mut response: Response, until: Instant) -> Result<Vec<u8>, RequestError> {
        let limit = self.limits.response_bytes;
        let mut body = Vec::new();
        let mut part = [0; 16 << 10];
        loop {
            // Checked before each read, so that a slow response cannot exceed the limit.
            time_left(until)?;
            match response.read(&mut part) {
                Ok(0) => return Ok(body),
                Ok(read) if body.len() + read > limit => {
                    let text = format!("sent a response of more than {limit} bytes");
                    return Err(RequestError::permanent(text));
                }
                Ok(read) => {
                    self.count_received(read)?;
                    body.extend_from_slice(&part[..read]);
                }
                Err(_) => {
                    time_left(until)?;
                    return Err(RequestError::transient("closed the connection mid-response"));
                }
            }
        }
    }
}

impl RpcClient {
    /// Counts bytes of a response. Errors if all nodes of the campaign sent too many.
    fn count_received(&self, bytes: usize) -> Result<(), RequestError> {
        let bytes = bytes as u64;
        let total = self.received.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let limit = self.limits.total_bytes;
        match total > limit {
            true => Err(RequestError::permanent(format!(
                "was asked for too much state: all responses are more than {limit} bytes"
            ))),
            false => Ok(()),
        }
    }
}

fn time_left(until: Instant) -> Result<Duration, RequestError> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(RequestError::transient("did not answer in time")),
        false => Ok(left),
    }
}

/// Describes a failure to send a request. The library's own text may contain the URL.
fn describe_transport(error: &reqwest::Error) -> RequestError {
    let (text, is_unreachable) = match error {
        _ if error.is_connect() => ("is unreachable", true),
        _ if error.is_timeout() => ("did not answer in time", false),
        _ => ("closed the connection without a response", false),
    };
    RequestError::Transient { message: text.to_owned(), retry_after: None, is_unreachable }
}

/// Parses a `Retry-After` header in seconds. The date form is ignored.
fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

//! Builds the HTTP client, parses endpoints, and classifies transport errors without exposing secrets.

use std::sync::Once;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{Client, Url, redirect};
use secrecy::ExposeSecret;

use crate::error::RequestFailure;
use crate::{ConnectionError, HttpEndpoint};

const MAX_REDIRECTS: usize = 5;
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// Builds the HTTP client of a connection. It is shared by all its sessions, so that pooled sockets outlive a session.
pub(crate) fn build_client(
    target: &HttpEndpoint,
    connect_timeout: Duration,
) -> Result<Client, ConnectionError> {
    install_tls();
    let (url, _) = parse_endpoint(target)?;
    let mut builder = Client::builder()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_LIMIT)
        .redirect(redirect::Policy::custom(decide_redirect))
        .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")));
    // Requests to this machine must not go through a proxy from the environment.
    if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|_| ConnectionError::Misconfigured {
        reason: "failed to build the HTTP client".to_owned(),
    })
}

/// Follows a redirect only if it preserves the request (307, 308) and stays on the same origin: headers may hold secrets.
fn decide_redirect(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let whole =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let first = attempt.previous().first();
    let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
    if whole && same && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Parses the URL and the headers of an endpoint.
///
/// # Errors
/// If the URL is not HTTP, or a header is invalid. The message contains no header values.
pub(crate) fn parse_endpoint(target: &HttpEndpoint) -> Result<(Url, HeaderMap), ConnectionError> {
    let wrong = |reason: String| ConnectionError::Misconfigured { reason };
    let url: Url = target.url.parse().map_err(|_| wrong("the URL is malformed".to_owned()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("the URL must start with http:// or https://".to_owned()));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &target.headers {
        let header: HeaderName =
            name.parse().map_err(|_| wrong(format!("{name:?} is not a valid header name")))?;
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| {
            wrong(format!("the value of header {header} contains invalid characters"))
        })?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok((url, headers))
}

/// Converts a transport error. Does not use the message of `reqwest`, which contains the URL and so may expose a secret.
pub(crate) fn classify_transport_error(error: &reqwest::Error) -> RequestFailure {
    let mut cause: &dyn std::error::Error = error;
    let mut is_io = false;
    while let Some(source) = cause.source() {
        cause = source;
        is_io = cause.is::<std::io::Error>();
    }
    if error.is_connect() {
        let reason = match (error.is_timeout(), is_io) {
            (true, _) => "connecting timed out".to_owned(),
            (_, true) => format!("cannot connect ({cause})"),
            _ => "cannot connect".to_owned(),
        };
        RequestFailure::NotSent(ConnectionError::server_unreachable(reason))
    } else {
        RequestFailure::Final(ConnectionError::connection_lost(
            "the connection broke before the response",
        ))
    }
}

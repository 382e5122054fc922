//! The HTTP client and its addresses: no redirect to strangers, no secret in a text.

use std::sync::Once;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{Client, Url, redirect};
use secrecy::ExposeSecret;

use crate::error::Fail;
use crate::{Endpoint, LinkError};

const MAX_REDIRECTS: usize = 5;
const IDLE: Duration = Duration::from_secs(60);

/// One for each link, so that its connections outlive its sessions.
pub(crate) fn client(target: &Endpoint, connect_timeout: Duration) -> Result<Client, LinkError> {
    install_tls();
    let (url, _) = endpoint(target)?;
    let mut builder = Client::builder()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE)
        .redirect(redirect::Policy::custom(follow))
        .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")));
    // What is on this machine is not another's business, whatever proxy the environment names.
    if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|_| LinkError::Misconfigured { reason: "no HTTP client can be made".to_owned() })
}

/// Only where the request arrives whole (307, 308), and only at the same origin: our headers are meant for nobody else.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
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
        // An error means that somebody else has chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

pub(crate) fn endpoint(target: &Endpoint) -> Result<(Url, HeaderMap), LinkError> {
    let wrong = |reason: String| LinkError::Misconfigured { reason };
    let url: Url = target.url.parse().map_err(|_| wrong("the url cannot be read".to_owned()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("the url must begin with http:// or https://".to_owned()));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &target.headers {
        let header: HeaderName =
            name.parse().map_err(|_| wrong(format!("{name:?} cannot be the name of a header")))?;
        let mut value = HeaderValue::from_str(value.expose_secret())
            .map_err(|_| wrong(format!("the value of the header {header} cannot be sent")))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok((url, headers))
}

/// What went wrong below HTTP. The library's own words name the address, which may hold a secret.
pub(crate) fn describe(error: &reqwest::Error) -> Fail {
    let mut cause: &dyn std::error::Error = error;
    let mut is_io = false;
    while let Some(source) = cause.source() {
        cause = source;
        is_io = cause.is::<std::io::Error>();
    }
    if error.is_connect() {
        let reason = match (error.is_timeout(), is_io) {
            (true, _) => "connecting takes too long".to_owned(),
            (_, true) => format!("cannot connect ({cause})"),
            _ => "cannot connect".to_owned(),
        };
        Fail::Unsent(LinkError::unreachable(reason))
    } else {
        Fail::Final(LinkError::lost("the connection broke before the answer"))
    }
}

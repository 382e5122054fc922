//! State shared by all parts of one connection: bounds, counters, request ids, and redaction of server texts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use contract::text::one_line;
use secrecy::ExposeSecret;
use tokio::sync::watch;

use crate::{MessageBounds, Options, ProtocolDeviations, UpstreamEndpoint};

/// Shorter values are not redacted: they are not secrets, and would match in too many texts.
const MIN_SECRET_LENGTH: usize = 6;
/// Environment variables that are never secret. Error texts often contain their values, for example paths.
const PUBLIC_VARIABLES: [&str; 7] = ["PATH", "HOME", "LANG", "PWD", "TERM", "TMPDIR", "USER"];

/// State shared by all sessions of one connection.
pub(crate) struct ConnectionContext {
    pub(crate) name: String,
    pub(crate) bounds: MessageBounds,
    secrets: Vec<String>,
    ids: AtomicU64,
    pub(crate) changed: watch::Sender<u64>,
    /// Set when a server request could belong to several calls. Elicitable calls then run one at a time until the session
    /// ends.
    pub(crate) one_at_a_time: AtomicBool,
    pub(crate) stray_responses: AtomicU64,
    pub(crate) garbage: AtomicU64,
    pub(crate) oversized: AtomicU64,
    pub(crate) declined: AtomicU64,
}

impl ConnectionContext {
    pub(crate) fn new(options: &Options) -> Self {
        let named = match &options.endpoint {
            UpstreamEndpoint::Stdio(program) => &program.env,
            UpstreamEndpoint::Http(endpoint) | UpstreamEndpoint::Sse(endpoint) => &endpoint.headers,
        };
        let values = named.iter().filter(|(name, _)| !PUBLIC_VARIABLES.contains(&name.as_str()));
        // In `Bearer xyz`, `xyz` alone is a secret, too.
        let mut secrets: Vec<String> = values
            .flat_map(|(_, value)| {
                let value = value.expose_secret();
                value.split_whitespace().chain(std::iter::once(value))
            })
            .filter(|value| value.len() >= MIN_SECRET_LENGTH)
            .map(str::to_owned)
            .collect();
        secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
        secrets.dedup();
        Self {
            name: options.name.clone(),
            bounds: options.bounds,
            secrets,
            ids: AtomicU64::new(1),
            changed: watch::channel(0).0,
            one_at_a_time: AtomicBool::new(false),
            stray_responses: AtomicU64::new(0),
            garbage: AtomicU64::new(0),
            oversized: AtomicU64::new(0),
            declined: AtomicU64::new(0),
        }
    }

    /// Returns a new request id. Ids are unique across all sessions, so that a late response never matches a newer
    /// request.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn notify_list_changed(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub(crate) fn deviations(&self) -> ProtocolDeviations {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProtocolDeviations {
            stray_responses: read(&self.stray_responses),
            garbage: read(&self.garbage),
            oversized: read(&self.oversized),
            declined: read(&self.declined),
        }
    }

    /// Returns a server's text for display: on one line, at most `limit` characters, with configured secrets redacted.
    pub(crate) fn sanitize_text(&self, text: &str, limit: usize) -> String {
        let mut text = text.trim().to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "[secret]");
            }
        }
        match text.char_indices().nth(limit) {
            None => one_line(&text),
            Some((end, _)) => one_line(&text[..end]) + "…",
        }
    }
}

pub(crate) fn increment_counter(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

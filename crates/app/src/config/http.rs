//! The tables `[http]` and `[limits]`: TLS, and the limits of the HTTP server.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use runtime::transports::http::{HttpLimits, TlsFiles};
use serde::Deserialize;

use super::location::SourceContext;
use super::memory_budget::default_memory_budget;
use super::sandbox::parse_memory;
use super::{ConfigError, ConfigSource};

/// Raw values of the `[http]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct HttpLayer {
    pub(super) tls_cert: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    max_connections: Option<NonZeroUsize>,
    header_timeout_ms: Option<NonZeroU64>,
    body_timeout_ms: Option<NonZeroU64>,
    idle_timeout_ms: Option<NonZeroU64>,
    write_timeout_ms: Option<NonZeroU64>,
    max_streams: Option<NonZeroU32>,
}

/// Raw values of the `[limits]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct LimitsLayer {
    sessions: Option<NonZeroUsize>,
    sessions_per_client: Option<NonZeroUsize>,
    session_idle_timeout_ms: Option<NonZeroU64>,
    streams_per_session: Option<NonZeroUsize>,
    queued_messages: Option<NonZeroUsize>,
    memory: Option<String>,
}

/// The validated tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Certificate and key; `None` without TLS.
    pub tls: Option<TlsFiles>,
    pub(crate) limits: HttpLimits,
}

impl HttpLayer {
    /// Makes paths of a file relative to the file.
    pub(super) fn place_paths(&mut self, source: &ConfigSource) {
        let folder = source.path.parent().unwrap_or(Path::new(""));
        for path in [&mut self.tls_cert, &mut self.tls_key].into_iter().flatten() {
            *path = folder.join(&*path);
        }
    }

    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, lower: Self) -> Self {
        // A certificate and its key belong together.
        let has_tls = self.tls_cert.is_some() || self.tls_key.is_some();
        let tls =
            if has_tls { (self.tls_cert, self.tls_key) } else { (lower.tls_cert, lower.tls_key) };
        Self {
            tls_cert: tls.0,
            tls_key: tls.1,
            max_connections: self.max_connections.or(lower.max_connections),
            header_timeout_ms: self.header_timeout_ms.or(lower.header_timeout_ms),
            body_timeout_ms: self.body_timeout_ms.or(lower.body_timeout_ms),
            idle_timeout_ms: self.idle_timeout_ms.or(lower.idle_timeout_ms),
            write_timeout_ms: self.write_timeout_ms.or(lower.write_timeout_ms),
            max_streams: self.max_streams.or(lower.max_streams),
        }
    }
}

impl LimitsLayer {
    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, lower: Self) -> Self {
        Self {
            sessions: self.sessions.or(lower.sessions),
            sessions_per_client: self.sessions_per_client.or(lower.sessions_per_client),
            session_idle_timeout_ms: self.session_idle_timeout_ms.or(lower.session_idle_timeout_ms),
            streams_per_session: self.streams_per_session.or(lower.streams_per_session),
            queued_messages: self.queued_messages.or(lower.queued_messages),
            memory: self.memory.or(lower.memory),
        }
    }
}

/// Validates the two tables.
pub(super) fn build_settings(
    http: HttpLayer,
    limits: LimitsLayer,
    place: SourceContext<'_>,
) -> Result<HttpSettings, ConfigError> {
    const COMPLETE: &str = "defaults.toml sets it";
    let tls = match (http.tls_cert, http.tls_key) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
        (None, None) => None,
        (cert, _) => {
            let (key, other) =
                if cert.is_some() { ("tls_key", "tls_cert") } else { ("tls_cert", "tls_key") };
            let message = format!("missing; `{other}` needs it");
            return Err(place.invalid_value(&["http", key], message));
        }
    };
    let millis = |value: Option<NonZeroU64>| Duration::from_millis(value.expect(COMPLETE).get());
    let count = |value: Option<NonZeroUsize>| value.expect(COMPLETE).get();
    let memory = match limits.memory.expect(COMPLETE).as_str() {
        "auto" => default_memory_budget(),
        size => parse_memory(size).map_err(|message| {
            place.invalid_value(&["limits", "memory"], format!("{message}, or \"auto\""))
        })?,
    };
    let limits = HttpLimits {
        max_connections: count(http.max_connections),
        header_timeout: millis(http.header_timeout_ms),
        body_timeout: millis(http.body_timeout_ms),
        idle_timeout: millis(http.idle_timeout_ms),
        write_timeout: millis(http.write_timeout_ms),
        hold_back: HttpLimits::default().hold_back,
        max_streams: http.max_streams.expect(COMPLETE).get(),
        max_sessions: count(limits.sessions),
        max_sessions_per_client: count(limits.sessions_per_client),
        session_idle_timeout: millis(limits.session_idle_timeout_ms),
        max_streams_per_session: count(limits.streams_per_session),
        max_queued_messages: count(limits.queued_messages),
        max_memory_bytes: usize::try_from(memory).unwrap_or(usize::MAX),
    };
    Ok(HttpSettings { tls, limits })
}

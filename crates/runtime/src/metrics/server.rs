//! Metrics of the HTTP server: connections, sessions, streams, refusals, readiness and reloads.

use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Count = Gauge<i64, AtomicI64>;

/// The reason for which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The client closed it, or both sides agreed on its end.
    Client,
    /// The protocol was violated, or the connection broke.
    Error,
    /// No request for too long.
    Idle,
    /// The headers of a request, or the TLS handshake, took too long.
    HeaderTimeout,
    /// The client accepted no bytes for too long.
    WriteTimeout,
    /// Closed for another connection at the limit.
    Displaced,
    Shutdown,
}

impl CloseReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Error => "error",
            Self::Idle => "idle",
            Self::HeaderTimeout => "header_timeout",
            Self::WriteTimeout => "write_timeout",
            Self::Displaced => "displaced",
            Self::Shutdown => "shutdown",
        }
    }
}

/// The limit over which a request or connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    Connections,
    Sessions,
    SessionsOfClient,
    StreamsOfSession,
    BodyTimeout,
    Memory,
}

impl RefusalReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Sessions => "sessions",
            Self::SessionsOfClient => "sessions_per_client",
            Self::StreamsOfSession => "streams_per_session",
            Self::BodyTimeout => "body_timeout",
            Self::Memory => "memory",
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LimitLabel {
    limit: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CheckLabel {
    check: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

/// Metrics of the HTTP server. Clones share their values.
#[derive(Clone, Default)]
pub struct ServerMetrics {
    connections_open: Count,
    connections_closed: Family<ReasonLabel, Counter>,
    refusals: Family<LimitLabel, Counter>,
    accept_failures: Counter,
    sessions_open: Count,
    streams_open: Count,
    memory_bytes: Count,
    readiness: Family<CheckLabel, Count>,
    reloads: Family<ResultLabel, Counter>,
    tls_reloads: Family<ResultLabel, Counter>,
}

impl ServerMetrics {
    /// Creates the metrics and registers them.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let own = metrics.clone();
        registry.register("connections_open", "Open HTTP connections", own.connections_open);
        registry.register(
            "connections_closed",
            "HTTP connections that ended, by reason",
            own.connections_closed,
        );
        registry.register(
            "http_refusals",
            "Connections and requests refused at a limit of the server, by limit",
            own.refusals,
        );
        registry.register(
            "accept_failures",
            "Failures to accept a connection, such as a lack of descriptors",
            own.accept_failures,
        );
        registry.register("sessions_open", "Open MCP sessions over HTTP", own.sessions_open);
        registry.register("streams_open", "Open streams of MCP sessions", own.streams_open);
        registry.register(
            "http_memory_bytes",
            "Bytes of requests and responses that are held in memory, as estimated",
            own.memory_bytes,
        );
        registry.register("ready", "Result of the last readiness checks, 1 if ok", own.readiness);
        registry.register("reloads", "Reloads of the configuration, by result", own.reloads);
        registry.register("tls_reloads", "Reloads of the certificate, by result", own.tls_reloads);
        metrics
    }

    pub(crate) fn record_open(&self) {
        self.connections_open.inc();
    }

    pub(crate) fn record_close(&self, reason: CloseReason) {
        self.connections_open.dec();
        self.connections_closed.get_or_create(&ReasonLabel { reason: reason.as_str() }).inc();
    }

    pub(crate) fn record_refusal(&self, limit: RefusalReason) {
        self.refusals.get_or_create(&LimitLabel { limit: limit.as_str() }).inc();
    }

    pub(crate) fn record_accept_failure(&self) {
        self.accept_failures.inc();
    }

    pub(crate) fn set_sessions(&self, count: usize) {
        self.sessions_open.set(count.try_into().unwrap_or(i64::MAX));
    }

    pub(crate) fn record_stream_start(&self) {
        self.streams_open.inc();
    }

    pub(crate) fn record_stream_end(&self) {
        self.streams_open.dec();
    }

    pub(crate) fn set_memory(&self, bytes: usize) {
        self.memory_bytes.set(bytes.try_into().unwrap_or(i64::MAX));
    }

    pub(crate) fn set_readiness(&self, check: &'static str, is_ok: bool) {
        self.readiness.get_or_create(&CheckLabel { check }).set(is_ok.into());
    }

    /// Records a reload of the configuration.
    pub fn record_reload(&self, is_ok: bool) {
        self.reloads.get_or_create(&ResultLabel { result: result_word(is_ok) }).inc();
    }

    /// Records a reload of the certificate.
    pub fn record_tls_reload(&self, is_ok: bool) {
        self.tls_reloads.get_or_create(&ResultLabel { result: result_word(is_ok) }).inc();
    }
}

fn result_word(is_ok: bool) -> &'static str {
    if is_ok { "ok" } else { "failed" }
}

//! Counters and histograms of all calls, exported in the OpenMetrics text format.

mod audit;
mod server;

use std::fmt;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use contract::ErrorCode;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use store::audit::AuditCounts;

use self::audit::AuditCollector;
pub use self::audit::SealMetrics;
pub use server::ServerMetrics;
pub(crate) use server::{CloseReason, RefusalReason};

/// Histogram buckets in seconds, from 50 µs (immediate tools) to the longest time limit of the built-in contracts.
const BUCKETS: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0,
    5.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolLabel {
    tool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FailureLabel {
    tool: String,
    code: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SecretLabel {
    tool: String,
    rule: &'static str,
}

#[derive(Clone)]
struct DurationHistogram;

impl MetricConstructor<Histogram> for DurationHistogram {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BUCKETS)
    }
}

/// Metrics of a pipeline.
pub struct Metrics {
    registry: Registry,
    calls: Family<ToolLabel, Counter>,
    failures: Family<FailureLabel, Counter>,
    rate_limited: Family<ToolLabel, Counter>,
    durations: Family<ToolLabel, Histogram, DurationHistogram>,
    in_flight: Gauge<i64, AtomicI64>,
    secrets: Family<SecretLabel, Counter>,
    server: ServerMetrics,
    seal: SealMetrics,
}

impl Metrics {
    /// Creates the metrics of a pipeline with this audit log.
    pub(crate) fn new(audit: AuditCounts) -> Self {
        let mut registry = Registry::with_prefix("vouch");
        let calls = Family::default();
        let failures = Family::default();
        let rate_limited = Family::default();
        let durations = Family::new_with_constructor(DurationHistogram);
        let in_flight = Gauge::default();
        registry.register("calls", "Calls that entered the pipeline", calls.clone());
        registry.register(
            "failures",
            "Calls that failed or were refused, by code",
            failures.clone(),
        );
        registry.register("rate_limited", "Calls over their rate limit", rate_limited.clone());
        registry.register("call_duration_seconds", "Time in the pipeline", durations.clone());
        registry.register("calls_in_flight", "Calls in the pipeline now", in_flight.clone());
        let secrets = Family::default();
        registry.register("secrets", "Secrets found in replies, by rule", secrets.clone());
        let server = ServerMetrics::register(&mut registry);
        registry.register_collector(Box::new(AuditCollector { counts: audit }));
        let seal = SealMetrics::register(&mut registry);
        Self {
            registry,
            calls,
            failures,
            rate_limited,
            durations,
            in_flight,
            secrets,
            server,
            seal,
        }
    }

    /// Counts a call as in flight.
    pub(crate) fn record_start(&self) {
        self.in_flight.inc();
    }

    /// Records the end of a call. `tool` must be a catalog name or a fixed placeholder, so that labels stay bounded.
    pub(crate) fn record_end(&self, tool: &str, code: Option<ErrorCode>, duration: Duration) {
        self.in_flight.dec();
        let label = ToolLabel { tool: tool.to_owned() };
        self.calls.get_or_create(&label).inc();
        self.durations.get_or_create(&label).observe(duration.as_secs_f64());
        if let Some(code) = code {
            if code == ErrorCode::RateLimited {
                self.rate_limited.get_or_create(&label).inc();
            }
            let label = FailureLabel { tool: tool.to_owned(), code: code.to_string() };
            self.failures.get_or_create(&label).inc();
        }
    }

    /// Counts the secrets of a reply. `tool` must be bounded as for [`Metrics::record_end`]; `rule` is from a fixed table.
    pub(crate) fn record_secrets(&self, tool: &str, rule: &'static str, count: u64) {
        let label = SecretLabel { tool: tool.to_owned(), rule };
        self.secrets.get_or_create(&label).inc_by(count);
    }

    /// Returns the metrics of the HTTP server.
    pub fn server(&self) -> &ServerMetrics {
        &self.server
    }

    /// Returns the metrics of the checkpoints of the audit log.
    pub fn seal(&self) -> &SealMetrics {
        &self.seal
    }

    pub(crate) fn in_flight(&self) -> i64 {
        self.in_flight.get()
    }

    /// Returns all metrics in the OpenMetrics text format.
    pub fn render(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

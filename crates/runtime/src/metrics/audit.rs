//! Metrics of the audit log: records, failures, and checkpoints.

use std::fmt;
use std::sync::atomic::AtomicI64;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use store::audit::AuditCounts;

type Count = Gauge<i64, AtomicI64>;

/// Reads the counts of the audit log when the metrics are rendered.
pub(super) struct AuditCollector {
    pub(super) counts: AuditCounts,
}

impl fmt::Debug for AuditCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditCollector").finish_non_exhaustive()
    }
}

impl Collector for AuditCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let counts = &self.counts;
        let pending = i64::try_from(counts.pending()).unwrap_or(i64::MAX);
        let metrics: [(&str, &str, &dyn EncodeMetric); 4] = [
            (
                "audit_records",
                "Records written to the audit log",
                &ConstCounter::new(counts.records()),
            ),
            (
                "audit_failures",
                "Failed writes and syncs of the audit log",
                &ConstCounter::new(counts.failures()),
            ),
            (
                "audit_lost_records",
                "Records dropped because the audit log could not be written",
                &ConstCounter::new(counts.dropped()),
            ),
            (
                "audit_pending_records",
                "Records that wait to be written to the audit log",
                &ConstGauge::new(pending),
            ),
        ];
        for (name, help, metric) in metrics {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)?;
        }
        Ok(())
    }
}

/// Metrics of the checkpoints of the audit log. Clones share their values.
#[derive(Clone, Default)]
pub struct SealMetrics {
    sealed_seq: Count,
    sealed_time: Count,
    undelivered: Count,
    failures: Counter,
}

impl SealMetrics {
    /// Creates the metrics and registers them.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let own = metrics.clone();
        registry.register(
            "audit_sealed_seq",
            "Sequence number of the last line in a checkpoint; 0 without one",
            own.sealed_seq,
        );
        registry.register(
            "audit_sealed_timestamp_seconds",
            "Time of the last checkpoint; 0 without one",
            own.sealed_time,
        );
        registry.register(
            "audit_undelivered_checkpoints",
            "Deliveries of checkpoints that are due, over all targets",
            own.undelivered,
        );
        registry.register(
            "audit_seal_failures",
            "Checkpoints that could not be signed, and deliveries that failed",
            own.failures,
        );
        metrics
    }

    /// Records the last checkpoint: its last line, and its time in seconds since 1970.
    pub fn set_sealed(&self, seq: u64, time: i64) {
        self.sealed_seq.set(seq.try_into().unwrap_or(i64::MAX));
        self.sealed_time.set(time);
    }

    /// Records the number of deliveries that are due.
    pub fn set_undelivered(&self, count: usize) {
        self.undelivered.set(count.try_into().unwrap_or(i64::MAX));
    }

    /// Counts a checkpoint that could not be signed or delivered.
    pub fn record_failure(&self) {
        self.failures.inc();
    }
}

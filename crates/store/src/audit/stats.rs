//! Call counts, failure rates and durations per tool, computed from the log.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::reader::read_records;
use super::record::{AuditCall, AuditEntry, AuditOutcome};
use crate::StoreError;

/// Statistics of the calls of one tool. Durations are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolStats {
    /// `None` for calls without a tool name.
    pub tool: Option<String>,
    pub calls: u64,
    pub failures: u64,
    /// Share of failed calls, from 0 to 1.
    pub failure_rate: f64,
    /// Failures by error code.
    pub by_code: BTreeMap<String, u64>,
    pub p50_us: u64,
    pub p95_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

/// Returns statistics per tool, for all calls or those since a time. The tool with the most calls comes first.
pub fn compute_tool_stats(
    path: impl AsRef<Path>,
    since: Option<Timestamp>,
) -> Result<Vec<ToolStats>, StoreError> {
    let mut tools: BTreeMap<Option<String>, ToolTally> = BTreeMap::new();
    for line in read_records(path)? {
        match line?.entry {
            AuditEntry::Call(record) if since.is_none_or(|since| record.time >= since) => {
                tools.entry(record.tool.clone()).or_default().add_call(record);
            }
            _ => {}
        }
    }
    let mut stats: Vec<_> = tools.into_iter().map(|(tool, tally)| tally.into_stats(tool)).collect();
    stats.sort_by_key(|stats| std::cmp::Reverse(stats.calls));
    Ok(stats)
}

/// Accumulates the calls of one tool. It stores every duration (8 bytes per call), so the quantiles are exact.
#[derive(Default)]
struct ToolTally {
    durations: Vec<u64>,
    failures: u64,
    by_code: BTreeMap<String, u64>,
}

impl ToolTally {
    fn add_call(&mut self, record: AuditCall) {
        self.durations.push(record.duration_us);
        if matches!(record.outcome, AuditOutcome::Error | AuditOutcome::Unknown) {
            self.failures += 1;
            *self.by_code.entry(record.code.unwrap_or_default()).or_default() += 1;
        }
    }

    fn into_stats(mut self, tool: Option<String>) -> ToolStats {
        self.durations.sort_unstable();
        let calls = self.durations.len() as u64;
        // Nearest-rank method: the smallest duration that at least this share of the calls did not exceed.
        let quantile = |percent: usize| {
            let rank = (self.durations.len() * percent).div_ceil(100);
            self.durations[rank - 1]
        };
        ToolStats {
            tool,
            calls,
            failures: self.failures,
            failure_rate: self.failures as f64 / calls as f64,
            by_code: self.by_code,
            p50_us: quantile(50),
            p95_us: quantile(95),
            p99_us: quantile(99),
            max_us: quantile(100),
        }
    }
}

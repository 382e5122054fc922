//! Counts, failure rates and durations by tool, computed from the log.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::read::read;
use super::record::{Entry, Outcome, Record};
use crate::StoreError;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolStats {
    /// `None`: calls that named no tool.
    pub tool: Option<String>,
    pub calls: u64,
    pub failures: u64,
    /// Failures among calls, from 0 to 1.
    pub failure_rate: f64,
    /// Failures by error code.
    pub by_code: BTreeMap<String, u64>,
    pub p50_us: u64,
    pub p95_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

/// The calls since a time, or all of them, by tool; the busiest tool first.
pub fn stats(
    path: impl AsRef<Path>,
    since: Option<Timestamp>,
) -> Result<Vec<ToolStats>, StoreError> {
    let mut tools: BTreeMap<Option<String>, Tally> = BTreeMap::new();
    for line in read(path)? {
        match line?.entry {
            Entry::Call(record) if since.is_none_or(|since| record.time >= since) => {
                tools.entry(record.tool.clone()).or_default().add(record);
            }
            _ => {}
        }
    }
    let mut stats: Vec<_> = tools.into_iter().map(|(tool, tally)| tally.finish(tool)).collect();
    stats.sort_by_key(|stats| std::cmp::Reverse(stats.calls));
    Ok(stats)
}

/// Durations are kept whole: eight bytes a call, and the quantiles are exact.
#[derive(Default)]
struct Tally {
    durations: Vec<u64>,
    failures: u64,
    by_code: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, record: Record) {
        self.durations.push(record.duration_us);
        if matches!(record.outcome, Outcome::Error | Outcome::Unknown) {
            self.failures += 1;
            *self.by_code.entry(record.code.unwrap_or_default()).or_default() += 1;
        }
    }

    fn finish(mut self, tool: Option<String>) -> ToolStats {
        self.durations.sort_unstable();
        let calls = self.durations.len() as u64;
        // Nearest rank: the smallest duration that at least this share of the calls did not exceed.
        let quantile = |percent: usize| {
            let rank = (self.durations.len() * percent).div_ceil(100).max(1);
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

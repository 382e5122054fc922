//! History of a campaign: a bounded number of points, thinned out as it gets longer.

use std::time::Duration;

use crate::commands::fuzz::screen::model::HistoryPoint;

/// Maximum number of points; terminals have fewer columns.
const MAX_POINTS: usize = 512;
/// Initial interval between points. Workers report at the end of rounds, so shorter intervals would show the rounds.
const FIRST_STEP: Duration = Duration::from_millis(500);
/// Time window of the current rate.
const RATE_WINDOW: Duration = Duration::from_secs(2);

/// Coverage and speed over time.
pub(super) struct CampaignHistory {
    points: Vec<HistoryPoint>,
    /// Interval between two points.
    step: Duration,
    /// Total calls at the last point.
    calls: u64,
    /// Times within the rate window, each with the total calls so far.
    recent: Vec<(Duration, u64)>,
}

impl Default for CampaignHistory {
    fn default() -> Self {
        let recent = vec![(Duration::ZERO, 0)];
        Self { points: Vec::new(), step: FIRST_STEP, calls: 0, recent }
    }
}

impl CampaignHistory {
    pub(super) fn points(&self) -> &[HistoryPoint] {
        &self.points
    }

    /// Records the current totals, and adds a point if the interval has passed.
    pub(super) fn record_totals(&mut self, at: Duration, calls: u64, branches: usize) {
        self.recent.push((at, calls));
        let is_old = |(then, _): &(Duration, u64)| at.saturating_sub(*then) > RATE_WINDOW;
        // The newest old entry marks the start of the window.
        let old = self.recent.iter().take_while(|it| is_old(it)).count();
        self.recent.drain(..old.saturating_sub(1));
        let since = at.saturating_sub(self.points.last().map_or(Duration::ZERO, |it| it.at));
        if since < self.step {
            return;
        }
        let rate = calls_per_second(calls.saturating_sub(self.calls), since);
        self.points.push(HistoryPoint { at, branches, rate });
        self.calls = calls;
        if self.points.len() >= MAX_POINTS {
            self.merge_points();
        }
    }

    /// Returns the current calls per second.
    pub(super) fn rate(&self) -> u64 {
        let (Some((from, before)), Some((to, after))) = (self.recent.first(), self.recent.last())
        else {
            return 0;
        };
        calls_per_second(after.saturating_sub(*before), to.saturating_sub(*from))
    }

    /// Merges each pair of points and doubles the interval.
    fn merge_points(&mut self) {
        let pairs = self.points.chunks(2).filter_map(|pair| {
            let last = *pair.last()?;
            let rate = pair.iter().map(|point| point.rate).sum::<u64>() / pair.len() as u64;
            Some(HistoryPoint { rate, ..last })
        });
        self.points = pairs.collect();
        self.step *= 2;
    }
}

fn calls_per_second(calls: u64, time: Duration) -> u64 {
    let rate = u128::from(calls) * 1000 / time.as_millis().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_points_and_reports_recent_rate() {
        let mut history = CampaignHistory::default();
        let mut calls = 0;
        for tick in 1..36_000_u64 {
            // The rate doubles after half an hour.
            calls += if tick < 18_000 { 1000 } else { 2000 };
            history.record_totals(Duration::from_millis(tick * 100), calls, tick as usize);
        }
        let points = history.points();
        assert!(points.len() < MAX_POINTS && points.len() >= MAX_POINTS / 2, "{}", points.len());
        assert!(points.is_sorted_by_key(|point| (point.at, point.branches)));
        assert_eq!((points[0].rate, points[points.len() - 1].rate), (10_000, 20_000));
        assert_eq!(history.rate(), 20_000);
    }

    #[test]
    fn empty_history_has_zero_rate() {
        let mut history = CampaignHistory::default();
        assert_eq!(history.rate(), 0);
        history.record_totals(Duration::ZERO, 0, 0);
        assert_eq!((history.rate(), history.points().len()), (0, 0));
    }
}

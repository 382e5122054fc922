//! The past of a campaign, in a few hundred points however long it is.

use std::time::Duration;

use crate::commands::fuzz::screen::model::Point;

/// Points that are kept; more than a terminal has columns.
const MAX_POINTS: usize = 512;
/// Workers tell how far they are at the ends of rounds; shorter steps would show those.
const FIRST_STEP: Duration = Duration::from_millis(500);
/// The time that counts as lately.
const LATELY: Duration = Duration::from_secs(2);

pub(super) struct History {
    points: Vec<Point>,
    /// Between two points.
    step: Duration,
    /// Calls at the last point.
    calls: u64,
    /// Moments of the last seconds, with the calls until then.
    recent: Vec<(Duration, u64)>,
}

impl Default for History {
    fn default() -> Self {
        let recent = vec![(Duration::ZERO, 0)];
        Self { points: Vec::new(), step: FIRST_STEP, calls: 0, recent }
    }
}

impl History {
    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }

    pub(super) fn add(&mut self, at: Duration, calls: u64, branches: usize) {
        self.recent.push((at, calls));
        let is_old = |(then, _): &(Duration, u64)| at.saturating_sub(*then) > LATELY;
        // The last of the old ones is where the time that counts begins.
        let old = self.recent.iter().take_while(|it| is_old(it)).count();
        self.recent.drain(..old.saturating_sub(1));
        let since = at.saturating_sub(self.points.last().map_or(Duration::ZERO, |it| it.at));
        if since < self.step {
            return;
        }
        let rate = per_second(calls.saturating_sub(self.calls), since);
        self.points.push(Point { at, branches, rate });
        self.calls = calls;
        if self.points.len() >= MAX_POINTS {
            self.thin();
        }
    }

    /// Calls in a second, lately.
    pub(super) fn rate(&self) -> u64 {
        let (Some((from, before)), Some((to, after))) = (self.recent.first(), self.recent.last())
        else {
            return 0;
        };
        per_second(after.saturating_sub(*before), to.saturating_sub(*from))
    }

    /// Makes one point of two.
    fn thin(&mut self) {
        let pairs = self.points.chunks(2).filter_map(|pair| {
            let last = *pair.last()?;
            let rate = pair.iter().map(|point| point.rate).sum::<u64>() / pair.len() as u64;
            Some(Point { rate, ..last })
        });
        self.points = pairs.collect();
        self.step *= 2;
    }
}

fn per_second(calls: u64, time: Duration) -> u64 {
    let rate = u128::from(calls) * 1000 / time.as_millis().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_fits_and_speed_is_that_of_the_last_seconds() {
        let mut history = History::default();
        let mut calls = 0;
        for tick in 1..36_000_u64 {
            // Twice as fast in the second half hour.
            calls += if tick < 18_000 { 1000 } else { 2000 };
            history.add(Duration::from_millis(tick * 100), calls, tick as usize);
        }
        let points = history.points();
        assert!(points.len() < MAX_POINTS && points.len() >= MAX_POINTS / 2, "{}", points.len());
        assert!(points.is_sorted_by_key(|point| (point.at, point.branches)));
        assert_eq!((points[0].rate, points[points.len() - 1].rate), (10_000, 20_000));
        assert_eq!(history.rate(), 20_000);
    }

    #[test]
    fn nothing_has_no_speed() {
        let mut history = History::default();
        assert_eq!(history.rate(), 0);
        history.add(Duration::ZERO, 0, 0);
        assert_eq!((history.rate(), history.points().len()), (0, 0));
    }
}

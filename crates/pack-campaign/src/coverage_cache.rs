//! Line and branch coverage of the sources, built rarely and served often.
//!
//! Building a report for a large target takes longer than a caller waits, and workers report new hits every few
//! moments. Reports are therefore built in the background, one at a time. Rests between them keep the cost for the
//! campaign below one part in [`REST_FACTOR`]. Until the next report is ready, the last one is served. After the
//! campaign has ended, the report is exact.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coverage::CoverageReport;
use fuzz::campaign::{CampaignState, CoverageHits, coverage_report};
use parking_lot::{Condvar, Mutex, MutexGuard};

/// Maximum wait for a newer report if an older one exists.
const MAX_WAIT: Duration = Duration::from_millis(5);
/// Length of a rest as a multiple of the time that building the last report took.
const REST_FACTOR: u32 = 50;
/// Longest rest. A report is never older than this plus its build time. A report that takes more than 0.2 s to
/// build may therefore cost more than its share.
const MAX_REST: Duration = Duration::from_secs(10);

/// A coverage report and the hits it was built from.
pub(crate) struct CoverageSnapshot {
    hits: Vec<Arc<CoverageHits>>,
    pub(crate) report: CoverageReport,
}

pub(crate) struct CoverageCache {
    reporter: Arc<CoverageReporter>,
}

struct CoverageReporter {
    shared: Arc<CampaignState>,
    state: Mutex<ReporterState>,
    changed: Condvar,
}

#[derive(Default)]
struct ReporterState {
    latest: Option<Arc<CoverageSnapshot>>,
    /// A report is being built.
    is_busy: bool,
    resting_until: Option<Instant>,
    /// Number of reports that differed from the one before.
    version: u64,
}

impl CoverageCache {
    /// Creates the cache and starts building the first report immediately.
    pub(crate) fn new(shared: Arc<CampaignState>) -> Self {
        let reporter =
            CoverageReporter { shared, state: Mutex::default(), changed: Condvar::new() };
        let cover = Self { reporter: Arc::new(reporter) };
        let state = cover.reporter.state.lock();
        drop(cover.reporter.start_report(state));
        cover
    }

    /// Returns any report, waiting for the first if needed. Use it for facts that never change, such as which lines
    /// are executable.
    pub(crate) fn any_snapshot(&self) -> Arc<CoverageSnapshot> {
        self.reporter.wait_for_snapshot(self.reporter.state.lock(), &[], false)
    }

    /// Returns a version that changes when coverage grows. Does not wait, but starts a newer report if one is due.
    pub(crate) fn version(&self) -> u64 {
        let hits = self.reporter.shared.hits();
        let state = self.reporter.state.lock();
        let version = state.version;
        if state.is_stale(&hits) && !state.is_busy && !state.is_resting() {
            drop(self.reporter.start_report(state));
        }
        version
    }

    /// Returns the latest report, which may be a few seconds old while the campaign runs.
    pub(crate) fn current_snapshot(&self) -> Arc<CoverageSnapshot> {
        let reporter = &self.reporter;
        let has_ended = reporter.shared.has_ended();
        let hits = reporter.shared.hits();
        let mut state = reporter.state.lock();
        if let Some(latest) = state.latest.as_ref().filter(|it| it.matches_hits(&hits)) {
            return Arc::clone(latest);
        }
        if !state.is_busy && (has_ended || !state.is_resting()) {
            state = reporter.start_report(state);
        }
        if let Some(older) = state.latest.clone().filter(|_| !has_ended) {
            let is_older = |state: &mut ReporterState| {
                state.is_busy && state.latest.as_ref().is_some_and(|it| Arc::ptr_eq(it, &older))
            };
            reporter.changed.wait_while_for(&mut state, is_older, MAX_WAIT);
            return state.latest.clone().unwrap_or(older);
        }
        reporter.wait_for_snapshot(state, &hits, has_ended)
    }
}

impl CoverageReporter {
    /// Waits for the first report or, if `is_last`, for the report of exactly these `hits`.
    fn wait_for_snapshot<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, ReporterState>,
        hits: &[Arc<CoverageHits>],
        is_last: bool,
    ) -> Arc<CoverageSnapshot> {
        loop {
            if let Some(latest) =
                state.latest.as_ref().filter(|it| !is_last || it.matches_hits(hits))
            {
                return Arc::clone(latest);
            }
            if !state.is_busy {
                state = self.start_report(state);
            }
            self.changed.wait_while(&mut state, |state| state.is_busy);
        }
    }

    /// Starts building a report on its own thread, or builds it here if the thread cannot be spawned.
    fn start_report<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, ReporterState>,
    ) -> MutexGuard<'a, ReporterState> {
        state.is_busy = true;
        let reporter = Arc::clone(self);
        let thread = std::thread::Builder::new().name("coverage".to_owned());
        if thread.spawn(move || reporter.build_report()).is_ok() {
            return state;
        }
        drop(state);
        self.build_report();
        self.state.lock()
    }

    fn build_report(&self) {
        let _busy = ReporterBusyGuard(self);
        let begun = Instant::now();
        let hits = self.shared.hits();
        let report = coverage_report::build_report(&self.shared.target, &hits);
        let snapshot = Arc::new(CoverageSnapshot { hits, report });
        let rest = (begun.elapsed() * REST_FACTOR).min(MAX_REST);
        let mut state = self.state.lock();
        let is_other =
            |old: &Arc<CoverageSnapshot>| old.report.contracts != snapshot.report.contracts;
        state.version += u64::from(state.latest.as_ref().is_none_or(is_other));
        state.latest = Some(snapshot);
        state.resting_until = Some(Instant::now() + rest);
    }
}

impl ReporterState {
    fn is_resting(&self) -> bool {
        self.resting_until.is_some_and(|end| Instant::now() < end)
    }

    fn is_stale(&self, hits: &[Arc<CoverageHits>]) -> bool {
        self.latest.as_ref().is_none_or(|latest| !latest.matches_hits(hits))
    }
}

/// Clears the busy flag on drop, so that waiters do not hang if building a report panics.
struct ReporterBusyGuard<'a>(&'a CoverageReporter);

impl Drop for ReporterBusyGuard<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_busy = false;
        self.0.changed.notify_all();
    }
}

impl CoverageSnapshot {
    fn matches_hits(&self, hits: &[Arc<CoverageHits>]) -> bool {
        self.hits.len() == hits.len()
            && self.hits.iter().zip(hits).all(|(old, new)| Arc::ptr_eq(old, new))
    }
}

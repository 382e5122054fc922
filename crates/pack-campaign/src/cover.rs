//! What ran, by line and branch of the source, made rarely and told often.
//!
//! A report of a large target takes longer to make than a caller waits, and a worker shows new hits every few moments. So
//! reports are made in the background, one at a time and with rests that keep the cost for the campaign below a part
//! in [`REST`]; until the next is there the last one is told. Once the campaign has ended the report is exact.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coverage::Report;
use fuzz::campaign::{Hits, Shared, cover};
use parking_lot::{Condvar, Mutex, MutexGuard};

/// How long a call waits for a newer report if there is an older one.
const PATIENCE: Duration = Duration::from_millis(5);
/// Rests are this many times as long as the work before.
const REST: u32 = 50;
/// No report is older than this, and what it takes to make one: a report that takes longer than a fifth of a second to
/// make may cost more than its part.
const MAX_REST: Duration = Duration::from_secs(10);

/// What was hit, and the report of it.
pub(crate) struct Covered {
    hits: Vec<Arc<Hits>>,
    pub(crate) report: Report,
}

pub(crate) struct Cover {
    desk: Arc<Desk>,
}

struct Desk {
    shared: Arc<Shared>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    latest: Option<Arc<Covered>>,
    /// Somebody makes a report.
    is_busy: bool,
    rests_until: Option<Instant>,
    /// How often a report told something else than the one before.
    version: u64,
}

impl Cover {
    /// Begins with the first report at once.
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let desk = Desk { shared, state: Mutex::default(), changed: Condvar::new() };
        let cover = Self { desk: Arc::new(desk) };
        let state = cover.desk.state.lock();
        drop(cover.desk.begin(state));
        cover
    }

    /// Some report, for what is the same in all: which lines can run.
    pub(crate) fn any(&self) -> Arc<Covered> {
        self.desk.exact(self.desk.state.lock(), &[], false)
    }

    /// Another number once more is covered. It waits for nothing, but has a newer report made if there can be one.
    pub(crate) fn version(&self) -> u64 {
        let hits = self.desk.shared.hits();
        let state = self.desk.state.lock();
        let version = state.version;
        if state.is_stale(&hits) && !state.is_busy && !state.rests() {
            drop(self.desk.begin(state));
        }
        version
    }

    /// What ran until now, or until a moment ago.
    pub(crate) fn now(&self) -> Arc<Covered> {
        let desk = &self.desk;
        let has_ended = desk.shared.has_ended();
        let hits = desk.shared.hits();
        let mut state = desk.state.lock();
        if let Some(latest) = state.latest.as_ref().filter(|it| it.is_of(&hits)) {
            return Arc::clone(latest);
        }
        if !state.is_busy && (has_ended || !state.rests()) {
            state = desk.begin(state);
        }
        if let Some(older) = state.latest.clone().filter(|_| !has_ended) {
            let is_older = |state: &mut State| {
                state.is_busy && state.latest.as_ref().is_some_and(|it| Arc::ptr_eq(it, &older))
            };
            desk.changed.wait_while_for(&mut state, is_older, PATIENCE);
            return state.latest.clone().unwrap_or(older);
        }
        desk.exact(state, &hits, has_ended)
    }
}

impl Desk {
    /// Waits for the first report or, after the end, for the last.
    fn exact<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        hits: &[Arc<Hits>],
        is_last: bool,
    ) -> Arc<Covered> {
        loop {
            if let Some(latest) = state.latest.as_ref().filter(|it| !is_last || it.is_of(hits)) {
                return Arc::clone(latest);
            }
            if !state.is_busy {
                state = self.begin(state);
            }
            self.changed.wait_while(&mut state, |state| state.is_busy);
        }
    }

    /// Has a report made by a thread of its own. Where none can be started it is made here.
    fn begin<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.is_busy = true;
        let desk = Arc::clone(self);
        let thread = std::thread::Builder::new().name("coverage".to_owned());
        if thread.spawn(move || desk.make()).is_ok() {
            return state;
        }
        drop(state);
        self.make();
        self.state.lock()
    }

    fn make(&self) {
        let _busy = Busy(self);
        let begun = Instant::now();
        let hits = self.shared.hits();
        let report = cover::report(&self.shared.target, &hits);
        let covered = Arc::new(Covered { hits, report });
        let rest = (begun.elapsed() * REST).min(MAX_REST);
        let mut state = self.state.lock();
        let is_other = |old: &Arc<Covered>| old.report.contracts != covered.report.contracts;
        state.version += u64::from(state.latest.as_ref().is_none_or(is_other));
        state.latest = Some(covered);
        state.rests_until = Some(Instant::now() + rest);
    }
}

impl State {
    fn rests(&self) -> bool {
        self.rests_until.is_some_and(|end| Instant::now() < end)
    }

    fn is_stale(&self, hits: &[Arc<Hits>]) -> bool {
        self.latest.as_ref().is_none_or(|latest| !latest.is_of(hits))
    }
}

/// Ends the work when it is dropped, so that nobody waits for one that crashed.
struct Busy<'a>(&'a Desk);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_busy = false;
        self.0.changed.notify_all();
    }
}

impl Covered {
    fn is_of(&self, hits: &[Arc<Hits>]) -> bool {
        self.hits.len() == hits.len()
            && self.hits.iter().zip(hits).all(|(old, new)| Arc::ptr_eq(old, new))
    }
}

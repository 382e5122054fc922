//! What all workers, and those who watch and steer them, have in common.
//!
//! Workers write here between sequences and at the ends of rounds; whoever reads never holds a lock for longer than a
//! copy takes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use alloy_primitives::I256;
use parking_lot::{Condvar, Mutex};

use super::check::Site;
use super::commands::{Command, Commands};
use super::events::{Events, Happening};
use super::exchange::Exchange;
use super::pool::Entry;
use super::sample::{Sample, Samples};
use super::statistics::Statistics;
use crate::call::Call;
use crate::chain::{Hits, Probe};
use crate::config::Settings;
use crate::target::{FunctionId, Target};

/// Why a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    LimitReached,
    TimeIsUp,
    AllFailed,
    Stopped,
    /// A contract used a cheat code that there is not.
    Unsupported,
    Crashed,
}

impl fmt::Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Ended::LimitReached => "the limit of calls is reached",
            Ended::TimeIsUp => "the time is up",
            Ended::AllFailed => "every test has failed",
            Ended::Stopped => "it was stopped",
            Ended::Unsupported => "a contract used a cheat code that is not supported",
            Ended::Crashed => "it crashed, which is a defect of the fuzzer",
        })
    }
}

/// A test that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub test: usize,
    pub site: Site,
    /// The first of those that found it.
    pub worker: usize,
    /// As it was found.
    pub found: Vec<Call>,
    /// The smallest sequence so far.
    pub calls: Vec<Call>,
    pub is_shrunk: bool,
}

/// The largest number that a test returned.
#[derive(Clone, Debug)]
pub struct Best {
    pub test: usize,
    pub value: I256,
    pub calls: Vec<Call>,
    pub is_shrunk: bool,
}

/// Keeps what is found, at once. What cannot be kept is told, not thrown away: the campaign goes on.
pub trait Recorder: Send + Sync {
    fn keep_entry(&self, target: &Target, calls: &[Call]) -> Result<(), String>;
    fn keep_failure(&self, target: &Target, failure: &Failure) -> Result<(), String>;
    fn keep_best(&self, target: &Target, best: &Best) -> Result<(), String>;
}

/// Keeps nothing.
impl Recorder for () {
    fn keep_entry(&self, _: &Target, _: &[Call]) -> Result<(), String> {
        Ok(())
    }

    fn keep_failure(&self, _: &Target, _: &Failure) -> Result<(), String> {
        Ok(())
    }

    fn keep_best(&self, _: &Target, _: &Best) -> Result<(), String> {
        Ok(())
    }
}

/// What one worker shows.
#[derive(Debug, Default)]
struct Window {
    calls: AtomicU64,
    gas: AtomicU64,
    hits: Mutex<Arc<Hits>>,
    functions: Mutex<Arc<Vec<Statistics>>>,
}

/// See the module.
pub struct Shared {
    pub target: Arc<Target>,
    pub settings: Arc<Settings>,
    pub events: Events,
    pub(super) exchange: Exchange,
    pub(super) commands: Commands,
    pub(super) samples: Arc<Samples>,
    /// Workers that have not ended.
    present: AtomicUsize,
    /// When something new was shown last, in milliseconds of Unix time; 0 if nothing was.
    last_news: AtomicU64,
    windows: Vec<Window>,
    corpus: Mutex<Vec<Arc<Entry>>>,
    failures: Mutex<BTreeMap<(usize, Site), Failure>>,
    best: Mutex<BTreeMap<usize, Best>>,
    trouble: Mutex<Option<String>>,
    unsupported: Mutex<Option<String>>,
    recorder: Box<dyn Recorder>,
    deadline: Option<Instant>,
    stop: AtomicBool,
    kill: AtomicBool,
    paused: Mutex<bool>,
    resumed: Condvar,
}

impl Shared {
    pub(super) fn new(
        target: Arc<Target>,
        settings: Arc<Settings>,
        workers: usize,
        commands: Vec<(u64, Command)>,
        recorder: Box<dyn Recorder>,
    ) -> Self {
        Self {
            deadline: settings.timeout.map(|timeout| Instant::now() + timeout),
            samples: Arc::new(Samples::new(&target)),
            target,
            settings,
            events: Events::default(),
            exchange: Exchange::new(workers),
            commands: Commands::new(workers, commands),
            present: AtomicUsize::new(workers),
            last_news: AtomicU64::new(0),
            windows: (0..workers).map(|_| Window::default()).collect(),
            corpus: Mutex::default(),
            failures: Mutex::default(),
            best: Mutex::default(),
            trouble: Mutex::default(),
            unsupported: Mutex::default(),
            recorder,
            stop: AtomicBool::new(false),
            kill: AtomicBool::new(false),
            paused: Mutex::new(false),
            resumed: Condvar::new(),
        }
    }

    pub fn workers(&self) -> usize {
        self.windows.len()
    }

    /// Gives a command to all workers; `note` is told the round in which it takes effect before it can.
    pub fn give<E>(
        &self,
        command: Command,
        note: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        self.commands.give(command, note)
    }

    /// The last commands, the newest first, each with the round in which it takes effect.
    pub fn last_commands(&self, count: usize) -> Vec<(u64, Command)> {
        self.commands.last(count)
    }

    /// The functions that are called more often, as the commands that were given make them.
    pub fn priorities(&self) -> Vec<FunctionId> {
        self.commands.priorities()
    }

    /// Whether a command that is given now can still take effect: some worker makes new calls.
    pub fn takes_commands(&self) -> bool {
        !self.is_stopped() && !self.exchange.is_deserted()
    }

    /// Watches the next calls of a function.
    pub fn sample(&self, function: FunctionId, calls: u64) -> Sample {
        self.samples.start(&self.target, function, calls)
    }

    /// True once every worker has ended, whatever the reason.
    pub fn has_ended(&self) -> bool {
        self.present.load(Ordering::Acquire) == 0
    }

    /// The stay of a worker, which ends when it is dropped.
    pub(super) fn stay(&self, worker: usize) -> Stay<'_> {
        Stay { shared: self, worker }
    }

    /// The round that each worker is in.
    pub fn rounds(&self) -> Vec<u64> {
        self.commands.rounds()
    }

    /// No new calls; what is being shrunk is finished.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.resume();
    }

    /// Nothing more at all.
    pub fn kill(&self) {
        self.kill.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub fn pause(&self) {
        *self.paused.lock() = true;
    }

    pub fn resume(&self) {
        *self.paused.lock() = false;
        self.resumed.notify_all();
    }

    pub fn is_paused(&self) -> bool {
        *self.paused.lock()
    }

    /// Waits while the campaign is paused, but not past its end.
    pub(super) fn wait_if_paused(&self) {
        let mut paused = self.paused.lock();
        while *paused && !self.is_stopped() && !self.is_time_up() {
            let left = self
                .deadline
                .map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            self.resumed.wait_for(&mut paused, left);
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn is_killed(&self) -> bool {
        self.kill.load(Ordering::Relaxed)
    }

    pub(super) fn is_time_up(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(super) fn add_entry(&self, worker: usize, entry: Arc<Entry>) {
        self.tell(self.recorder.keep_entry(&self.target, &entry.calls));
        let corpus = {
            let mut corpus = self.corpus.lock();
            corpus.push(entry.clone());
            corpus.len()
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        self.last_news.fetch_max(now, Ordering::Relaxed);
        self.events.push(worker, Happening::CoverageIncreased { entry, corpus });
    }

    /// When a sequence showed something new last.
    pub fn last_news(&self) -> Option<SystemTime> {
        let millis = self.last_news.load(Ordering::Relaxed);
        (millis > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
    }

    pub fn corpus(&self) -> Vec<Arc<Entry>> {
        self.corpus.lock().clone()
    }

    pub fn corpus_size(&self) -> usize {
        self.corpus.lock().len()
    }

    /// Some sequences of the corpus, in the order in which they were found, and how many there are in all.
    pub fn corpus_page(&self, offset: usize, limit: usize) -> (Vec<Arc<Entry>>, usize) {
        let corpus = self.corpus.lock();
        let page = corpus.iter().skip(offset).take(limit).cloned().collect();
        (page, corpus.len())
    }

    /// Keeps the smallest sequence for each failure, whichever worker was quicker. It is on disk before anybody can see
    /// it, so that what was announced survives a kill.
    ///
    /// `gas` is what its calls used together.
    pub(super) fn add_failure(&self, new: Failure, gas: u64) {
        let key = (new.test, new.site);
        let kept = smaller(self.failures.lock().get(&key), &new);
        self.tell(self.recorder.keep_failure(&self.target, &kept));
        {
            let mut failures = self.failures.lock();
            // Another worker may have been here meanwhile.
            let kept = smaller(failures.get(&key), &new);
            failures.insert(key, kept);
        }
        let Failure { worker, test, is_shrunk, calls, .. } = new;
        self.events
            .push(worker, Happening::TestFailed { test, calls: calls.into(), gas, is_shrunk });
    }

    pub fn failures(&self) -> Vec<Failure> {
        self.failures.lock().values().cloned().collect()
    }

    /// Keeps the larger number, of equal ones the smaller sequence; on disk first, as failures.
    pub(super) fn add_best(&self, new: Best) {
        let is_better = |best: &BTreeMap<usize, Best>| {
            best.get(&new.test).is_none_or(|old| {
                new.value > old.value
                    || new.value == old.value
                        && is_smaller((!new.is_shrunk, &new.calls), (!old.is_shrunk, &old.calls))
            })
        };
        if !is_better(&self.best.lock()) {
            return;
        }
        self.tell(self.recorder.keep_best(&self.target, &new));
        let mut best = self.best.lock();
        // Another worker may have been here meanwhile.
        if is_better(&best) {
            best.insert(new.test, new);
        }
    }

    pub fn best(&self) -> Vec<Best> {
        self.best.lock().values().cloned().collect()
    }

    /// Notes that something could not be kept; the first time says enough.
    fn tell(&self, kept: Result<(), String>) {
        if let Err(trouble) = kept {
            self.trouble.lock().get_or_insert(trouble);
        }
    }

    /// A contract used a cheat code that there is not: whatever its tests say would be no finding.
    pub(super) fn refuse(&self, cheat: String) {
        self.unsupported.lock().get_or_insert(cheat);
        self.kill();
    }

    /// The cheat code that made the campaign end.
    pub fn unsupported(&self) -> Option<String> {
        self.unsupported.lock().clone()
    }

    /// What could not be kept.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    pub(super) fn show(
        &self,
        worker: usize,
        calls: u64,
        gas: u64,
        functions: &[Statistics],
        probe: &Probe,
    ) {
        let window = &self.windows[worker];
        *window.hits.lock() = Arc::new(Hits::of(probe));
        *window.functions.lock() = Arc::new(functions.to_vec());
        self.count(worker, calls, gas);
    }

    pub(super) fn count(&self, worker: usize, calls: u64, gas: u64) {
        self.windows[worker].calls.store(calls, Ordering::Relaxed);
        self.windows[worker].gas.store(gas, Ordering::Relaxed);
    }

    /// What ran while the system was deployed, and what each worker showed last.
    pub fn hits(&self) -> Vec<Arc<Hits>> {
        let shown = self.windows.iter().map(|window| window.hits.lock().clone());
        [self.target.hits.clone()].into_iter().chain(shown).collect()
    }

    /// Of all workers together, in the order of the target's functions.
    pub fn statistics(&self) -> Vec<Statistics> {
        let mut sum = vec![Statistics::default(); self.target.functions.len()];
        for window in &self.windows {
            for (sum, more) in sum.iter_mut().zip(window.functions.lock().iter()) {
                *sum = sum.plus(*more);
            }
        }
        sum
    }

    /// Calls of all workers together.
    pub fn calls(&self) -> u64 {
        self.windows.iter().map(|window| window.calls.load(Ordering::Relaxed)).sum()
    }

    /// Calls of each worker.
    pub fn calls_by_worker(&self) -> Vec<u64> {
        self.windows.iter().map(|window| window.calls.load(Ordering::Relaxed)).collect()
    }

    /// Gas of all workers together.
    pub fn gas(&self) -> u64 {
        self.windows.iter().map(|window| window.gas.load(Ordering::Relaxed)).sum()
    }
}

/// See [`Shared::stay`].
pub(super) struct Stay<'a> {
    shared: &'a Shared,
    worker: usize,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let Self { shared, worker } = *self;
        // One that crashed must not hold up the others, and could not say that it ended.
        shared.exchange.leave(worker);
        if std::thread::panicking() {
            let reason = Ended::Crashed.to_string();
            shared.events.push(worker, Happening::WorkerStopped { reason });
        }
        if shared.present.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.samples.close();
        }
    }
}

/// The smallest of what is known of a failure and what was found now.
fn smaller(known: Option<&Failure>, new: &Failure) -> Failure {
    let mut kept = known.unwrap_or(new).clone();
    if is_smaller((!new.is_shrunk, &new.calls), (!kept.is_shrunk, &kept.calls)) {
        kept.calls.clone_from(&new.calls);
        kept.is_shrunk = new.is_shrunk;
    }
    kept.worker = kept.worker.min(new.worker);
    if !new.is_shrunk && is_smaller((false, &new.found), (false, &kept.found)) {
        kept.found.clone_from(&new.found);
    }
    kept
}

/// Shrunk before not shrunk, short before long; then any order that is always the same.
fn is_smaller(new: (bool, &[Call]), old: (bool, &[Call])) -> bool {
    (new.0, new.1.len(), new.1) < (old.0, old.1.len(), old.1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::chain::{Codes, Setup, State};

    fn target() -> Target {
        let setup = Setup { timestamp: 1, block: 1, code_size: 1 << 20, cheats: false, ffi: false };
        Target {
            build: Arc::default(),
            codes: Arc::new(Codes::default()),
            state: State::new(&setup),
            hits: Arc::default(),
            contracts: Vec::new(),
            functions: Vec::new(),
            callable: Vec::new(),
            tests: Vec::new(),
            units: HashSet::new(),
            open: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn one_that_crashes_has_ended_and_says_so() {
        let shared = Shared::new(Arc::new(target()), Arc::default(), 2, Vec::new(), Box::new(()));
        drop(shared.stay(0));
        assert!(!shared.has_ended() && shared.takes_commands());
        let crash = || {
            let _stay = shared.stay(1);
            panic!("as a worker does that has a defect");
        };
        assert!(catch_unwind(AssertUnwindSafe(crash)).is_err());
        assert!(shared.has_ended() && !shared.takes_commands());
        let [event] = &shared.events.last(2)[..] else { panic!("one has crashed") };
        assert!(
            matches!(&event.what, Happening::WorkerStopped { reason } if reason.contains("crashed"))
        );
    }
}

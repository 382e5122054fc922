//! State shared by all workers and by the observers that steer them.
//!
//! Workers write here between sequences and at the end of rounds. Readers hold a lock only while they copy.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use alloy_primitives::I256;
use parking_lot::{Condvar, Mutex};

use super::checker::FailureSite;
use super::commands::{CampaignCommand, CommandSchedule};
use super::events::{CampaignEventKind, CampaignEventLog};
use super::exchange::WorkerExchange;
use super::pool::CorpusEntry;
use super::sample::{FunctionSample, SampleRegistry};
use super::statistics::{CampaignStatistics, FunctionStatistics};
use crate::call::SequenceCall;
use crate::chain::{CoverageHits, ExecutionProbe, NotRunReason, RemoteError};
use crate::config::CampaignSettings;
use crate::target::{FunctionId, FuzzTarget};

/// Reason that a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerEndReason {
    CallLimitReached,
    TimeLimitReached,
    AllTestsFailed,
    /// Every test failed or cannot be run, and at least one cannot.
    NothingLeftToTest,
    /// A test failed, and the settings say to stop then.
    FirstTestFailed,
    /// The state of a fork could not be fetched.
    ForkUnavailable,
    Stopped,
    Crashed,
}

impl fmt::Display for WorkerEndReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            WorkerEndReason::CallLimitReached => "the call limit was reached",
            WorkerEndReason::TimeLimitReached => "the time limit was reached",
            WorkerEndReason::AllTestsFailed => "every test failed",
            WorkerEndReason::NothingLeftToTest => {
                "no call is left that could change the result of a test"
            }
            WorkerEndReason::FirstTestFailed => "a test failed, and it stops at the first failure",
            WorkerEndReason::ForkUnavailable => "the state of the fork could not be fetched",
            WorkerEndReason::Stopped => "it was stopped",
            WorkerEndReason::Crashed => "it crashed, which is a bug in the fuzzer",
        })
    }
}

/// A failed test with its sequence.
#[derive(Clone, Debug)]
pub struct TestFailure {
    pub test: usize,
    pub site: FailureSite,
    /// Lowest id of the workers that found it.
    pub worker: usize,
    /// The sequence as it was found.
    pub found: Vec<SequenceCall>,
    /// The smallest sequence so far.
    pub calls: Vec<SequenceCall>,
    pub is_shrunk: bool,
}

/// The largest number that an optimization test returned.
#[derive(Clone, Debug)]
pub struct BestValue {
    pub test: usize,
    pub value: I256,
    pub calls: Vec<SequenceCall>,
    pub is_shrunk: bool,
}

/// Stores results as soon as they are found.
///
/// An error is reported by [`CampaignState::recorder_error`]; it does not end the campaign.
pub trait CampaignRecorder: Send + Sync {
    fn record_entry(&self, target: &FuzzTarget, calls: &[SequenceCall]) -> Result<(), String>;
    fn record_failure(&self, target: &FuzzTarget, failure: &TestFailure) -> Result<(), String>;
    fn record_best(&self, target: &FuzzTarget, best: &BestValue) -> Result<(), String>;
}

/// Discards all results.
impl CampaignRecorder for () {
    fn record_entry(&self, _: &FuzzTarget, _: &[SequenceCall]) -> Result<(), String> {
        Ok(())
    }

    fn record_failure(&self, _: &FuzzTarget, _: &TestFailure) -> Result<(), String> {
        Ok(())
    }

    fn record_best(&self, _: &FuzzTarget, _: &BestValue) -> Result<(), String> {
        Ok(())
    }
}

/// Whether the campaign is paused, and how many workers have noticed.
#[derive(Default)]
struct PauseState {
    is_paused: bool,
    waiting_workers: usize,
}

/// Progress that one worker has published.
#[derive(Debug, Default)]
struct WorkerProgress {
    calls: AtomicU64,
    gas: AtomicU64,
    hits: Mutex<Arc<CoverageHits>>,
    statistics: Mutex<Arc<CampaignStatistics>>,
}

/// State of a running campaign; see the module documentation.
pub struct CampaignState {
    pub target: Arc<FuzzTarget>,
    pub settings: Arc<CampaignSettings>,
    pub events: CampaignEventLog,
    pub(super) exchange: WorkerExchange,
    pub(super) commands: CommandSchedule,
    pub(super) samples: Arc<SampleRegistry>,
    /// Number of workers that have not ended.
    running_workers: AtomicUsize,
    /// Time of the last corpus entry, in milliseconds of Unix time; 0 before the first.
    last_coverage_millis: AtomicU64,
    progress: Vec<WorkerProgress>,
    corpus: Mutex<Vec<Arc<CorpusEntry>>>,
    failures: Mutex<BTreeMap<(usize, FailureSite), TestFailure>>,
    best: Mutex<BTreeMap<usize, BestValue>>,
    recorder_error: Mutex<Option<String>>,
    /// Reason that the state of a fork could not be fetched.
    fork_failure: Mutex<Option<RemoteError>>,
    /// Tests that cannot be run.
    not_run: Mutex<BTreeMap<usize, NotRunReason>>,
    /// Workers that make no more calls, in the order in which they ended.
    ended: Mutex<Vec<WorkerEndReason>>,
    /// Reason for `stop`, set before it.
    stop_reason: Mutex<Option<WorkerEndReason>>,
    recorder: Box<dyn CampaignRecorder>,
    deadline: Option<Instant>,
    stop: AtomicBool,
    kill: AtomicBool,
    pause: Mutex<PauseState>,
    resumed: Condvar,
}

impl CampaignState {
    pub(super) fn new(
        target: Arc<FuzzTarget>,
        settings: Arc<CampaignSettings>,
        workers: usize,
        commands: Vec<(u64, CampaignCommand)>,
        recorder: Box<dyn CampaignRecorder>,
    ) -> Self {
        let tests = target.tests.iter().enumerate();
        let not_run = tests.filter_map(|(test, it)| Some((test, it.not_run.clone()?))).collect();
        Self {
            deadline: settings.timeout.map(|timeout| Instant::now() + timeout),
            samples: Arc::new(SampleRegistry::new(&target)),
            target,
            settings,
            events: CampaignEventLog::default(),
            exchange: WorkerExchange::new(workers),
            commands: CommandSchedule::new(workers, commands),
            running_workers: AtomicUsize::new(workers),
            last_coverage_millis: AtomicU64::new(0),
            progress: (0..workers).map(|_| WorkerProgress::default()).collect(),
            corpus: Mutex::default(),
            failures: Mutex::default(),
            best: Mutex::default(),
            recorder_error: Mutex::default(),
            fork_failure: Mutex::default(),
            not_run: Mutex::new(not_run),
            ended: Mutex::default(),
            stop_reason: Mutex::default(),
            recorder,
            stop: AtomicBool::new(false),
            kill: AtomicBool::new(false),
            pause: Mutex::default(),
            resumed: Condvar::new(),
        }
    }

    /// Returns the number of workers, including those that have ended.
    pub fn worker_count(&self) -> usize {
        self.progress.len()
    }

    /// Issues a command to all workers and returns the round in which it takes effect.
    ///
    /// `note` is called with the round before any worker can see the command. If it fails, the command is not issued.
    pub fn issue_command<E>(
        &self,
        command: CampaignCommand,
        note: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        self.commands.issue(command, note)
    }

    /// Returns the last commands, newest first, each with the round in which it takes effect.
    pub fn last_commands(&self, count: usize) -> Vec<(u64, CampaignCommand)> {
        self.commands.last_commands(count)
    }

    /// Returns the prioritized functions, including commands that take effect in the next round.
    pub fn priorities(&self) -> Vec<FunctionId> {
        self.commands.priorities()
    }

    /// Returns true if a command can still take effect, because some worker makes new calls.
    pub fn accepts_commands(&self) -> bool {
        !self.is_stopped() && !self.exchange.have_all_left()
    }

    /// Starts to sample the next calls of a function.
    pub fn start_sample(&self, function: FunctionId, calls: u64) -> FunctionSample {
        self.samples.start_sample(&self.target, function, calls)
    }

    /// Returns true once every worker has ended, for any reason.
    pub fn has_ended(&self) -> bool {
        self.running_workers.load(Ordering::Acquire) == 0
    }

    /// Returns a guard that marks the worker as ended when it is dropped.
    pub(super) fn guard_worker(&self, worker: usize) -> WorkerGuard<'_> {
        WorkerGuard { shared: self, worker }
    }

    /// Returns the current round of each worker.
    pub fn rounds(&self) -> Vec<u64> {
        self.commands.rounds()
    }

    /// Stops making new calls. Shrinking is completed.
    pub fn stop(&self) {
        self.stop_because(WorkerEndReason::Stopped);
    }

    /// Stops making new calls, for this reason unless there is one already.
    pub(super) fn stop_because(&self, reason: WorkerEndReason) {
        self.stop_reason.lock().get_or_insert(reason);
        self.stop.store(true, Ordering::Release);
        self.resume();
    }

    /// Ends the campaign because the state of a fork could not be fetched: no further result would mean anything.
    pub(super) fn fail_fork(&self, failure: &RemoteError) {
        self.fork_failure.lock().get_or_insert_with(|| failure.clone());
        self.stop_because(WorkerEndReason::ForkUnavailable);
    }

    /// Returns the reason that the state of a fork could not be fetched, which ended the campaign.
    pub fn fork_failure(&self) -> Option<RemoteError> {
        self.fork_failure.lock().clone()
    }

    /// Returns the reason that the campaign was stopped.
    pub(super) fn stop_reason(&self) -> WorkerEndReason {
        self.stop_reason.lock().unwrap_or(WorkerEndReason::Stopped)
    }

    /// Stops immediately, without completing shrinking.
    pub fn kill(&self) {
        self.kill.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub fn pause(&self) {
        self.pause.lock().is_paused = true;
    }

    pub fn resume(&self) {
        self.pause.lock().is_paused = false;
        self.resumed.notify_all();
    }

    pub fn is_paused(&self) -> bool {
        self.pause.lock().is_paused
    }

    /// Returns true if the campaign is paused and every worker that has not ended waits, so that nothing changes.
    pub fn is_quiescent(&self) -> bool {
        let pause = self.pause.lock();
        pause.is_paused && pause.waiting_workers == self.running_workers.load(Ordering::Acquire)
    }

    /// Waits while the campaign is paused, but not past its end.
    pub(super) fn wait_if_paused(&self) {
        let mut pause = self.pause.lock();
        pause.waiting_workers += 1;
        while pause.is_paused && !self.is_stopped() && !self.is_time_up() {
            let left = self
                .deadline
                .map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            self.resumed.wait_for(&mut pause, left);
        }
        pause.waiting_workers -= 1;
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(super) fn is_killed(&self) -> bool {
        self.kill.load(Ordering::Relaxed)
    }

    /// Returns the time at which the campaign ends.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) fn is_time_up(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(super) fn add_entry(&self, worker: usize, entry: Arc<CorpusEntry>) {
        self.note_recorder_result(self.recorder.record_entry(&self.target, &entry.calls));
        let corpus = {
            let mut corpus = self.corpus.lock();
            corpus.push(entry.clone());
            corpus.len()
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        self.last_coverage_millis.fetch_max(now, Ordering::Relaxed);
        self.events.push(worker, CampaignEventKind::CoverageIncreased { entry, corpus });
    }

    /// Returns the time at which a sequence last reached new branches.
    pub fn last_coverage_time(&self) -> Option<SystemTime> {
        let millis = self.last_coverage_millis.load(Ordering::Relaxed);
        (millis > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
    }

    pub fn corpus(&self) -> Vec<Arc<CorpusEntry>> {
        self.corpus.lock().clone()
    }

    /// Returns the number of sequences in the corpus.
    pub fn corpus_sequences(&self) -> usize {
        self.corpus.lock().len()
    }

    /// Returns the number of transactions in the corpus: the calls of all sequences.
    pub fn corpus_transactions(&self) -> usize {
        self.corpus.lock().iter().map(|entry| entry.calls.len()).sum()
    }

    /// Returns a page of the corpus, in order of discovery, and the total number of sequences.
    pub fn corpus_page(&self, offset: usize, limit: usize) -> (Vec<Arc<CorpusEntry>>, usize) {
        let corpus = self.corpus.lock();
        let page = corpus.iter().skip(offset).take(limit).cloned().collect();
        (page, corpus.len())
    }

    /// Keeps the smallest sequence of each failure, regardless of which worker reported first. It is recorded before it
    /// becomes visible, so that an announced failure survives a kill.
    ///
    /// `gas` is the total gas of the calls.
    pub(super) fn add_failure(&self, new: TestFailure, gas: u64) {
        let key = (new.test, new.site);
        let kept = merge_failures(self.failures.lock().get(&key), &new);
        self.note_recorder_result(self.recorder.record_failure(&self.target, &kept));
        {
            let mut failures = self.failures.lock();
            // Another worker may have added one meanwhile.
            let kept = merge_failures(failures.get(&key), &new);
            failures.insert(key, kept);
        }
        let TestFailure { worker, test, is_shrunk, calls, .. } = new;
        self.events.push(
            worker,
            CampaignEventKind::TestFailed { test, calls: calls.into(), gas, is_shrunk },
        );
    }

    pub fn failures(&self) -> Vec<TestFailure> {
        self.failures.lock().values().cloned().collect()
    }

    /// Keeps the larger number, or the smaller sequence for equal numbers. It is recorded first, like failures.
    pub(super) fn add_best(&self, new: BestValue) {
        let is_better = |best: &BTreeMap<usize, BestValue>| {
            best.get(&new.test).is_none_or(|old| {
                new.value > old.value
                    || new.value == old.value
                        && is_smaller((!new.is_shrunk, &new.calls), (!old.is_shrunk, &old.calls))
            })
        };
        if !is_better(&self.best.lock()) {
            return;
        }
        self.note_recorder_result(self.recorder.record_best(&self.target, &new));
        let mut best = self.best.lock();
        // Another worker may have added one meanwhile.
        if is_better(&best) {
            best.insert(new.test, new);
        }
    }

    pub fn best(&self) -> Vec<BestValue> {
        self.best.lock().values().cloned().collect()
    }

    /// Keeps the first error of the recorder.
    fn note_recorder_result(&self, recorded: Result<(), String>) {
        if let Err(error) = recorded {
            self.recorder_error.lock().get_or_insert(error);
        }
    }

    /// Marks a test as one that cannot be run. Of several reasons, keeps the first in a fixed order.
    pub(super) fn add_not_run(&self, test: usize, reason: NotRunReason) {
        let mut not_run = self.not_run.lock();
        if not_run.get(&test).is_none_or(|known| reason < *known) {
            not_run.insert(test, reason);
        }
    }

    /// Returns the reason that a test cannot be run.
    pub(super) fn not_run_reason(&self, test: usize) -> Option<NotRunReason> {
        self.not_run.lock().get(&test).cloned()
    }

    /// Records that a worker makes no more calls.
    pub(super) fn record_end(&self, reason: WorkerEndReason) {
        self.ended.lock().push(reason);
    }

    /// Returns the reason that the campaign ended, or `None` while a worker makes calls.
    ///
    /// The last worker to end decides, unless one crashed or saw that no test is left: each worker has its own share of
    /// the calls, and learns of the failures that others found only some rounds later.
    pub fn end_reason(&self) -> Option<WorkerEndReason> {
        let ended = self.ended.lock();
        let last = *ended.last().filter(|_| ended.len() >= self.worker_count())?;
        let decisive = [
            WorkerEndReason::Crashed,
            WorkerEndReason::ForkUnavailable,
            WorkerEndReason::AllTestsFailed,
            WorkerEndReason::NothingLeftToTest,
        ];
        Some(decisive.into_iter().find(|reason| ended.contains(reason)).unwrap_or(last))
    }

    /// Returns the first error of the recorder, if any.
    pub fn recorder_error(&self) -> Option<String> {
        self.recorder_error.lock().clone()
    }

    pub(super) fn publish_progress(
        &self,
        worker: usize,
        calls: u64,
        gas: u64,
        statistics: &CampaignStatistics,
        probe: &ExecutionProbe,
    ) {
        let progress = &self.progress[worker];
        *progress.hits.lock() = Arc::new(CoverageHits::from_probe(probe));
        *progress.statistics.lock() = Arc::new(statistics.clone());
        self.publish_counters(worker, calls, gas);
    }

    pub(super) fn publish_counters(&self, worker: usize, calls: u64, gas: u64) {
        self.progress[worker].calls.store(calls, Ordering::Relaxed);
        self.progress[worker].gas.store(gas, Ordering::Relaxed);
    }

    /// Returns the code that ran during deployment, and the last published hits of each worker.
    pub fn hits(&self) -> Vec<Arc<CoverageHits>> {
        let published = self.progress.iter().map(|worker| worker.hits.lock().clone());
        [self.target.hits.clone()].into_iter().chain(published).collect()
    }

    /// Returns the combined statistics of all workers, in the order of the target's functions.
    pub fn statistics(&self) -> Vec<FunctionStatistics> {
        self.campaign_statistics().functions
    }

    /// Returns the combined statistics of all workers.
    pub(super) fn campaign_statistics(&self) -> CampaignStatistics {
        let (functions, tests) = (self.target.functions.len(), self.target.tests.len());
        let mut sum = CampaignStatistics::new(functions, tests);
        for worker in &self.progress {
            let published = Arc::clone(&worker.statistics.lock());
            sum.add(&published);
        }
        sum
    }

    /// Returns the total calls of all workers.
    pub fn calls(&self) -> u64 {
        self.progress.iter().map(|worker| worker.calls.load(Ordering::Relaxed)).sum()
    }

    /// Returns the calls of each worker.
    pub fn calls_by_worker(&self) -> Vec<u64> {
        self.progress.iter().map(|worker| worker.calls.load(Ordering::Relaxed)).collect()
    }

    /// Returns the total gas of all workers.
    pub fn gas(&self) -> u64 {
        self.progress.iter().map(|worker| worker.gas.load(Ordering::Relaxed)).sum()
    }
}

/// Marks a worker as ended on drop; see [`CampaignState::guard_worker`].
pub(super) struct WorkerGuard<'a> {
    shared: &'a CampaignState,
    worker: usize,
}

impl Drop for WorkerGuard<'_> {
    fn drop(&mut self) {
        let Self { shared, worker } = *self;
        // A worker that panicked must not block the others, and has not announced its end.
        shared.exchange.leave(worker);
        if std::thread::panicking() {
            shared.record_end(WorkerEndReason::Crashed);
            let reason = WorkerEndReason::Crashed.to_string();
            shared.events.push(worker, CampaignEventKind::WorkerStopped { reason });
        }
        if shared.running_workers.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.samples.close();
        }
    }
}

/// Returns the failure that combines the smallest sequences of the known and the new one.
fn merge_failures(known: Option<&TestFailure>, new: &TestFailure) -> TestFailure {
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

/// Returns true if the new sequence is smaller: shrunk before not shrunk, short before long, then a fixed order.
fn is_smaller(new: (bool, &[SequenceCall]), old: (bool, &[SequenceCall])) -> bool {
    (new.0, new.1.len(), new.1) < (old.0, old.1.len(), old.1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::chain::{ChainSetup, ChainState, CompiledCodeIndex};

    fn target() -> FuzzTarget {
        let setup = ChainSetup {
            timestamp: 1,
            block: 1,
            chain_id: 1,
            code_size: 1 << 20,
            cheats: false,
            ffi: false,
            ffi_path: None,
        };
        FuzzTarget {
            build: Arc::default(),
            codes: Arc::new(CompiledCodeIndex::default()),
            state: ChainState::new(&setup),
            hits: Arc::default(),
            contracts: Vec::new(),
            functions: Vec::new(),
            callable: Vec::new(),
            tests: Vec::new(),
            units: HashSet::new(),
            reverts_fail: Default::default(),
            foundry: Default::default(),
            fixtures: Default::default(),
            seeds: Vec::new(),
            settings: Default::default(),
            fallbacks: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn panicking_worker_counts_as_ended_and_is_reported() {
        let shared =
            CampaignState::new(Arc::new(target()), Arc::default(), 2, Vec::new(), Box::new(()));
        drop(shared.guard_worker(0));
        assert!(!shared.has_ended() && shared.accepts_commands());
        let crash = || {
            let _guard = shared.guard_worker(1);
            panic!("simulated bug in a worker");
        };
        assert!(catch_unwind(AssertUnwindSafe(crash)).is_err());
        assert!(shared.has_ended() && !shared.accepts_commands());
        let [event] = &shared.events.last_events(2)[..] else { panic!("expected one event") };
        assert!(
            matches!(&event.kind, CampaignEventKind::WorkerStopped { reason } if reason.contains("crashed"))
        );
    }
}

//! A fuzzing campaign: workers call a target until its tests fail or a limit is reached.
//!
//! [`Campaign::start`] starts it; [`CampaignState`] is the interface to observe and steer it while it runs. Each worker is
//! a thread with its own EVM (`worker`). It starts sequences from scratch or from those that increased coverage (`pool`),
//! searches for inputs that flip comparisons (`examine`), checks the tests (`checker`) and shrinks failures (`shrink`).
//! It applies commands of the user (`steer`). Workers exchange discoveries in a reproducible way (`exchange`).

mod checker;
mod commands;
pub mod coverage_report;
mod events;
mod examine;
mod exchange;
mod execution;
mod hill_climb;
mod input_slots;
mod pool;
mod revert_log;
mod sample;
mod shrink;
mod solve;
mod state;
mod statistics;
mod steer;
mod thread_priority;
mod verdict;
mod worker;

pub use crate::chain::CoverageHits;
pub use crate::chain::NotRunReason;
pub use checker::FailureSite;
pub use commands::{CampaignCommand, SequenceInjection};
pub use events::{
    CampaignEvent, CampaignEventKind, CampaignEventLog, EVENT_CAPACITY, EventBatch,
    EventSubscription,
};
pub use pool::CorpusEntry;
pub use revert_log::{RevertCause, RevertReason};
pub use sample::{FunctionSample, MAX_SAMPLED_CALLS, SampleSummary, SampledOutput};
pub use state::{BestValue, CampaignRecorder, CampaignState, TestFailure, WorkerEndReason};
pub use statistics::FunctionStatistics;
pub use verdict::{TestExercise, TestVerdict};

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::call::SequenceCall;
use crate::config::CampaignSettings;
use crate::generate::ValueDictionary;
use crate::target::FuzzTarget;
use worker::FuzzWorker;

/// Options of a new campaign.
pub struct CampaignOptions {
    pub target: Arc<FuzzTarget>,
    /// The caller sets the seed; without one it is 0.
    pub settings: Arc<CampaignSettings>,
    pub workers: usize,
    pub dictionary: ValueDictionary,
    /// Sequences that are replayed before new ones are generated.
    pub corpus: Vec<Vec<SequenceCall>>,
    /// Commands of an earlier campaign to repeat, each with its round.
    pub commands: Vec<(u64, CampaignCommand)>,
    /// Stores the results as they are found.
    pub recorder: Box<dyn CampaignRecorder>,
}

/// A running campaign.
pub struct Campaign {
    shared: Arc<CampaignState>,
    workers: Vec<JoinHandle<WorkerEndReason>>,
}

/// Result of a finished campaign.
#[derive(Clone, Debug)]
pub struct CampaignSummary {
    pub failures: Vec<TestFailure>,
    pub best: Vec<BestValue>,
    /// Verdict on each test, in the order of the target's tests.
    pub verdicts: Vec<TestVerdict>,
    /// End reason of each worker.
    pub ended: Vec<WorkerEndReason>,
    pub calls: u64,
}

/// What the workers of a campaign do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerMode {
    Fuzz,
    /// They start paused.
    FuzzLater,
    Replay,
}

impl Campaign {
    /// Starts the workers.
    ///
    /// Returns an error if a thread cannot be spawned.
    pub fn start(start: CampaignOptions) -> io::Result<Self> {
        Self::spawn_workers(start, WorkerMode::Fuzz)
    }

    /// Starts the workers paused: they make no calls before [`CampaignState::resume`].
    pub fn start_paused(start: CampaignOptions) -> io::Result<Self> {
        Self::spawn_workers(start, WorkerMode::FuzzLater)
    }

    /// Starts workers that run the sequences of the corpus once, in full, and generate no calls.
    ///
    /// Limits of forge on sequences do not apply, and every sequence is a complete one for `afterInvariant()`.
    pub fn start_replay(start: CampaignOptions) -> io::Result<Self> {
        Self::spawn_workers(start, WorkerMode::Replay)
    }

    fn spawn_workers(start: CampaignOptions, mode: WorkerMode) -> io::Result<Self> {
        let count = start.workers.max(1);
        let shared = Arc::new(CampaignState::new(
            start.target.clone(),
            start.settings.clone(),
            count,
            start.commands,
            start.recorder,
        ));
        if mode == WorkerMode::FuzzLater {
            shared.pause();
        }
        let corpus = Arc::new(start.corpus);
        let mut workers = Vec::new();
        for id in 0..count {
            let (shared, corpus) = (shared.clone(), corpus.clone());
            let (target, settings) = (start.target.clone(), start.settings.clone());
            let dictionary = start.dictionary.clone();
            let run = move || {
                let _guard = shared.guard_worker(id);
                thread_priority::lower_thread_priority();
                let mut worker = FuzzWorker::new(id, &target, &settings, dictionary, &shared);
                worker.run(&corpus, mode == WorkerMode::Replay)
            };
            let thread = std::thread::Builder::new().name(format!("fuzz-{id}"));
            workers.push(thread.spawn(run)?);
        }
        Ok(Self { shared, workers })
    }

    /// Returns the state through which the campaign is observed and steered.
    pub fn shared(&self) -> &Arc<CampaignState> {
        &self.shared
    }

    /// Returns true once every worker has ended.
    pub fn is_finished(&self) -> bool {
        self.workers.iter().all(JoinHandle::is_finished)
    }

    /// Waits for all workers to end and returns the results.
    pub fn wait(self) -> CampaignSummary {
        let join =
            |worker: JoinHandle<WorkerEndReason>| worker.join().unwrap_or(WorkerEndReason::Crashed);
        let ended = self.workers.into_iter().map(join).collect();
        let shared = self.shared;
        CampaignSummary {
            failures: shared.failures(),
            best: shared.best(),
            verdicts: shared.verdicts(),
            ended,
            calls: shared.calls(),
        }
    }
}

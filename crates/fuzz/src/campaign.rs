//! A campaign: workers that call a target until its tests fail or a limit is reached.
//!
//! [`Campaign::start`] starts it; [`Shared`] is what others see of it and steer it by while it runs. Each worker is a
//! thread with a machine of its own (`worker`). It starts sequences from nothing or from those that showed something new
//! (`pool`), looks into calls to lead them elsewhere (`examine`), checks the tests (`check`) and makes failures small
//! (`shrink`). It does what somebody tells it to (`steer`). Workers share what they find in a way that makes runs
//! repeatable (`exchange`).

mod check;
mod climb;
mod commands;
mod courtesy;
pub mod cover;
mod events;
mod examine;
mod exchange;
mod pool;
mod sample;
mod shared;
mod shrink;
mod slots;
mod solve;
mod statistics;
mod steer;
mod step;
mod worker;

pub use crate::chain::Hits;
pub use check::Site;
pub use commands::{Command, Injection};
pub use events::{CAPACITY, Event, Events, Happening, News, Subscription};
pub use pool::Entry;
pub use sample::{MAX_SAMPLED, Output, Sample, Sampled};
pub use shared::{Best, Ended, Failure, Recorder, Shared};
pub use statistics::Statistics;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::call::Call;
use crate::config::Settings;
use crate::generate::Dictionary;
use crate::target::Target;
use worker::Worker;

/// What a campaign needs to begin.
pub struct Start {
    pub target: Arc<Target>,
    /// Whoever starts a campaign chooses the seed: without one it is 0.
    pub settings: Arc<Settings>,
    pub workers: usize,
    pub dictionary: Dictionary,
    /// Sequences that are run before new ones are made.
    pub corpus: Vec<Vec<Call>>,
    /// Commands of an earlier campaign that are given again, by round.
    pub commands: Vec<(u64, Command)>,
    /// Who keeps what is found.
    pub recorder: Box<dyn Recorder>,
}

/// A campaign that runs.
pub struct Campaign {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<Ended>>,
}

/// What a campaign leaves.
#[derive(Clone, Debug)]
pub struct Summary {
    pub failures: Vec<Failure>,
    pub best: Vec<Best>,
    pub ended: Vec<Ended>,
    pub calls: u64,
}

impl Campaign {
    /// Starts the workers.
    pub fn start(start: Start) -> io::Result<Self> {
        Self::begin(start, false)
    }

    /// Starts the workers, which make no call before somebody says [`Shared::resume`].
    pub fn start_paused(start: Start) -> io::Result<Self> {
        Self::begin(start, true)
    }

    fn begin(start: Start, is_paused: bool) -> io::Result<Self> {
        let count = start.workers.max(1);
        let shared = Arc::new(Shared::new(
            start.target.clone(),
            start.settings.clone(),
            count,
            start.commands,
            start.recorder,
        ));
        if is_paused {
            shared.pause();
        }
        let corpus = Arc::new(start.corpus);
        let mut workers = Vec::new();
        for id in 0..count {
            let (shared, corpus) = (shared.clone(), corpus.clone());
            let (target, settings) = (start.target.clone(), start.settings.clone());
            let dictionary = start.dictionary.clone();
            let run = move || {
                let _stay = shared.stay(id);
                courtesy::step_back();
                let mut worker = Worker::new(id, &target, &settings, dictionary, &shared);
                worker.run(&corpus)
            };
            let thread = std::thread::Builder::new().name(format!("fuzz-{id}"));
            workers.push(thread.spawn(run)?);
        }
        Ok(Self { shared, workers })
    }

    /// What can be seen of the campaign, and steered, while it runs.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// True once every worker has ended.
    pub fn is_finished(&self) -> bool {
        self.workers.iter().all(JoinHandle::is_finished)
    }

    /// Waits for its end.
    pub fn wait(self) -> Summary {
        let join = |worker: JoinHandle<Ended>| worker.join().unwrap_or(Ended::Crashed);
        let ended = self.workers.into_iter().map(join).collect();
        let shared = self.shared;
        Summary { failures: shared.failures(), best: shared.best(), ended, calls: shared.calls() }
    }
}

//! One thread of a campaign: chooses what to run, and ends rounds. Running it is `step`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::{I256, U256};
use fastrand::Rng;

use super::check::{Checker, Site};
use super::events::Happening;
use super::exchange::Finds;
use super::pool::{Entry, Pool};
use super::shared::{Ended, Shared};
use super::shrink::Shrinker;
use super::statistics::Statistics;
use crate::call::Call;
use crate::chain::{Limits, Machine, Mark, Reads};
use crate::config::Settings;
use crate::generate::{Choice, Dictionary, Generator};
use crate::target::{Target, assertion_topics};

/// What a round costs, in gas and [`super::step::CALL_WORK`]: some tens of milliseconds.
const ROUND_WORK: u64 = 100_000_000;

/// What one stretch of work may cost before it is broken off: about half a second where gas buys the least work, so that
/// commands and pauses, which take effect between stretches, do so within a few seconds.
const STRETCH_WORK: u64 = 5 * ROUND_WORK;

/// How often a worker shows one of its calls.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// How long one call may take, whatever gas it has.
const CALL_TIME: Duration = Duration::from_secs(10);

/// How many ways to go on are tried from one point.
const TAILS: usize = 6;

/// The longest way to go on from a point in the middle of a known sequence.
const MAX_TAIL: usize = 24;

/// Calls without anything new after which chance is not relied on; less where there are few calls in all.
const STAGNATION: u64 = 20_000;

/// The share of its calls after which a worker relies on chance no longer, however few they are.
const STAGNATION_SHARE: u64 = 4;

/// See the module. Fields that serve one purpose are grouped; the groups are plain fields, so that a step costs no more.
pub(super) struct Worker<'a> {
    pub(super) id: usize,
    pub(super) target: &'a Target,
    pub(super) settings: &'a Settings,
    pub(super) shared: &'a Shared,
    pub(super) machine: Machine,
    pub(super) inputs: WorkerInputs,
    pub(super) sequence: WorkerSequence,
    pub(super) corpus: WorkerCorpus,
    pub(super) tests: WorkerTests,
    pub(super) progress: WorkerProgress,
}

/// The sources of new calls.
pub(super) struct WorkerInputs {
    pub(super) rng: Rng,
    pub(super) dictionary: Dictionary,
    pub(super) choice: Choice,
}

/// The calls that led to the machine's present state.
pub(super) struct WorkerSequence {
    /// The state before the first call.
    pub(super) genesis: Mark,
    pub(super) calls: Vec<Call>,
    /// The gas that each of the calls used.
    pub(super) gas: Vec<u64>,
    /// The last words that calls returned.
    pub(super) returned: Vec<U256>,
    /// True while the worker runs calls that a command gave.
    pub(super) is_injecting: bool,
    /// The encoded call; kept to reuse its memory.
    pub(super) buffer: Vec<u8>,
}

/// Sequences that reached new code.
#[derive(Default)]
pub(super) struct WorkerCorpus {
    pub(super) pool: Pool,
    /// Sequences whose last call has not been examined.
    pub(super) unexamined: VecDeque<Arc<Entry>>,
    /// The effort spent on each comparison.
    pub(super) efforts: HashMap<(u32, u32), u32>,
    /// New sequences and failures, for the other workers.
    pub(super) finds: Finds,
}

/// The tests, and the failures that are shrunk.
pub(super) struct WorkerTests {
    pub(super) checker: Checker,
    /// Tests that are calls of their own and still hold.
    pub(super) open: Vec<usize>,
    pub(super) failed: HashSet<(usize, Site)>,
    /// The state that each test has read so far.
    pub(super) reads: Vec<Reads>,
    /// The largest numbers that tests returned.
    pub(super) best: HashMap<usize, (I256, Vec<Call>)>,
    pub(super) shrinks: VecDeque<Shrink>,
}

/// Counters of the worker, and the limits that they are compared with.
pub(super) struct WorkerProgress {
    pub(super) calls: u64,
    pub(super) total_gas: u64,
    /// The number of calls when something new was shown last.
    pub(super) last_news: u64,
    pub(super) statistics: Vec<Statistics>,
    /// The most calls that the worker makes.
    limit: u64,
    pub(super) work: u64,
    /// The work that was done when this stretch began.
    stretch: u64,
    round: u64,
    /// The time at which one of its calls was shown last.
    shown: Instant,
    /// True if the next call is to be shown.
    pub(super) shows_call: bool,
}

/// A failure that is made smaller.
pub(super) struct Shrink {
    pub test: usize,
    pub site: Site,
    /// The number that must still be reached.
    pub goal: Option<I256>,
    pub shrinker: Shrinker,
    /// What the calls used together, where that is told.
    pub gas: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        id: usize,
        target: &'a Target,
        settings: &'a Settings,
        dictionary: Dictionary,
        shared: &'a Shared,
    ) -> Self {
        let limits = |gas| Limits { gas, time: CALL_TIME };
        let mut machine = Machine::new(
            target.state.clone(),
            target.codes.clone(),
            assertion_topics(&target.build),
            limits(settings.call_gas),
        );
        let genesis = machine.mark();
        let workers = shared.workers() as u64;
        let extra = u64::from((id as u64) < settings.test_limit % workers);
        let sender = settings.property_sender;
        Self {
            id,
            target,
            settings,
            shared,
            machine,
            inputs: WorkerInputs {
                rng: Rng::with_seed(0),
                dictionary,
                choice: Choice::new(target),
            },
            sequence: WorkerSequence {
                genesis,
                calls: Vec::new(),
                gas: Vec::new(),
                returned: Vec::new(),
                is_injecting: false,
                buffer: Vec::new(),
            },
            corpus: WorkerCorpus::default(),
            tests: WorkerTests {
                checker: Checker { sender, limits: limits(settings.property_gas), spent: 0 },
                open: (0..target.tests.len())
                    .filter(|test| target.tests[*test].kind.is_own_call())
                    .collect(),
                failed: HashSet::new(),
                reads: vec![Reads::default(); target.tests.len()],
                best: HashMap::new(),
                shrinks: VecDeque::new(),
            },
            progress: WorkerProgress {
                calls: 0,
                total_gas: 0,
                last_news: 0,
                statistics: vec![Statistics::default(); target.functions.len()],
                limit: settings.test_limit / workers + extra,
                work: 0,
                stretch: 0,
                round: 0,
                shown: Instant::now(),
                shows_call: false,
            },
        }
    }

    /// Runs until the limit is reached, nothing is left to be found, or somebody says stop.
    pub(super) fn run(&mut self, corpus: &[Vec<Call>]) -> Ended {
        self.shared.events.push(self.id, Happening::WorkerStarted);
        let ended = self.run_rounds(corpus);
        self.shared.exchange.leave(self.id);
        self.shrink_best();
        while !self.shared.is_killed() && self.shrink_some() {}
        self.publish();
        self.shared.events.push(self.id, Happening::WorkerStopped { reason: ended.to_string() });
        ended
    }

    fn run_rounds(&mut self, corpus: &[Vec<Call>]) -> Ended {
        self.shared.wait_if_paused();
        // First of all, since commands begin with the round: only who asked the tests knows what they look at.
        self.restart();
        self.check_open();
        self.begin_round();
        self.restart();
        self.replay_corpus(corpus);
        loop {
            self.shared.wait_if_paused();
            if let Some(ended) = self.is_over() {
                return ended;
            }
            self.episode();
            self.shrink_some();
            if self.progress.work >= ROUND_WORK && !self.end_round() {
                return Ended::Stopped;
            }
        }
    }

    /// Runs the sequences that were kept, each in one worker. What fails is told at once.
    fn replay_corpus(&mut self, corpus: &[Vec<Call>]) {
        for calls in corpus.iter().skip(self.id).step_by(self.shared.workers()) {
            self.restart();
            for call in calls {
                if self.shared.is_stopped() || self.shared.is_time_up() {
                    return;
                }
                self.step(call.clone());
            }
            self.shared.count(self.id, self.progress.calls, self.progress.total_gas);
            self.shared.wait_if_paused();
            // Nobody who steers waits for the end of a large corpus.
            if self.progress.work >= ROUND_WORK && !self.end_round() {
                return;
            }
        }
    }

    fn is_over(&self) -> Option<Ended> {
        if let Some(cheat) = self.machine.unsupported() {
            self.shared.refuse(cheat);
            return Some(Ended::Unsupported);
        }
        if self.shared.is_stopped() {
            return Some(Ended::Stopped);
        }
        if self.progress.calls >= self.progress.limit {
            return Some(Ended::LimitReached);
        }
        if self.shared.is_time_up() {
            return Some(Ended::TimeIsUp);
        }
        let tests = &self.target.tests;
        let all_failed = self.tests.open.is_empty()
            && !tests.is_empty()
            && tests.iter().enumerate().all(|(test, it)| {
                it.kind.is_own_call()
                    || it.kind.is_unit() && self.tests.failed.contains(&(test, (0, 0)))
            });
        all_failed.then_some(Ended::AllFailed)
    }

    /// Exchanges finds with the other workers; false if the campaign was stopped meanwhile.
    fn end_round(&mut self) -> bool {
        self.progress.work -= ROUND_WORK.min(self.progress.work);
        let finds = std::mem::take(&mut self.corpus.finds);
        let shared = self.shared;
        let Some(others) = shared.exchange.swap(self.id, finds, || shared.is_stopped()) else {
            return false;
        };
        for finds in others {
            for entry in &finds.entries {
                if self.machine.probe_mut().see(&entry.edges) {
                    self.corpus.pool.add(entry.clone());
                }
            }
            for &(test, site) in &finds.failures {
                self.close(test, site);
            }
        }
        self.publish();
        self.show_some();
        self.progress.round += 1;
        self.begin_round();
        true
    }

    fn begin_round(&mut self) {
        let seed = self.settings.seed.unwrap_or_default();
        self.inputs.rng = Rng::with_seed(mix(seed, self.id, self.progress.round));
        for command in self.shared.commands.begin(self.id, self.progress.round) {
            self.obey(&command);
        }
    }

    /// Shows the next call, if it is time to.
    fn show_some(&mut self) {
        if self.progress.shown.elapsed() >= SHOWN_EVERY {
            self.progress.shown = Instant::now();
            self.progress.shows_call = true;
        }
    }

    /// Begins something that may take a while.
    pub(super) fn begin_stretch(&mut self) {
        self.progress.stretch = self.progress.work;
    }

    /// True if what was begun last has cost enough for now.
    pub(super) fn is_overdue(&self) -> bool {
        self.progress.work.saturating_sub(self.progress.stretch) >= STRETCH_WORK
    }

    /// Tells those who watch how far it is.
    fn publish(&mut self) {
        let probe = self.machine.probe();
        self.shared.show(
            self.id,
            self.progress.calls,
            self.progress.total_gas,
            &self.progress.statistics,
            probe,
        );
    }

    pub(super) fn generator(&mut self) -> Generator<'_> {
        Generator {
            rng: &mut self.inputs.rng,
            dictionary: &self.inputs.dictionary,
            settings: self.settings,
            target: self.target,
            choice: &self.inputs.choice,
            returned: &self.sequence.returned,
        }
    }

    /// A stretch of work after which other things can be looked at.
    fn episode(&mut self) {
        self.begin_stretch();
        if let Some(entry) = self.corpus.unexamined.pop_front() {
            let last = entry.calls.len().saturating_sub(1);
            return self.examine(&entry.calls, last);
        }
        if self.corpus.pool.has_best() && self.inputs.rng.u8(0..3) == 0 {
            return self.climb();
        }
        let fresh = self.corpus.pool.is_empty() || self.inputs.rng.u8(0..8) == 0;
        let entry = if fresh {
            None
        } else {
            self.corpus.pool.pick(&mut self.inputs.rng, self.machine.probe())
        };
        match entry {
            Some(entry) if self.inputs.rng.u8(0..6) < self.zeal() => {
                let at = self.inputs.rng.usize(0..entry.calls.len().max(1));
                let mut calls = entry.calls.clone();
                if self.inputs.rng.bool() && at < calls.len() {
                    self.generator().mutate(&mut calls[at]);
                }
                if calls.get(at).is_some_and(|call| self.is_wanted(call)) {
                    self.examine(&calls, at);
                }
            }
            Some(entry) if self.is_steered() => self.go_on_steered(&entry),
            Some(entry) => self.go_on_from(&entry),
            None => {
                self.restart();
                self.wander(self.settings.sequence_length.get());
            }
        }
    }

    /// How many of six episodes look into a call: more when nothing new has come up for a while by chance.
    fn zeal(&self) -> u8 {
        if self.is_stuck() { 4 } else { 1 }
    }

    /// True if chance has shown nothing new for a while.
    pub(super) fn is_stuck(&self) -> bool {
        let patience = STAGNATION.min(self.progress.limit / STAGNATION_SHARE);
        self.progress.calls.saturating_sub(self.progress.last_news) > patience
    }

    /// Makes new calls until the sequence is long enough.
    fn wander(&mut self, length: usize) {
        let mut left = length.saturating_sub(self.sequence.calls.len());
        while left > 0 && !self.is_at_limit() {
            left -= 1;
            let call = self.generator().call();
            self.step(call);
        }
    }

    pub(super) fn is_at_limit(&self) -> bool {
        self.progress.calls >= self.progress.limit || self.shared.is_stopped() || self.is_overdue()
    }

    /// Goes to a point of a known sequence, and from there several ways.
    fn go_on_from(&mut self, entry: &Entry) {
        // At its end, before its last call, or anywhere.
        let length = entry.calls.len();
        let cut = match self.inputs.rng.u8(0..4) {
            0 | 1 => length,
            2 => length.saturating_sub(1),
            _ => self.inputs.rng.usize(0..=length),
        };
        self.restart();
        self.replay(&entry.calls[..cut]);
        self.begin_stretch();
        let mark = self.machine.mark();
        for _ in 0..TAILS {
            if self.is_at_limit() {
                return;
            }
            self.tail(entry, cut);
            self.machine.rewind(&mark);
            self.truncate(cut);
        }
    }

    /// One way to go on.
    fn tail(&mut self, entry: &Entry, cut: usize) {
        let max = self.settings.sequence_length.get();
        let rest = &entry.calls[cut..];
        match self.inputs.rng.u8(0..8) {
            // The next call, changed, then the rest as it was.
            0..=3 if !rest.is_empty() => {
                let mut first = rest[0].clone();
                self.generator().mutate(&mut first);
                self.step(first);
                if self.inputs.rng.bool() {
                    self.run_known(&rest[1..], max);
                }
            }
            // A new call in between.
            4 if !rest.is_empty() => {
                let call = self.generator().call();
                self.step(call);
                self.run_known(rest, max);
            }
            // What another sequence ended with.
            5 => {
                if let Some(other) =
                    self.corpus.pool.pick(&mut self.inputs.rng, self.machine.probe())
                {
                    let from = self.inputs.rng.usize(0..=other.calls.len());
                    self.run_known(&other.calls[from..], max);
                }
            }
            // The last call once more, changed, or several times as it is: what it adds up to may matter.
            6 if cut > 0 => {
                let mut again = entry.calls[cut - 1].clone();
                if self.inputs.rng.bool() {
                    self.generator().mutate(&mut again);
                    self.step(again);
                } else {
                    let times = 1 + self.inputs.rng.usize(0..8);
                    self.run_known(&vec![again; times], max);
                }
                self.wander_a_little(max);
            }
            _ => self.wander_a_little(max),
        }
    }

    pub(super) fn wander_a_little(&mut self, max: usize) {
        let more = 1 + self.inputs.rng.usize(0..MAX_TAIL);
        self.wander((self.sequence.calls.len() + more).min(max));
    }

    fn run_known(&mut self, calls: &[Call], max: usize) {
        for call in calls {
            if self.sequence.calls.len() >= max || self.is_at_limit() {
                return;
            }
            self.step(call.clone());
        }
    }
}

/// The beginning of a worker's random numbers in a round.
fn mix(seed: u64, worker: usize, round: u64) -> u64 {
    // The finaliser of MurmurHash3, so that neighbours have nothing in common.
    let mut mixed = seed ^ (worker as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= round.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    for factor in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        mixed ^= mixed >> 33;
        mixed = mixed.wrapping_mul(factor);
    }
    mixed ^ (mixed >> 33)
}

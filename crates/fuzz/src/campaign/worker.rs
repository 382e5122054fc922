//! One thread of a campaign: chooses the work and ends rounds. Executing calls is in `execution`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::{I256, U256};
use fastrand::Rng;

use super::checker::{FailureSite, TestChecker};
use super::events::CampaignEventKind;
use super::exchange::RoundDiscoveries;
use super::pool::{CorpusEntry, SequencePool};
use super::shrink::SequenceShrinker;
use super::state::{CampaignState, WorkerEndReason};
use super::statistics::CampaignStatistics;
use crate::call::{CallPayload, SequenceCall};
use crate::chain::{CallLimits, ChainCheckpoint, EvmMachine, ReadSet};
use crate::config::CampaignSettings;
use crate::generate::{CallGenerator, CreatedContract, FunctionChoice, ValueDictionary};
use crate::target::{FunctionId, FuzzTarget, TestKind, assertion_topics};

/// Work of one round, in gas and [`super::execution::CALL_WORK`]: some tens of milliseconds.
const ROUND_WORK: u64 = 100_000_000;

/// Maximum work of one stretch before it is interrupted: about half a second for code that is slowest per gas. Commands and
/// pauses take effect between stretches, and therefore within a few seconds.
const STRETCH_WORK: u64 = 5 * ROUND_WORK;

/// Maximum accounts and slots that are kept in memory beyond those of the initial state: some hundred megabytes.
const MAX_LOADED: usize = 1 << 20;

/// Rounds between two checks of that limit.
const LOAD_CHECK_ROUNDS: u64 = 16;

/// Interval at which a worker publishes one of its calls.
const SHOW_INTERVAL: Duration = Duration::from_secs(1);

/// Time limit of one call, independent of its gas.
const CALL_TIME_LIMIT: Duration = Duration::from_secs(10);

/// Calls of unit tests before each new sequence.
const UNIT_CALLS: usize = 64;

/// Number of continuations tried from one point of a sequence.
const TAILS_PER_POINT: usize = 6;

/// Maximum calls of one continuation.
const MAX_TAIL_CALLS: usize = 24;

/// Calls without progress after which the worker is stuck; fewer if its call limit is small.
const STAGNATION: u64 = 20_000;

/// Divisor of the call limit that caps [`STAGNATION`].
const STAGNATION_SHARE: u64 = 4;

/// A worker of a campaign; see the module documentation.
///
/// The groups are plain fields, so that a step costs no more than with single fields.
pub(super) struct FuzzWorker<'a> {
    pub(super) id: usize,
    pub(super) target: &'a FuzzTarget,
    pub(super) settings: &'a CampaignSettings,
    pub(super) shared: &'a CampaignState,
    pub(super) machine: EvmMachine,
    pub(super) inputs: WorkerInputs,
    pub(super) sequence: WorkerSequence,
    pub(super) corpus: WorkerCorpus,
    pub(super) tests: WorkerTests,
    pub(super) progress: WorkerProgress,
}

/// The sources of new calls.
pub(super) struct WorkerInputs {
    pub(super) rng: Rng,
    pub(super) dictionary: ValueDictionary,
    pub(super) choice: FunctionChoice,
}

/// The calls that led to the current state of the machine.
pub(super) struct WorkerSequence {
    /// The state before the first call.
    pub(super) genesis: ChainCheckpoint,
    pub(super) calls: Vec<SequenceCall>,
    /// Gas of each call.
    pub(super) gas: Vec<u64>,
    /// Words returned by the last calls.
    pub(super) returned: Vec<U256>,
    /// Contracts that the calls created and that are called too.
    pub(super) created: Vec<CreatedContract>,
    /// The sequences are replayed as they are: limits of forge do not apply.
    pub(super) is_replay: bool,
    /// The next call is the last one of a replayed sequence.
    pub(super) is_final: bool,
    /// The current calls belong to an injected sequence.
    pub(super) is_injecting: bool,
    /// The encoded call; kept to reuse its memory.
    pub(super) buffer: Vec<u8>,
}

/// Sequences that reached new code.
#[derive(Default)]
pub(super) struct WorkerCorpus {
    pub(super) pool: SequencePool,
    /// Sequences whose last call has not been examined.
    pub(super) unexamined: VecDeque<Arc<CorpusEntry>>,
    /// Number of tries spent on each comparison, by code and offset.
    pub(super) efforts: HashMap<(u32, u32), u32>,
    /// New sequences and failures, for the other workers.
    pub(super) discoveries: RoundDiscoveries,
}

/// The tests, and the failures that are being shrunk.
pub(super) struct WorkerTests {
    pub(super) checker: TestChecker,
    /// Tests that are checked by a call of their own and still hold.
    pub(super) open: Vec<usize>,
    pub(super) failed: HashSet<(usize, FailureSite)>,
    /// Tests that cannot be run.
    pub(super) not_run: HashSet<usize>,
    /// Functions of which a call could not be run.
    pub(super) unrunnable_targets: HashSet<FunctionId>,
    /// State that each test has read so far.
    pub(super) reads: Vec<ReadSet>,
    /// Largest number that each optimization test returned, with its sequence.
    pub(super) best: HashMap<usize, (I256, Vec<SequenceCall>)>,
    pub(super) shrink_queue: VecDeque<ShrinkTask>,
}

/// Counters of the worker, and the limits that they are compared with.
pub(super) struct WorkerProgress {
    pub(super) calls: u64,
    pub(super) total_gas: u64,
    /// Calls of new sequences of full length.
    fresh_calls: u64,
    /// Value of `calls` at the last progress.
    pub(super) last_progress: u64,
    pub(super) statistics: CampaignStatistics,
    /// Accounts and slots of the initial state.
    initial_load: usize,
    /// Maximum number of calls of this worker.
    limit: u64,
    pub(super) work: u64,
    /// Value of `work` when the current stretch began.
    stretch_start: u64,
    round: u64,
    /// Time at which a call was last published.
    last_shown: Instant,
    /// The next call is published.
    pub(super) shows_call: bool,
}

/// A failure that is being shrunk.
pub(super) struct ShrinkTask {
    pub test: usize,
    pub site: FailureSite,
    /// For optimization tests, the number that must still be reached.
    pub goal: Option<I256>,
    pub shrinker: SequenceShrinker,
    /// Total gas of the calls; 0 for optimization tests.
    pub gas: u64,
}

impl<'a> FuzzWorker<'a> {
    pub(super) fn new(
        id: usize,
        target: &'a FuzzTarget,
        settings: &'a CampaignSettings,
        dictionary: ValueDictionary,
        shared: &'a CampaignState,
    ) -> Self {
        let limits = |gas| CallLimits { gas, time: CALL_TIME_LIMIT };
        let mut machine = EvmMachine::new(
            target.state.clone(),
            target.codes.clone(),
            assertion_topics(&target.build),
            limits(settings.call_gas),
        );
        machine.set_end(shared.deadline());
        let genesis = machine.checkpoint();
        let initial_load = machine.count_loaded();
        let workers = shared.worker_count() as u64;
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
                choice: FunctionChoice::new(target),
            },
            sequence: WorkerSequence {
                genesis,
                calls: Vec::new(),
                gas: Vec::new(),
                returned: Vec::new(),
                created: Vec::new(),
                is_replay: false,
                is_final: false,
                is_injecting: false,
                buffer: Vec::new(),
            },
            corpus: WorkerCorpus::default(),
            tests: WorkerTests {
                checker: TestChecker { sender, limits: limits(settings.property_gas), spent: 0 },
                open: (0..target.tests.len())
                    .filter(|test| target.tests[*test].not_run.is_none())
                    .filter(|test| target.tests[*test].kind.is_checked_by_call())
                    .collect(),
                failed: HashSet::new(),
                unrunnable_targets: HashSet::new(),
                not_run: (0..target.tests.len())
                    .filter(|test| target.tests[*test].not_run.is_some())
                    .collect(),
                reads: vec![ReadSet::default(); target.tests.len()],
                best: HashMap::new(),
                shrink_queue: VecDeque::new(),
            },
            progress: WorkerProgress {
                calls: 0,
                total_gas: 0,
                fresh_calls: 0,
                last_progress: 0,
                statistics: CampaignStatistics::new(target.functions.len(), target.tests.len()),
                initial_load,
                limit: settings.test_limit / workers + extra,
                work: 0,
                stretch_start: 0,
                round: 0,
                last_shown: Instant::now(),
                shows_call: false,
            },
        }
    }

    /// Runs until a limit is reached, all tests have failed or the campaign is stopped. Returns the reason.
    pub(super) fn run(&mut self, corpus: &[Vec<SequenceCall>], is_replay: bool) -> WorkerEndReason {
        self.shared.events.push(self.id, CampaignEventKind::WorkerStarted);
        self.sequence.is_replay = is_replay;
        let ended = if is_replay { self.run_replay(corpus) } else { self.run_rounds(corpus) };
        self.shared.record_end(ended);
        self.shared.exchange.leave(self.id);
        self.queue_best_sequences();
        self.machine.lift_end_of_calls();
        while !self.shared.is_killed() && self.run_shrink_tries() {}
        self.machine.save_forks();
        self.publish_progress();
        self.shared
            .events
            .push(self.id, CampaignEventKind::WorkerStopped { reason: ended.to_string() });
        ended
    }

    fn run_rounds(&mut self, corpus: &[Vec<SequenceCall>]) -> WorkerEndReason {
        self.shared.wait_if_paused();
        // Must precede the first round, whose commands run calls: the state that a test reads is known only after it ran.
        self.restart_sequence();
        self.check_open_tests();
        self.begin_round();
        self.restart_sequence();
        self.run_seeds();
        self.run_unit_tests_first();
        self.replay_corpus(corpus);
        loop {
            self.shared.wait_if_paused();
            if let Some(ended) = self.find_end_reason() {
                return ended;
            }
            self.run_episode();
            self.run_shrink_tries();
            if self.progress.work >= ROUND_WORK && !self.end_round() {
                return self.shared.stop_reason();
            }
        }
    }

    /// Runs the sequences in full, and nothing else.
    fn run_replay(&mut self, corpus: &[Vec<SequenceCall>]) -> WorkerEndReason {
        self.restart_sequence();
        self.check_open_tests();
        for calls in corpus.iter().skip(self.id).step_by(self.shared.worker_count()) {
            self.restart_sequence();
            for (index, call) in calls.iter().enumerate() {
                if self.shared.is_stopped() {
                    return self.shared.stop_reason();
                }
                self.sequence.is_final = index + 1 == calls.len();
                self.run_call(call.clone());
            }
        }
        match self.shared.is_stopped() {
            true => self.shared.stop_reason(),
            false => WorkerEndReason::CallLimitReached,
        }
    }

    /// Runs the sequences of the given corpus, each in one worker. Failures are reported immediately.
    fn replay_corpus(&mut self, corpus: &[Vec<SequenceCall>]) {
        for calls in corpus.iter().skip(self.id).step_by(self.shared.worker_count()) {
            self.restart_sequence();
            for call in calls {
                if self.shared.is_stopped() || self.shared.is_time_up() {
                    return;
                }
                self.run_call(call.clone());
            }
            self.shared.publish_counters(self.id, self.progress.calls, self.progress.total_gas);
            self.shared.wait_if_paused();
            // Ends rounds here too, so that commands do not wait for the end of a large corpus.
            if self.progress.work >= ROUND_WORK && !self.end_round() {
                return;
            }
        }
    }

    /// Returns the reason to end, if there is one.
    fn find_end_reason(&self) -> Option<WorkerEndReason> {
        if self.shared.is_stopped() {
            return Some(self.shared.stop_reason());
        }
        if let Some(ended) = self.find_end_of_tests() {
            return Some(ended);
        }
        if self.progress.calls >= self.progress.limit {
            return Some(WorkerEndReason::CallLimitReached);
        }
        self.shared.is_time_up().then_some(WorkerEndReason::TimeLimitReached)
    }

    /// Returns the reason to end if calls can tell nothing more about any test.
    fn find_end_of_tests(&self) -> Option<WorkerEndReason> {
        let has_failed = |test: usize| {
            let kind = &self.target.tests[test].kind;
            kind.is_checked_by_call() && !self.tests.open.contains(&test)
                || kind.is_unit() && self.tests.failed.contains(&(test, (0, 0)))
        };
        // A unit test without arguments, and one with a table of them, was called before the first episode.
        let is_done = |test: usize| {
            self.tests.not_run.contains(&test)
                || matches!(self.target.tests[test].kind, TestKind::Unit { function }
                    if self.target.is_single_unit(function) || self.target.is_table_test(function))
        };
        let tests = 0..self.target.tests.len();
        let is_over = !self.target.tests.is_empty()
            && tests.clone().all(|test| has_failed(test) || is_done(test));
        let known = |test: usize| self.tests.failed.iter().any(|(failed, _)| *failed == test);
        is_over.then_some(match tests.clone().all(known) {
            true => WorkerEndReason::AllTestsFailed,
            false => WorkerEndReason::NothingLeftToTest,
        })
    }

    /// Exchanges discoveries with the other workers. Returns false if the campaign was stopped meanwhile.
    fn end_round(&mut self) -> bool {
        self.progress.work -= ROUND_WORK.min(self.progress.work);
        let discoveries = std::mem::take(&mut self.corpus.discoveries);
        let shared = self.shared;
        let Some(others) =
            shared.exchange.exchange_round(self.id, discoveries, || shared.is_stopped())
        else {
            return false;
        };
        for discoveries in others {
            for entry in &discoveries.entries {
                if self.machine.probe_mut().merge_edges(&entry.edges) {
                    self.corpus.pool.add(entry.clone());
                }
            }
            for &(test, site) in &discoveries.failures {
                self.close_test(test, site);
            }
            for &test in &discoveries.not_run {
                self.close_unrunnable_test(test);
            }
        }
        self.publish_progress();
        self.request_shown_call();
        self.progress.round += 1;
        if self.progress.round.is_multiple_of(LOAD_CHECK_ROUNDS) {
            self.forget_loaded_state();
        }
        self.begin_round();
        true
    }

    /// Starts over from the initial state if too much was loaded.
    fn forget_loaded_state(&mut self) {
        if self.machine.count_loaded() <= MAX_LOADED.max(2 * self.progress.initial_load) {
            return;
        }
        self.machine.restore(self.target.state.clone());
        self.sequence.genesis = self.machine.checkpoint();
        self.truncate_sequence(0);
    }

    fn begin_round(&mut self) {
        let seed = self.settings.seed.unwrap_or_default();
        self.inputs.rng = Rng::with_seed(mix_seed(seed, self.id, self.progress.round));
        for command in self.shared.commands.begin_round(self.id, self.progress.round) {
            self.apply_command(&command);
        }
    }

    /// Requests that the next call is published, if the interval has elapsed.
    fn request_shown_call(&mut self) {
        if self.progress.last_shown.elapsed() >= SHOW_INTERVAL {
            self.progress.last_shown = Instant::now();
            self.progress.shows_call = true;
        }
    }

    /// Begins a stretch of work that may take a while.
    pub(super) fn begin_stretch(&mut self) {
        self.progress.stretch_start = self.progress.work;
    }

    /// Returns true if the current stretch has used up its work.
    pub(super) fn is_overdue(&self) -> bool {
        self.progress.work.saturating_sub(self.progress.stretch_start) >= STRETCH_WORK
    }

    /// Publishes counters, statistics and coverage for observers.
    fn publish_progress(&mut self) {
        let probe = self.machine.probe();
        self.shared.publish_progress(
            self.id,
            self.progress.calls,
            self.progress.total_gas,
            &self.progress.statistics,
            probe,
        );
    }

    pub(super) fn new_generator(&mut self) -> CallGenerator<'_> {
        CallGenerator {
            rng: &mut self.inputs.rng,
            dictionary: &self.inputs.dictionary,
            settings: self.settings,
            target: self.target,
            choice: &self.inputs.choice,
            returned: &self.sequence.returned,
            created: &self.sequence.created,
        }
    }

    /// Runs one unit of work: examines a call, optimizes, extends a known sequence or starts a new one.
    fn run_episode(&mut self) {
        self.begin_stretch();
        if self.is_fresh_sequence_due() {
            return self.run_fresh_sequence();
        }
        if let Some(entry) = self.corpus.unexamined.pop_front() {
            let last = entry.calls.len().saturating_sub(1);
            return self.examine_call(&entry.calls, last);
        }
        if self.corpus.pool.has_best() && self.inputs.rng.u8(0..3) == 0 {
            return self.climb_best_sequence();
        }
        let fresh = self.corpus.pool.is_empty() || self.inputs.rng.u8(0..8) == 0;
        let entry = if fresh {
            None
        } else {
            self.corpus.pool.pick_entry(&mut self.inputs.rng, self.machine.probe())
        };
        match entry {
            Some(entry) if self.inputs.rng.u8(0..6) < self.examine_weight() => {
                let at = self.inputs.rng.usize(0..entry.calls.len().max(1));
                let mut calls = entry.calls.clone();
                if self.inputs.rng.bool() && at < calls.len() {
                    self.new_generator().mutate_call(&mut calls[at]);
                }
                if calls.get(at).is_some_and(|call| self.should_vary_call(call)) {
                    self.examine_call(&calls, at);
                }
            }
            Some(entry) if self.has_priorities() => self.extend_entry_steered(&entry),
            Some(entry) => self.extend_entry(&entry),
            None => self.run_fresh_sequence(),
        }
    }

    /// Returns true if new sequences of full length got less than half of the calls. Foundry's limits are small, and some
    /// invariants only break after many calls, none of which reaches new code.
    fn is_fresh_sequence_due(&self) -> bool {
        self.target.is_foundry()
            && !self.tests.open.is_empty()
            && !self.inputs.choice.is_empty()
            && self.progress.fresh_calls < self.progress.calls / 2
    }

    fn run_fresh_sequence(&mut self) {
        let before = self.progress.calls;
        self.restart_sequence();
        self.run_unit_tests();
        let length = self.settings.sequence_length.get();
        self.run_new_calls(length);
        // `afterInvariant()` needs a complete sequence, however much work its calls are.
        while self.has_open_after_invariant()
            && self.sequence.calls.len() < length
            && self.is_overdue()
        {
            self.begin_stretch();
            self.shared.wait_if_paused();
            if self.is_at_limit() {
                break;
            }
            self.run_new_calls(length);
        }
        self.progress.fresh_calls += self.progress.calls - before;
    }

    /// Returns how many of six episodes examine a call: more when the worker is stuck.
    fn examine_weight(&self) -> u8 {
        if self.is_stuck() { 4 } else { 1 }
    }

    /// Returns true if there has been no progress for a while.
    pub(super) fn is_stuck(&self) -> bool {
        let patience = STAGNATION.min(self.progress.limit / STAGNATION_SHARE);
        self.progress.calls.saturating_sub(self.progress.last_progress) > patience
    }

    /// Runs generated calls of unit tests, if they are called apart from sequences.
    fn run_unit_tests(&mut self) {
        for _ in 0..UNIT_CALLS {
            let Some(call) = self.new_generator().generate_unit_call() else { return };
            if self.is_at_limit() {
                return;
            }
            self.run_call(call);
        }
    }

    /// Calls each unit test: one without arguments once, one with arguments in half of its runs. The other half is spent
    /// where calls reach new code.
    fn run_unit_tests_first(&mut self) {
        let target = self.target;
        let workers = self.shared.worker_count() as u64;
        for (number, (&unit, &runs)) in (0_u64..).zip(&target.foundry.unit_runs) {
            let is_first = number % workers == self.id as u64;
            let share = match target.is_single_unit(unit) {
                true => u64::from(is_first),
                false => (runs / 2).div_ceil(workers),
            };
            for _ in 0..share {
                self.begin_stretch();
                if self.is_at_limit() || self.shared.is_time_up() || self.has_failed_unit(unit) {
                    break;
                }
                let call = self.new_generator().generate_call_to(unit);
                self.run_call(call);
                self.shared.publish_counters(self.id, self.progress.calls, self.progress.total_gas);
                if self.progress.work >= ROUND_WORK && !self.end_round() {
                    return;
                }
            }
        }
    }

    /// Returns true if a unit test failed or cannot be run.
    fn has_failed_unit(&self, unit: FunctionId) -> bool {
        let kind = TestKind::Unit { function: unit };
        let test = self.target.tests.iter().position(|test| test.kind == kind);
        test.is_some_and(|test| {
            self.tests.failed.contains(&(test, (0, 0))) || self.tests.not_run.contains(&test)
        })
    }

    /// Runs the calls that the target wants to be made first.
    fn run_seeds(&mut self) {
        let target = self.target;
        for call in target.seeds.iter().skip(self.id).step_by(self.shared.worker_count()) {
            if self.shared.is_stopped() || self.shared.is_time_up() {
                return;
            }
            self.run_row(call);
        }
    }

    /// Runs a row of a table test, and counts it if it was not rejected.
    fn run_row(&mut self, call: &SequenceCall) {
        let Some(function) = call.function() else { return };
        let count = |worker: &Self| worker.progress.statistics.function(function);
        let before = count(self);
        self.run_call(call.clone());
        let after = count(self);
        let is_run = after.calls > before.calls && after.rejected == before.rejected;
        let kind = TestKind::Unit { function };
        let test = self.target.tests.iter().position(|test| test.kind == kind);
        if let Some(test) = test.filter(|_| is_run) {
            self.progress.statistics.tests[test].rows += 1;
        }
    }

    /// Runs generated calls until the sequence has this length.
    fn run_new_calls(&mut self, length: usize) {
        let mut left = length.saturating_sub(self.sequence.calls.len());
        while left > 0 && !self.is_at_limit() {
            left -= 1;
            self.run_generated_call();
        }
    }

    /// Generates a call and runs it.
    fn run_generated_call(&mut self) {
        let call = self.new_generator().generate_call();
        let statistics = &mut self.progress.statistics;
        match &call.payload {
            CallPayload::Function { function, .. } => {
                statistics.functions[function.0 as usize].generated += 1;
            }
            CallPayload::Data(_) => statistics.plain_calls.generated += 1,
            CallPayload::WaitOnly => {}
        }
        self.run_call(call);
    }

    pub(super) fn is_at_limit(&self) -> bool {
        self.progress.calls >= self.progress.limit
            || self.shared.is_stopped()
            || self.is_overdue()
            || self.shared.is_time_up()
    }

    fn has_open_after_invariant(&self) -> bool {
        self.tests.open.iter().any(|test| self.is_after_invariant(*test))
    }

    /// Replays a known sequence up to some point and tries several continuations.
    fn extend_entry(&mut self, entry: &CorpusEntry) {
        // Cut at the end, before the last call, or anywhere.
        let length = entry.calls.len();
        let cut = match self.inputs.rng.u8(0..4) {
            0 | 1 => length,
            2 => length.saturating_sub(1),
            _ => self.inputs.rng.usize(0..=length),
        };
        self.restart_sequence();
        self.replay_calls(&entry.calls[..cut]);
        self.begin_stretch();
        let mark = self.machine.checkpoint();
        for _ in 0..TAILS_PER_POINT {
            if self.is_at_limit() {
                return;
            }
            self.run_tail(entry, cut);
            self.machine.rewind(&mark);
            self.truncate_sequence(cut);
        }
    }

    /// Runs one continuation.
    fn run_tail(&mut self, entry: &CorpusEntry, cut: usize) {
        let max = self.settings.sequence_length.get();
        let rest = &entry.calls[cut..];
        match self.inputs.rng.u8(0..8) {
            // The next call mutated, then possibly the rest unchanged.
            0..=3 if !rest.is_empty() => {
                let mut first = rest[0].clone();
                self.new_generator().mutate_call(&mut first);
                self.run_call(first);
                if self.inputs.rng.bool() {
                    self.run_known_calls(&rest[1..], max);
                }
            }
            // A new call inserted before the rest.
            4 if !rest.is_empty() => {
                self.run_generated_call();
                self.run_known_calls(rest, max);
            }
            // The tail of another sequence.
            5 => {
                if let Some(other) =
                    self.corpus.pool.pick_entry(&mut self.inputs.rng, self.machine.probe())
                {
                    let from = self.inputs.rng.usize(0..=other.calls.len());
                    self.run_known_calls(&other.calls[from..], max);
                }
            }
            // The last call again, mutated once or repeated unchanged: effects may accumulate.
            6 if cut > 0 => {
                let mut again = entry.calls[cut - 1].clone();
                if self.inputs.rng.bool() {
                    self.new_generator().mutate_call(&mut again);
                    self.run_call(again);
                } else {
                    let times = 1 + self.inputs.rng.usize(0..8);
                    self.run_known_calls(&vec![again; times], max);
                }
                self.run_some_new_calls(max);
            }
            _ => self.run_some_new_calls(max),
        }
    }

    pub(super) fn run_some_new_calls(&mut self, max: usize) {
        let more = 1 + self.inputs.rng.usize(0..MAX_TAIL_CALLS);
        self.run_new_calls((self.sequence.calls.len() + more).min(max));
    }

    fn run_known_calls(&mut self, calls: &[SequenceCall], max: usize) {
        for call in calls {
            if self.sequence.calls.len() >= max || self.is_at_limit() {
                return;
            }
            self.run_call(call.clone());
        }
    }
}

/// Returns the random seed of a worker for a round.
fn mix_seed(seed: u64, worker: usize, round: u64) -> u64 {
    // The finalizer of MurmurHash3, so that seeds of neighboring workers and rounds are unrelated.
    let mut mixed = seed ^ (worker as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= round.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    for factor in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        mixed ^= mixed >> 33;
        mixed = mixed.wrapping_mul(factor);
    }
    mixed ^ (mixed >> 33)
}

//! Executes calls in a worker: keeps sequences that make progress, reports failed tests and shrinks them.

use std::sync::Arc;

use alloy_primitives::{I256, U256};

use super::checker::{self, FailureSite, TestEvaluation};
use super::events::CampaignEventKind;
use super::pool::CorpusEntry;
use super::shrink::SequenceShrinker;
use super::state::{BestValue, TestFailure, WorkerEndReason};
use super::statistics::CountedOutcome;
use super::worker::{FuzzWorker, ShrinkTask};
use crate::call::CallPayload;
use crate::call::{CallDelay, SequenceCall};
use crate::chain::{ChainCheckpoint, CodePart, NotRunReason, StateChange, TransactionOutcome};
use crate::generate::CreatedContract;
use crate::target::{FunctionId, TestKind};

/// Work of a call in addition to its gas.
pub(super) const CALL_WORK: u64 = 1_000;

/// Maximum queue length at which sequences that only came nearer to a branch are examined.
const MAX_NEAR_UNEXAMINED: usize = 2;

/// Maximum returned words that are kept.
const MAX_RETURNED: usize = 8;

/// Evaluations that cannot be run after which a test is no longer checked.
const MAX_UNRUNNABLE_EVALUATIONS: u64 = 64;

/// Shrink tries between two episodes.
const SHRINK_TRIES: usize = 8;

impl FuzzWorker<'_> {
    /// Rewinds the machine to the initial state and clears the sequence.
    pub(super) fn restart_sequence(&mut self) {
        self.machine.rewind(&self.sequence.genesis);
        self.truncate_sequence(0);
    }

    /// Shortens the sequence to `length` calls. The caller rewinds the machine.
    pub(super) fn truncate_sequence(&mut self, length: usize) {
        self.sequence.calls.truncate(length);
        self.sequence.gas.truncate(length);
        self.sequence.created.retain(|created| created.after <= length);
    }

    /// Runs known calls without checking each of them: they were checked when they were found.
    pub(super) fn replay_calls(&mut self, calls: &[SequenceCall]) {
        for call in calls {
            // It would leave its state to the calls that follow.
            if self.is_unit_test_call(call) {
                continue;
            }
            let outcome = self.execute_call(call);
            self.count_call(call, outcome.as_ref());
            self.note_created_contracts();
        }
        self.machine.probe_mut().clear_call();
        if !calls.is_empty() {
            // Another worker may have found the sequence, so the state that the tests read here is not known yet.
            self.check_open_tests();
        }
    }

    /// Runs a call and checks the tests. Returns true if it reached a new branch.
    pub(super) fn run_call(&mut self, mut call: SequenceCall) -> bool {
        self.adapt_to_foundry(&mut call);
        // Foundry's depth is a limit: what only a longer sequence breaks, forge does not break.
        let is_full = self.sequence.calls.len() >= self.settings.sequence_length.get();
        if is_full && self.target.is_foundry() && !self.sequence.is_replay {
            return false;
        }
        let is_unit = self.is_unit_test_call(&call);
        if is_unit {
            self.restart_sequence();
        }
        let before = self.machine.checkpoint();
        let outcome = self.execute_call(&call);
        self.count_call(&call, outcome.as_ref());
        self.note_created_contracts();
        if let Some(outcome) = &outcome {
            self.check_call(&call, outcome);
        }
        // Other tests are not evaluated on what a unit test left.
        if !is_unit {
            self.check_open_tests_since(&before);
        }
        // Must follow the tests, which also make progress by coming nearer to failing.
        let is_new = self.keep_if_new();
        if is_unit {
            self.restart_sequence();
        }
        is_new
    }

    /// Changes what forge does not vary: its calls carry no value, and unit tests have one sender.
    fn adapt_to_foundry(&self, call: &mut SequenceCall) {
        if !self.target.is_foundry() {
            return;
        }
        let is_unit = self.is_unit_test_call(call);
        if is_unit || self.settings.sender_balance.is_zero() {
            call.value = U256::ZERO;
        }
        if is_unit {
            call.from = self.settings.property_sender;
            call.gas_price = 0;
            call.delay = CallDelay::default();
        }
    }

    /// Adds contracts that the last call created to the values, and to the targets if they are called.
    fn note_created_contracts(&mut self) {
        for address in std::mem::take(&mut self.machine.probe_mut().created) {
            self.inputs.dictionary.add_address(address);
            if self.target.foundry.created.is_empty() {
                continue;
            }
            let code = self.machine.code(address);
            let Some(index) = self.target.codes.find_code(CodePart::Runtime, &code) else {
                continue;
            };
            let contract = self.target.codes.entries()[index].contract;
            if self.target.foundry.created.contains_key(&contract) {
                let after = self.sequence.calls.len();
                self.sequence.created.push(CreatedContract { address, contract, after });
            }
        }
    }

    /// Returns true if the sequence is longer than those that count for a test.
    fn is_too_long_for(&self, test: usize) -> bool {
        let depth = self.target.foundry.depths.get(&test);
        !self.sequence.is_replay && depth.is_some_and(|depth| self.sequence.calls.len() > *depth)
    }

    /// Returns true for unit tests, which run on the initial state and leave no state behind.
    fn is_unit_test_call(&self, call: &SequenceCall) -> bool {
        call.function().is_some_and(|function| self.target.is_unit_test(function))
    }

    /// Returns false for a call of a contract that the sequence no longer creates: it would succeed without running code.
    fn has_callee(&mut self, call: &SequenceCall) -> bool {
        let is_created =
            call.function().is_some_and(|id| self.target.function(id).address.is_zero());
        !is_created || !self.machine.code(call.to).is_empty()
    }

    /// Runs a call and adds it to the sequence. Returns `None` if only time passed.
    pub(super) fn execute_call(&mut self, call: &SequenceCall) -> Option<TransactionOutcome> {
        self.machine.advance_time(call.delay.seconds, call.delay.blocks);
        let has_callee = self.has_callee(call);
        let outcome = call
            .to_transaction(self.target, &mut self.sequence.buffer)
            .filter(|_| has_callee)
            .map(|transaction| self.machine.call(&transaction));
        self.check_fork();
        let gas = outcome.as_ref().map_or(0, |outcome| outcome.gas_used);
        self.sequence.calls.push(call.clone());
        self.sequence.gas.push(gas);
        if let Some(outcome) = &outcome {
            self.remember_returned_words(outcome);
        }
        self.progress.work += CALL_WORK + gas;
        outcome
    }

    /// Ends the campaign if the state of the fork could not be fetched. Returns false then: what the machine returned is
    /// not a result.
    pub(super) fn check_fork(&self) -> bool {
        let Some(failure) = self.machine.fork_failure() else { return true };
        self.shared.fail_fork(failure);
        false
    }

    /// Keeps the last words that calls returned. They may belong to a state that was rewound since, which is harmless.
    fn remember_returned_words(&mut self, outcome: &TransactionOutcome) {
        // Booleans are too common to be significant.
        let is_significant = |word: &U256| *word > U256::ONE;
        if !outcome.is_success() || outcome.output.len() < 32 {
            return;
        }
        let words = outcome.output.chunks_exact(32).map(U256::from_be_slice);
        for word in words.filter(is_significant).take(MAX_RETURNED) {
            if self.sequence.returned.len() == MAX_RETURNED {
                self.sequence.returned.remove(0);
            }
            self.sequence.returned.push(word);
        }
    }

    /// Counts a call of the campaign. Calls made for shrinking are not counted.
    fn count_call(&mut self, call: &SequenceCall, outcome: Option<&TransactionOutcome>) {
        if outcome.is_some_and(TransactionOutcome::is_cut_off) {
            return;
        }
        self.progress.calls += 1;
        let Some(outcome) = outcome.filter(|_| self.check_fork()) else { return };
        self.progress.total_gas += outcome.gas_used;
        self.count_outcome(call, outcome);
        if let Some(function) = call.function()
            && self.shared.samples.is_sampled(function)
        {
            self.shared.samples.record_call(function, self.target.function(function), outcome);
        }
        if self.progress.shows_call || self.sequence.is_injecting {
            self.publish_call(call, outcome);
        }
    }

    /// Counts the outcome of a call in the statistics of its function.
    fn count_outcome(&mut self, call: &SequenceCall, outcome: &TransactionOutcome) {
        let all = &mut self.progress.statistics;
        let (statistics, reverts) = match &call.payload {
            CallPayload::Function { function, .. } => {
                let index = function.0 as usize;
                (&mut all.functions[index], &mut all.reverts[index])
            }
            CallPayload::Data(_) => (&mut all.plain_calls, &mut all.plain_call_reverts),
            CallPayload::WaitOnly => return,
        };
        let counted = CountedOutcome::of(outcome);
        statistics.record_call(outcome.gas_used, counted);
        if counted != CountedOutcome::Success {
            reverts.record_outcome(outcome);
        }
    }

    /// Publishes a call as an event.
    fn publish_call(&mut self, call: &SequenceCall, outcome: &TransactionOutcome) {
        self.progress.shows_call = false;
        let happening = CampaignEventKind::TransactionExecuted {
            call: call.clone(),
            gas: outcome.gas_used,
            is_success: outcome.is_success(),
            is_injected: self.sequence.is_injecting,
        };
        self.shared.events.push(self.id, happening);
    }

    /// Keeps the sequence if it reached a new branch or came nearer to one. Returns true for a new branch.
    fn keep_if_new(&mut self) -> bool {
        let is_unknown = self.machine.fork_failure().is_some() || self.machine.is_cut_off();
        if !self.settings.coverage || is_unknown {
            self.machine.probe_mut().news.clear();
            return false;
        }
        let news = &mut self.machine.probe_mut().news;
        if news.is_empty() {
            return false;
        }
        let news = std::mem::take(news);
        let is_new = !news.edges.is_empty();
        let entry = Arc::new(CorpusEntry {
            calls: self.sequence.calls.clone(),
            gas: self.sequence.gas.clone(),
            edges: news.edges,
        });
        self.corpus.pool.keep_nearest(&news.nearer, &entry);
        if !is_new && self.corpus.unexamined.len() < MAX_NEAR_UNEXAMINED {
            self.corpus.unexamined.push_back(entry.clone());
        }
        if is_new {
            self.progress.last_progress = self.progress.calls;
            if let Some(function) = self.sequence.calls.last().and_then(SequenceCall::function) {
                self.progress.statistics.functions[function.0 as usize].news += 1;
            }
            self.corpus.pool.add(entry.clone());
            self.corpus.unexamined.push_back(entry.clone());
            self.corpus.discoveries.entries.push(entry.clone());
            self.shared.add_entry(self.id, entry);
        }
        is_new
    }

    /// Checks the tests that observe generated calls.
    fn check_call(&mut self, call: &SequenceCall, outcome: &TransactionOutcome) {
        if !self.check_fork() {
            return self.machine.probe_mut().clear_call();
        }
        if let Some(reason) = outcome.not_run_reason() {
            self.note_unrunnable_call(call, reason);
        }
        let has_signs = self.machine.probe().has_incidents() || outcome.breaks_assertion();
        if outcome.is_discarded() || outcome.is_success() && !has_signs {
            return self.machine.probe_mut().clear_call();
        }
        for test in 0..self.target.tests.len() {
            if let Some(site) = self.find_broken_site(test, call, outcome) {
                self.record_failure(test, site);
            }
        }
        self.machine.probe_mut().clear_call();
    }

    /// Returns the site where the call broke the test, or `None` if the test holds or does not observe the call.
    fn find_broken_site(
        &self,
        test: usize,
        call: &SequenceCall,
        outcome: &TransactionOutcome,
    ) -> Option<FailureSite> {
        let kind = &self.target.tests[test].kind;
        if self.is_too_long_for(test) {
            return None;
        }
        if self.is_broken_by_revert(test, call, outcome) {
            return Some((0, 0));
        }
        if !checker::is_observed_by(self.target, kind, call) || outcome.is_discarded() {
            return None;
        }
        match kind {
            TestKind::Overflow { .. } => checker::find_overflow(&self.machine, outcome),
            TestKind::Unit { function } => {
                // A table test can fail with its rows only.
                let is_tested = !self.target.is_table_test(*function) || self.is_table_row();
                let has_failed = !outcome.is_success() || outcome.breaks_assertion();
                (is_tested && has_failed).then_some((0, 0))
            }
            TestKind::Destruction { address } => {
                self.machine.probe().signs.is_destroyed(*address).then_some((0, 0))
            }
            TestKind::HandlerAssertion => checker::find_handler_assertion(&self.machine, outcome),
            TestKind::AssertionEvent if self.machine.probe().emitted.is_empty() => None,
            _ => checker::find_broken_assertion(&self.machine, outcome),
        }
    }

    /// Returns true if the call reverted and the test is an invariant that fails on that.
    fn is_broken_by_revert(
        &self,
        test: usize,
        call: &SequenceCall,
        outcome: &TransactionOutcome,
    ) -> bool {
        self.target.reverts_fail.contains(&test)
            && !outcome.is_success()
            && !outcome.is_discarded()
            && !self.is_unit_test_call(call)
    }

    /// Checks the open tests whose result may have changed since the mark.
    fn check_open_tests_since(&mut self, mark: &ChainCheckpoint) {
        let change = self.machine.change_since(mark);
        // `afterInvariant()` runs at the end of a sequence, whatever the last call did.
        if change == StateChange::NOTHING && !self.is_complete() {
            return;
        }
        let mut index = 0;
        while let Some(&test) = self.tests.open.get(index) {
            let is_affected = self.is_after_invariant(test)
                || self.machine.affects_reads(change, mark, &self.tests.reads[test]);
            if !is_affected || self.check_open_test(test) {
                index += 1;
            }
        }
    }

    /// Returns true for `afterInvariant()`, which is checked only at the end of a sequence.
    pub(super) fn is_after_invariant(&self, test: usize) -> bool {
        matches!(self.target.tests[test].kind, TestKind::AfterInvariant { .. })
    }

    /// Checks all open tests.
    pub(super) fn check_open_tests(&mut self) {
        let mut index = 0;
        while let Some(&test) = self.tests.open.get(index) {
            if self.check_open_test(test) {
                index += 1;
            }
        }
    }

    /// Checks an open test. A failure is reported and closes the test. Returns true if the test stays open.
    fn check_open_test(&mut self, test: usize) -> bool {
        if self.is_too_long_for(test) || self.is_after_invariant(test) && !self.is_complete() {
            return true;
        }
        let kind = &self.target.tests[test].kind;
        let (machine, reads) = (&mut self.machine, &mut self.tests.reads[test]);
        let evaluation = self.tests.checker.evaluate_test(self.target, machine, kind, reads);
        self.progress.work += std::mem::take(&mut self.tests.checker.spent);
        if !self.check_fork() || self.machine.is_cut_off() {
            return true;
        }
        let statistics = &mut self.progress.statistics.tests[test];
        statistics.evaluations += 1;
        match evaluation {
            Some(TestEvaluation::Holds) | None => {}
            Some(TestEvaluation::Failed) => {
                self.record_failure(test, (0, 0));
                return false;
            }
            Some(TestEvaluation::Reached(number)) => self.keep_if_best(test, number),
            Some(TestEvaluation::NoNumber) => statistics.reverted += 1,
            Some(TestEvaluation::Rejected) => statistics.rejected += 1,
            Some(TestEvaluation::NotRun(reason)) => {
                statistics.not_run += 1;
                let is_useless = statistics.not_run >= MAX_UNRUNNABLE_EVALUATIONS;
                return self.note_unrunnable_test(test, reason, is_useless);
            }
        }
        true
    }

    /// Marks a test whose evaluation could not be run. In other states it may run and fail, so it stays open for a while.
    ///
    /// Returns true if the test stays open.
    fn note_unrunnable_test(&mut self, test: usize, reason: NotRunReason, closes: bool) -> bool {
        self.shared.add_not_run(test, reason);
        if closes {
            self.close_unrunnable_test(test);
            self.corpus.discoveries.not_run.push(test);
        }
        !closes
    }

    /// Returns true if the sequence has the full length for some test.
    fn is_complete(&self) -> bool {
        let length = self.sequence.calls.len();
        self.sequence.is_final
            || length >= self.settings.sequence_length.get()
            || self.target.foundry.depths.values().any(|depth| *depth == length)
    }

    /// Keeps the sequence if its number is the largest so far for the test.
    fn keep_if_best(&mut self, test: usize, value: I256) {
        if self.tests.best.get(&test).is_some_and(|(best, _)| value <= *best) {
            return;
        }
        self.progress.last_progress = self.progress.calls;
        let calls = self.sequence.calls.clone();
        self.tests.best.insert(test, (value, calls.clone()));
        let gas = self.sequence.gas.clone();
        self.corpus.pool.keep_best(
            test,
            Arc::new(CorpusEntry { calls: calls.clone(), gas, edges: Vec::new() }),
        );
        self.shared.add_best(BestValue { test, value, calls, is_shrunk: false });
    }

    /// Reports a test that failed at the end of the sequence, and queues it for shrinking. No-op if already known.
    fn record_failure(&mut self, test: usize, site: FailureSite) {
        if !self.tests.failed.insert((test, site)) {
            return;
        }
        self.tests.open.retain(|open| *open != test);
        self.remove_failed_unit(test);
        self.corpus.discoveries.failures.push((test, site));
        let gas = self.sequence.gas.iter().sum();
        let is_row = self.is_table_row();
        self.report_failure(test, site, (self.sequence.calls.clone(), gas), is_row);
        if self.settings.stop_on_fail {
            self.shared.stop_because(WorkerEndReason::FirstTestFailed);
        }
        if !is_row && !self.is_known_fault(test, site) {
            let shrinker = self.new_shrinker(self.sequence.calls.clone());
            self.tests.shrink_queue.push_back(ShrinkTask { test, site, goal: None, shrinker, gas });
        }
    }

    /// Returns true if the sequence is a row of a table test, which must not be changed.
    fn is_table_row(&self) -> bool {
        let [call] = self.sequence.calls.as_slice() else { return false };
        // The sender follows from the settings.
        let is_row = |seed: &SequenceCall| seed.payload == call.payload;
        self.is_unit_test_call(call) && self.target.seeds.iter().any(is_row)
    }

    /// Returns true if the failure needs no shrinking: the same assertion failed in another test, and this test has another
    /// failure to show.
    fn is_known_fault(&self, test: usize, site: FailureSite) -> bool {
        site != (0, 0)
            && self.tests.failed.iter().any(|&(other, at)| other != test && at == site)
            && self.tests.failed.iter().any(|&(other, at)| other == test && at != site)
    }

    /// Reports a failure with its calls and their total gas.
    fn report_failure(
        &self,
        test: usize,
        site: FailureSite,
        (calls, gas): (Vec<SequenceCall>, u64),
        is_shrunk: bool,
    ) {
        let (worker, found) = (self.id, calls.clone());
        self.shared.add_failure(TestFailure { test, site, worker, found, calls, is_shrunk }, gas);
    }

    fn new_shrinker(&self, calls: Vec<SequenceCall>) -> SequenceShrinker {
        let first = self.settings.senders.first().copied().unwrap_or_default();
        let tries = u32::try_from(self.settings.shrink_limit).unwrap_or(u32::MAX);
        SequenceShrinker::new(calls, tries, first)
    }

    /// Closes a test that failed in another worker.
    pub(super) fn close_test(&mut self, test: usize, site: FailureSite) {
        self.tests.failed.insert((test, site));
        self.tests.open.retain(|open| *open != test);
        self.remove_failed_unit(test);
    }

    /// Stops calling a unit test of Foundry that failed: the next calls are for the others.
    fn remove_failed_unit(&mut self, test: usize) {
        if let TestKind::Unit { function } = self.target.tests[test].kind
            && self.target.is_foundry()
        {
            self.inputs.choice.remove_function(function);
        }
    }

    /// Closes a test that cannot be run.
    pub(super) fn close_unrunnable_test(&mut self, test: usize) {
        self.tests.not_run.insert(test);
        self.tests.open.retain(|open| *open != test);
    }

    /// Marks Foundry's invariants if a function that they target could not be run: forge might have broken them with it.
    ///
    /// They stay open, because other functions may break them.
    fn note_unrunnable_target(&mut self, function: FunctionId, reason: &NotRunReason) {
        let is_new = self.tests.unrunnable_targets.insert(function);
        if !is_new || !self.target.is_foundry() || self.target.is_unit_test(function) {
            return;
        }
        for (index, test) in self.target.tests.iter().enumerate() {
            if test.kind.is_checked_by_call() || test.kind == TestKind::HandlerAssertion {
                self.shared.add_not_run(index, reason.clone());
            }
        }
    }

    /// Marks the tests of a function whose call could not be run. Other tests are not affected: the call was undone.
    fn note_unrunnable_call(&mut self, call: &SequenceCall, reason: &NotRunReason) {
        let Some(function) = call.function() else { return };
        self.note_unrunnable_target(function, reason);
        for test in 0..self.target.tests.len() {
            let is_of_function = match self.target.tests[test].kind {
                TestKind::Assertion { function: tested }
                | TestKind::Overflow { function: tested }
                | TestKind::Unit { function: tested } => tested == function,
                _ => false,
            };
            if is_of_function && self.tests.not_run.insert(test) {
                self.shared.add_not_run(test, reason.clone());
                self.corpus.discoveries.not_run.push(test);
            }
        }
    }

    /// Queues the best sequences of optimization tests for shrinking. Called at the end, when they no longer improve.
    pub(super) fn queue_best_sequences(&mut self) {
        let mut best: Vec<_> = std::mem::take(&mut self.tests.best).into_iter().collect();
        best.sort_by_key(|(test, _)| *test);
        for (test, (value, calls)) in best {
            let shrinker = self.new_shrinker(calls);
            let (site, goal) = ((0, 0), Some(value));
            self.tests.shrink_queue.push_back(ShrinkTask { test, site, goal, shrinker, gas: 0 });
        }
    }

    /// Runs some shrink tries on the next failure. Returns false if the queue is empty.
    pub(super) fn run_shrink_tries(&mut self) -> bool {
        let Some(mut shrink) = self.tests.shrink_queue.pop_front() else { return false };
        let mut is_done = false;
        self.begin_stretch();
        for _ in 0..SHRINK_TRIES {
            if self.is_overdue() {
                break;
            }
            let Some(mut candidate) = shrink.shrinker.next_candidate(self.target) else {
                is_done = true;
                break;
            };
            for call in &mut candidate {
                self.adapt_to_foundry(call);
            }
            let length = self.find_failing_length(&candidate, &shrink);
            if !self.check_fork() || self.machine.is_cut_off() {
                // The failure stays as it is, and is not called shrunk.
                self.tests.shrink_queue.push_front(shrink);
                return false;
            }
            if let Some(length) = length {
                candidate.truncate(length);
                shrink.gas = self.sequence.gas.iter().sum();
                shrink.shrinker.accept_candidate(candidate, self.target);
            }
        }
        if !is_done {
            self.tests.shrink_queue.push_front(shrink);
        } else if let Some(value) = shrink.goal {
            let (test, calls) = (shrink.test, shrink.shrinker.best().to_vec());
            self.shared.add_best(BestValue { test, value, calls, is_shrunk: true });
        } else {
            let calls = (shrink.shrinker.best().to_vec(), shrink.gas);
            self.report_failure(shrink.test, shrink.site, calls, true);
        }
        true
    }

    /// Returns the number of calls after which the test fails in the same way, or `None` if it does not.
    fn find_failing_length(
        &mut self,
        calls: &[SequenceCall],
        shrink: &ShrinkTask,
    ) -> Option<usize> {
        let kind = &self.target.tests[shrink.test].kind;
        self.restart_sequence();
        for (index, call) in calls.iter().enumerate() {
            let outcome = self.execute_call(call);
            self.keep_if_new();
            let site =
                outcome.and_then(|outcome| self.find_broken_site(shrink.test, call, &outcome));
            self.machine.probe_mut().clear_call();
            if site == Some(shrink.site) {
                return Some(index + 1);
            }
        }
        let (machine, reads) = (&mut self.machine, &mut self.tests.reads[shrink.test]);
        let evaluation = self.tests.checker.evaluate_test(self.target, machine, kind, reads);
        let still_fails = match evaluation {
            Some(TestEvaluation::Reached(number)) => shrink.goal.is_some_and(|goal| number >= goal),
            Some(TestEvaluation::Failed) => true,
            _ => false,
        };
        self.progress.work += std::mem::take(&mut self.tests.checker.spent);
        still_fails.then_some(calls.len())
    }
}

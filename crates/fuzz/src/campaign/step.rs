//! Running calls: what they showed is kept, what they broke is told and made small.

use std::sync::Arc;

use alloy_primitives::{I256, U256};

use super::check::{self, Site};
use super::events::Happening;
use super::pool::Entry;
use super::shared::{Best, Failure};
use super::shrink::Shrinker;
use super::worker::{Shrink, Worker};
use crate::call::Call;
use crate::chain::{Change, Mark, Outcome};
use crate::target::TestKind;

/// What a call costs beside its gas.
pub(super) const CALL_WORK: u64 = 1_000;

/// Sequences that only came nearer are looked into if there is nothing better to do.
const MAX_NEAR_UNEXAMINED: usize = 2;

/// Words that are kept of what calls returned.
const MAX_RETURNED: usize = 8;

/// Tries of shrinking between two episodes.
const SHRINK_TRIES: usize = 8;

impl Worker<'_> {
    /// Back to where all sequences begin.
    pub(super) fn restart(&mut self) {
        self.machine.rewind(&self.sequence.genesis);
        self.truncate(0);
    }

    /// Forgets the calls of the sequence from `length` on, as the machine has.
    pub(super) fn truncate(&mut self, length: usize) {
        self.sequence.calls.truncate(length);
        self.sequence.gas.truncate(length);
    }

    /// Runs known calls without looking for anything: they have been looked at when they were found.
    pub(super) fn replay(&mut self, calls: &[Call]) {
        for call in calls {
            let outcome = self.execute(call);
            self.count(call, outcome.as_ref());
        }
        self.machine.probe_mut().forget_call();
        if !calls.is_empty() {
            // Another worker may have found them: only who asked the tests here knows what they look at from here on.
            self.check_open();
        }
    }

    /// Runs a call and looks at what it did; true if it showed a new branch.
    pub(super) fn step(&mut self, call: Call) -> bool {
        let is_unit = self.is_unit(&call);
        if is_unit {
            self.restart();
        }
        let before = self.machine.mark();
        let outcome = self.execute(&call);
        self.count(&call, outcome.as_ref());
        for address in std::mem::take(&mut self.machine.probe_mut().created) {
            self.inputs.dictionary.add_address(address);
        }
        if let Some(outcome) = &outcome {
            self.check_call(&call, outcome);
        }
        self.check_open_since(&before);
        // Tests show something new, too: how near they are to failing.
        let is_new = self.keep_news();
        if is_unit {
            self.restart();
        }
        is_new
    }

    /// True for tests that are to be called on the first state, and leave nothing behind.
    fn is_unit(&self, call: &Call) -> bool {
        call.function().is_some_and(|function| self.target.is_unit(function))
    }

    /// Runs a call and adds it to the sequence. None if there was only a wait.
    pub(super) fn execute(&mut self, call: &Call) -> Option<Outcome> {
        self.machine.wait(call.delay.seconds, call.delay.blocks);
        let outcome = call
            .transaction(self.target, &mut self.sequence.buffer)
            .map(|transaction| self.machine.call(&transaction));
        let gas = outcome.as_ref().map_or(0, |outcome| outcome.gas_used);
        self.sequence.calls.push(call.clone());
        self.sequence.gas.push(gas);
        if let Some(outcome) = &outcome {
            self.note_returned(outcome);
        }
        self.progress.work += CALL_WORK + gas;
        outcome
    }

    /// Keeps the last words that calls returned. They may be of a past that was undone since, which does no harm.
    fn note_returned(&mut self, outcome: &Outcome) {
        // Truths are everywhere.
        let says_more = |word: &U256| *word > U256::ONE;
        if !outcome.is_success() || outcome.output.len() < 32 {
            return;
        }
        let words = outcome.output.chunks_exact(32).map(U256::from_be_slice);
        for word in words.filter(says_more).take(MAX_RETURNED) {
            if self.sequence.returned.len() == MAX_RETURNED {
                self.sequence.returned.remove(0);
            }
            self.sequence.returned.push(word);
        }
    }

    /// Counts a call of the campaign. Those that make a failure smaller are none.
    fn count(&mut self, call: &Call, outcome: Option<&Outcome>) {
        self.progress.calls += 1;
        let Some(outcome) = outcome else { return };
        self.progress.total_gas += outcome.gas_used;
        if let Some(function) = call.function() {
            self.progress.statistics[function.0 as usize]
                .add(outcome.gas_used, outcome.is_success());
            if self.shared.samples.wants(function) {
                self.shared.samples.add(function, self.target.function(function), outcome);
            }
        }
        if self.progress.shows_call || self.sequence.is_injecting {
            self.show(call, outcome);
        }
    }

    /// Tells those who watch of a call.
    fn show(&mut self, call: &Call, outcome: &Outcome) {
        self.progress.shows_call = false;
        let happening = Happening::TransactionExecuted {
            call: call.clone(),
            gas: outcome.gas_used,
            is_success: outcome.is_success(),
            is_injected: self.sequence.is_injecting,
        };
        self.shared.events.push(self.id, happening);
    }

    /// Keeps the sequence if it showed something for the first time.
    fn keep_news(&mut self) -> bool {
        let news = &mut self.machine.probe_mut().news;
        if !self.settings.coverage {
            news.clear();
        }
        if news.is_empty() {
            return false;
        }
        let news = std::mem::take(news);
        let is_new = !news.edges.is_empty();
        let entry = Arc::new(Entry {
            calls: self.sequence.calls.clone(),
            gas: self.sequence.gas.clone(),
            edges: news.edges,
        });
        self.corpus.pool.keep_near(&news.nearer, &entry);
        if !is_new && self.corpus.unexamined.len() < MAX_NEAR_UNEXAMINED {
            self.corpus.unexamined.push_back(entry.clone());
        }
        if is_new {
            self.progress.last_news = self.progress.calls;
            if let Some(function) = self.sequence.calls.last().and_then(Call::function) {
                self.progress.statistics[function.0 as usize].news += 1;
            }
            self.corpus.pool.add(entry.clone());
            self.corpus.unexamined.push_back(entry.clone());
            self.corpus.finds.entries.push(entry.clone());
            self.shared.add_entry(self.id, entry);
        }
        is_new
    }

    /// Tests that are broken by the call itself.
    fn check_call(&mut self, call: &Call, outcome: &Outcome) {
        let has_signs = self.machine.probe().has_signs() || outcome.breaks_assertion();
        if outcome.is_discarded() || outcome.is_success() && !has_signs {
            return self.machine.probe_mut().forget_call();
        }
        for test in 0..self.target.tests.len() {
            if let Some(site) = self.broken_by(test, call, outcome) {
                self.fail(test, site);
            }
        }
        self.machine.probe_mut().forget_call();
    }

    /// Where the call broke a test that watches it.
    fn broken_by(&self, test: usize, call: &Call, outcome: &Outcome) -> Option<Site> {
        let kind = &self.target.tests[test].kind;
        if !check::is_watched(self.target, kind, call) || outcome.is_discarded() {
            return None;
        }
        match kind {
            TestKind::Overflow { .. } => check::overflow(&self.machine, outcome),
            TestKind::Unit { .. } => {
                (!outcome.is_success() || outcome.breaks_assertion()).then_some((0, 0))
            }
            TestKind::Destruction { address } => {
                self.machine.probe().signs.is_destroyed(*address).then_some((0, 0))
            }
            TestKind::Event if self.machine.probe().emitted.is_empty() => None,
            _ => check::broken_assertion(&self.machine, outcome),
        }
    }

    /// Tests that are calls of their own, as far as they could say something else than at the mark.
    fn check_open_since(&mut self, mark: &Mark) {
        let change = self.machine.change_since(mark);
        if change == Change::NOTHING {
            return;
        }
        let mut index = 0;
        while let Some(&test) = self.tests.open.get(index) {
            let is_concerned = self.machine.concerns(change, mark, &self.tests.reads[test]);
            if !is_concerned || self.holds(test) {
                index += 1;
            }
        }
    }

    /// All tests that are calls of their own.
    pub(super) fn check_open(&mut self) {
        let mut index = 0;
        while let Some(&test) = self.tests.open.get(index) {
            if self.holds(test) {
                index += 1;
            }
        }
    }

    /// Asks a test that is a call of its own. One that fails is told, and open no longer.
    fn holds(&mut self, test: usize) -> bool {
        let kind = &self.target.tests[test].kind;
        let (machine, reads) = (&mut self.machine, &mut self.tests.reads[test]);
        if let TestKind::Maximum { function } = kind {
            let number = self.tests.checker.number(self.target, machine, *function, reads);
            self.progress.work += std::mem::take(&mut self.tests.checker.spent);
            if let Some(number) = number {
                self.keep_best(test, number);
            }
            return true;
        }
        let site = self.tests.checker.call(self.target, machine, kind, reads);
        self.progress.work += std::mem::take(&mut self.tests.checker.spent);
        if let Some(site) = site {
            self.fail(test, site);
        }
        site.is_none()
    }

    /// Keeps the sequence if its number is the largest so far.
    fn keep_best(&mut self, test: usize, value: I256) {
        if self.tests.best.get(&test).is_some_and(|(best, _)| value <= *best) {
            return;
        }
        self.progress.last_news = self.progress.calls;
        let calls = self.sequence.calls.clone();
        self.tests.best.insert(test, (value, calls.clone()));
        let gas = self.sequence.gas.clone();
        self.corpus
            .pool
            .keep_best(test, Arc::new(Entry { calls: calls.clone(), gas, edges: Vec::new() }));
        self.shared.add_best(Best { test, value, calls, is_shrunk: false });
    }

    /// A test failed at the end of the sequence.
    fn fail(&mut self, test: usize, site: Site) {
        if !self.tests.failed.insert((test, site)) {
            return;
        }
        self.tests.open.retain(|open| *open != test);
        self.corpus.finds.failures.push((test, site));
        let gas = self.sequence.gas.iter().sum();
        self.report(test, site, (self.sequence.calls.clone(), gas), false);
        if self.settings.stop_on_fail {
            self.shared.stop();
        }
        if !self.is_known_fault(test, site) {
            let shrinker = self.shrinker(self.sequence.calls.clone());
            self.tests.shrinks.push_back(Shrink { test, site, goal: None, shrinker, gas });
        }
    }

    /// The same assertion, reached through another function, is no other fault; the first of each test is shown.
    fn is_known_fault(&self, test: usize, site: Site) -> bool {
        site != (0, 0)
            && self.tests.failed.iter().any(|&(other, at)| other != test && at == site)
            && self.tests.failed.iter().any(|&(other, at)| other == test && at != site)
    }

    /// Tells of a failure with its calls and the gas that they used.
    fn report(&self, test: usize, site: Site, (calls, gas): (Vec<Call>, u64), is_shrunk: bool) {
        let (worker, found) = (self.id, calls.clone());
        self.shared.add_failure(Failure { test, site, worker, found, calls, is_shrunk }, gas);
    }

    fn shrinker(&self, calls: Vec<Call>) -> Shrinker {
        let first = self.settings.senders.first().copied().unwrap_or_default();
        let tries = u32::try_from(self.settings.shrink_limit).unwrap_or(u32::MAX);
        Shrinker::new(calls, tries, first)
    }

    /// Another worker found the failure.
    pub(super) fn close(&mut self, test: usize, site: Site) {
        self.tests.failed.insert((test, site));
        self.tests.open.retain(|open| *open != test);
    }

    /// The sequences of the largest numbers are made smaller in the end, when they no longer grow.
    pub(super) fn shrink_best(&mut self) {
        let mut best: Vec<_> = std::mem::take(&mut self.tests.best).into_iter().collect();
        best.sort_by_key(|(test, _)| *test);
        for (test, (value, calls)) in best {
            let shrinker = self.shrinker(calls);
            let (site, goal) = ((0, 0), Some(value));
            self.tests.shrinks.push_back(Shrink { test, site, goal, shrinker, gas: 0 });
        }
    }

    /// Tries to make a failure smaller; false if there is none left.
    pub(super) fn shrink_some(&mut self) -> bool {
        let Some(mut shrink) = self.tests.shrinks.pop_front() else { return false };
        let mut is_done = false;
        self.begin_stretch();
        for _ in 0..SHRINK_TRIES {
            if self.is_overdue() {
                break;
            }
            let Some(mut candidate) = shrink.shrinker.next(self.target) else {
                is_done = true;
                break;
            };
            if let Some(length) = self.fails(&candidate, &shrink) {
                candidate.truncate(length);
                shrink.gas = self.sequence.gas.iter().sum();
                shrink.shrinker.accept(candidate, self.target);
            }
        }
        if !is_done {
            self.tests.shrinks.push_front(shrink);
        } else if let Some(value) = shrink.goal {
            let (test, calls) = (shrink.test, shrink.shrinker.best().to_vec());
            self.shared.add_best(Best { test, value, calls, is_shrunk: true });
        } else {
            let calls = (shrink.shrinker.best().to_vec(), shrink.gas);
            self.report(shrink.test, shrink.site, calls, true);
        }
        true
    }

    /// How many calls of the sequence it takes until the test fails in the same way.
    fn fails(&mut self, calls: &[Call], shrink: &Shrink) -> Option<usize> {
        let kind = &self.target.tests[shrink.test].kind;
        self.restart();
        for (index, call) in calls.iter().enumerate() {
            let outcome = self.execute(call);
            self.keep_news();
            let site = outcome.and_then(|outcome| self.broken_by(shrink.test, call, &outcome));
            self.machine.probe_mut().forget_call();
            if site == Some(shrink.site) {
                return Some(index + 1);
            }
        }
        let (machine, reads) = (&mut self.machine, &mut self.tests.reads[shrink.test]);
        let still_fails = match (kind, shrink.goal) {
            (TestKind::Maximum { function }, Some(goal)) => {
                let number = self.tests.checker.number(self.target, machine, *function, reads);
                number.is_some_and(|number| number >= goal)
            }
            _ => self.tests.checker.call(self.target, machine, kind, reads).is_some(),
        };
        self.progress.work += std::mem::take(&mut self.tests.checker.spent);
        still_fails.then_some(calls.len())
    }
}

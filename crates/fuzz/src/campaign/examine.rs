//! Examines a call: finds the comparisons that decide its branches, and searches for inputs that flip them.
//!
//! Candidate numbers come from `solve`; they are placed into the slots of the call (`input_slots`).

use std::collections::HashSet;

use alloy_primitives::U256;

use super::input_slots::{self, CallTiming, InputSlot};
use super::solve;
use super::worker::FuzzWorker;
use crate::call::SequenceCall;
use crate::chain::{ChainCheckpoint, ObservedComparison};

/// Maximum calls of one search.
const MAX_TRIES: usize = 256;

/// Maximum repetitions of a linear or secant step when the previous one missed.
const MAX_LINE_STEPS: usize = 24;

/// Distance that is large enough to leave the plateau of small numbers.
const FAR_DISTANCE: U256 = U256::from_limbs([1 << 24, 0, 0, 0]);

/// Tries after which a comparison is searched less and less often.
const PATIENCE: u32 = 512;

/// Number of earlier calls that are searched for a number that the examined call compares.
const MAX_EARLIER_CALLS: usize = 6;

/// State of the search in one call.
struct ComparisonSearch<'a> {
    calls: &'a [SequenceCall],
    at: usize,
    /// Mark of the machine before the call.
    before: ChainCheckpoint,
    moment: CallTiming,
    /// All comparisons of the unchanged call, in order.
    compared: Vec<ObservedComparison>,
    tries: usize,
}

impl FuzzWorker<'_> {
    /// Runs the calls up to `at` and tries to make that call take other branches.
    pub(super) fn examine_call(&mut self, calls: &[SequenceCall], at: usize) {
        let Some(call) = calls.get(at) else { return };
        self.restart_sequence();
        self.replay_calls(&calls[..at]);
        self.begin_stretch();
        let before = self.machine.checkpoint();
        let (time, block) = self.machine.now();
        let max_seconds = self.settings.max_time_delay;
        let max_blocks = self.settings.max_block_delay;
        let moment = CallTiming { time, block, max_seconds, max_blocks };
        let mut search =
            ComparisonSearch { calls, at, before, moment, compared: Vec::new(), tries: 0 };
        search.compared = self.observe_comparisons(&search, call.clone()).1;
        let mut locations = HashSet::new();
        for comparison in search.compared.clone() {
            if !comparison.is_open || !locations.insert((comparison.code, comparison.offset)) {
                continue;
            }
            if self.is_exhausted(&search) || self.shared.is_stopped() {
                return;
            }
            if self.is_worth_trying(&comparison) {
                self.flip_comparison(&mut search, call, &comparison);
            }
        }
    }

    /// Runs the call and adds the values it writes to the dictionary.
    ///
    /// Returns true if it reached new branches, and its comparisons.
    fn observe_comparisons(
        &mut self,
        search: &ComparisonSearch<'_>,
        call: SequenceCall,
    ) -> (bool, Vec<ObservedComparison>) {
        self.rewind_search(search);
        let probe = self.machine.probe_mut();
        probe.notes = true;
        probe.comparisons.clear();
        probe.values.clear();
        let is_new = self.run_call(call);
        let probe = self.machine.probe_mut();
        probe.notes = false;
        for value in std::mem::take(&mut probe.values) {
            self.inputs.dictionary.learn(value);
        }
        (is_new, std::mem::take(&mut self.machine.probe_mut().comparisons))
    }

    /// Rewinds the machine and the sequence to the start of the search.
    fn rewind_search(&mut self, search: &ComparisonSearch<'_>) {
        self.machine.rewind(&search.before);
        self.truncate_sequence(search.at);
    }

    /// Returns true if the comparison should be tried. The probability drops with the number of failed tries.
    fn is_worth_trying(&mut self, comparison: &ObservedComparison) -> bool {
        let effort = self.corpus.efforts.entry((comparison.code, comparison.offset)).or_default();
        let factor = *effort / PATIENCE;
        factor == 0 || self.inputs.rng.u32(0..=factor) == 0
    }

    /// Counts a try that costs this many calls.
    fn count_try(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        comparison: &ObservedComparison,
        calls: usize,
    ) {
        search.tries += calls;
        *self.corpus.efforts.entry((comparison.code, comparison.offset)).or_default() += 1;
    }

    /// Returns true if the search has used up its budget.
    fn is_exhausted(&self, search: &ComparisonSearch<'_>) -> bool {
        search.tries >= MAX_TRIES || self.is_overdue()
    }

    /// Tries to flip one comparison, with the cheapest methods first.
    fn flip_comparison(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        call: &SequenceCall,
        comparison: &ObservedComparison,
    ) {
        let slots = input_slots::list_slots(self.target, call, search.moment);
        let mut is_new = false;
        for (slot, number) in &slots {
            if let Some(candidates) = solve::solve_direct(comparison, *number) {
                for candidate in candidates {
                    is_new |= self.attempt_number(search, call, comparison, *slot, candidate);
                }
                if !is_new {
                    is_new |= self.repair_earlier_comparison(
                        search,
                        call,
                        comparison,
                        *slot,
                        candidates[0],
                    );
                }
            }
        }
        if is_new || self.flip_in_earlier_call(search, comparison) {
            return;
        }
        for (slot, number) in slots {
            if self.is_exhausted(search) {
                return;
            }
            if slot.is_number() {
                self.flip_by_linear_steps(search, call, comparison, slot, number);
            }
        }
    }

    /// Handles a number that flips an earlier comparison, so that execution no longer reaches this one. Flips the earlier
    /// one back through another slot of the call.
    ///
    /// Returns true if that reached new branches.
    fn repair_earlier_comparison(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        call: &SequenceCall,
        comparison: &ObservedComparison,
        slot: InputSlot,
        number: U256,
    ) -> bool {
        let changed = input_slots::with_slot(self.target, call, search.moment, slot, number);
        let Some(changed) = changed.filter(|_| !self.is_exhausted(search)) else { return false };
        search.tries += 1;
        let (_, compared) = self.observe_comparisons(search, changed.clone());
        let flipped =
            search.compared.iter().zip(&compared).find(|(old, new)| old.outcome != new.outcome);
        let Some(flipped) = flipped.map(|(_, new)| *new) else { return false };
        if (flipped.code, flipped.offset) == (comparison.code, comparison.offset) {
            return false;
        }
        let mut is_new = false;
        for (other, number) in input_slots::list_slots(self.target, &changed, search.moment) {
            if other != slot
                && let Some([exact, ..]) = solve::solve_direct(&flipped, number)
            {
                is_new |= self.attempt_number(search, &changed, comparison, other, exact);
            }
        }
        is_new
    }

    /// Runs the call with another number. Returns true if it reached new branches.
    fn attempt_number(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        call: &SequenceCall,
        comparison: &ObservedComparison,
        slot: InputSlot,
        number: U256,
    ) -> bool {
        let Some(changed) = input_slots::with_slot(self.target, call, search.moment, slot, number)
        else {
            return false;
        };
        self.count_try(search, comparison, 1);
        self.rewind_search(search);
        self.run_call(changed)
    }

    /// Steps the number by one, assumes that the comparison is linear in it, and tries the solution. If the comparison is
    /// not linear, repeats from there; this also solves roots and quotients.
    fn flip_by_linear_steps(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        call: &SequenceCall,
        comparison: &ObservedComparison,
        slot: InputSlot,
        mut number: U256,
    ) {
        let mut here = *comparison;
        let mut slope = None;
        for _ in 0..MAX_LINE_STEPS {
            let stepped = number.wrapping_add(U256::ONE);
            let Some((_, Some(after))) = self.probe_number(search, call, comparison, slot, stepped)
            else {
                return;
            };
            let solutions = solve::solve_linear(&here, &after, number);
            let Some((&first, others)) = solutions.split_first() else {
                return self.flip_by_secant(search, call, comparison, slot, (number, here));
            };
            for &other in others {
                if self.attempt_number(search, call, comparison, slot, other) {
                    return;
                }
            }
            let Some((is_new, there)) = self.probe_number(search, call, comparison, slot, first)
            else {
                return;
            };
            let now = solve::difference_slope(&here, &after);
            let is_bent = slope.replace(now) != Some(now);
            let goes_on = !is_new && is_bent && !self.is_exhausted(search);
            let Some(there) = there.filter(|_| goes_on) else {
                return;
            };
            (here, number) = (there, first);
        }
    }

    /// Uses the secant method between distant numbers, for comparisons that a step of one does not change. This costs a call
    /// for every number without any influence, so it is used only when the worker is stuck.
    fn flip_by_secant(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        call: &SequenceCall,
        comparison: &ObservedComparison,
        slot: InputSlot,
        mut here: (U256, ObservedComparison),
    ) {
        if !self.is_stuck() {
            return;
        }
        let mut next = (here.0 >> 1_usize) ^ FAR_DISTANCE;
        for _ in 0..MAX_LINE_STEPS {
            if self.is_exhausted(search) {
                return;
            }
            let Some((false, Some(there))) =
                self.probe_number(search, call, comparison, slot, next)
            else {
                return;
            };
            let there = (next, there);
            let Some(root) = solve::solve_secant((here.0, &here.1), (there.0, &there.1)) else {
                return;
            };
            if root == next || root == here.0 {
                return;
            }
            (here, next) = (there, root);
        }
    }

    /// Runs the call with another number.
    ///
    /// Returns true if it reached new branches, and the comparison as observed in that run.
    fn probe_number(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        call: &SequenceCall,
        comparison: &ObservedComparison,
        slot: InputSlot,
        number: U256,
    ) -> Option<(bool, Option<ObservedComparison>)> {
        let changed = input_slots::with_slot(self.target, call, search.moment, slot, number)?;
        self.count_try(search, comparison, 1);
        let (is_new, comparisons) = self.observe_comparisons(search, changed);
        let location = (comparison.code, comparison.offset);
        let there = comparisons.into_iter().find(|other| (other.code, other.offset) == location);
        Some((is_new, there))
    }

    /// Changes the number in an earlier call, which may have stored it. Returns true if that reached new branches.
    fn flip_in_earlier_call(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        comparison: &ObservedComparison,
    ) -> bool {
        let mut found = false;
        for at in (search.at.saturating_sub(MAX_EARLIER_CALLS)..search.at).rev() {
            let call = &search.calls[at];
            if self.is_overdue() {
                return found;
            }
            for (slot, number) in input_slots::list_slots(self.target, call, search.moment) {
                // Zero and one are too common to be significant.
                if !matches!(slot, InputSlot::Word(_) | InputSlot::Value) || number <= U256::ONE {
                    continue;
                }
                let Some(candidates) = solve::solve_direct(comparison, number) else { continue };
                for candidate in candidates {
                    let changed =
                        input_slots::with_slot(self.target, call, search.moment, slot, candidate);
                    if let Some(changed) = changed {
                        found |= self.attempt_earlier_call(search, comparison, at, changed);
                    }
                }
            }
        }
        found
    }

    /// Runs the sequence with another call at `at`. Returns true if that reached new branches.
    fn attempt_earlier_call(
        &mut self,
        search: &mut ComparisonSearch<'_>,
        comparison: &ObservedComparison,
        at: usize,
        changed: SequenceCall,
    ) -> bool {
        let calls = 1 + search.at - at;
        self.count_try(search, comparison, calls);
        self.restart_sequence();
        self.replay_calls(&search.calls[..at]);
        let mut is_new = self.run_call(changed);
        for call in &search.calls[at + 1..=search.at] {
            is_new |= self.run_call(call.clone());
        }
        // The restart invalidated the mark of the search, so it is taken again.
        self.restart_sequence();
        self.replay_calls(&search.calls[..search.at]);
        search.before = self.machine.checkpoint();
        is_new
    }
}

//! Looks into a call: which comparisons kept it from going elsewhere, and what would turn them round.

use std::collections::HashSet;

use alloy_primitives::U256;

use super::slots::{self, Moment, Slot};
use super::solve;
use super::worker::Worker;
use crate::call::Call;
use crate::chain::{Comparison, Mark};

/// Calls that one look may cost.
const MAX_TRIES: usize = 256;

/// How often a line is drawn anew where the last one missed.
const MAX_BENDS: usize = 24;

/// Far enough to be on another plateau than small numbers are.
const FAR: U256 = U256::from_limbs([1 << 24, 0, 0, 0]);

/// Tries after which a comparison is looked at less and less often.
const PATIENCE: u32 = 512;

/// How many calls before the last are searched for a number that the last one compares.
const REACH: usize = 6;

/// One look.
struct Look<'a> {
    calls: &'a [Call],
    at: usize,
    /// The machine before the call.
    before: Mark,
    moment: Moment,
    /// Everything that the call compared, in order.
    compared: Vec<Comparison>,
    tries: usize,
}

impl Worker<'_> {
    /// Runs the calls up to `at` and tries to lead that one elsewhere.
    pub(super) fn examine(&mut self, calls: &[Call], at: usize) {
        let Some(call) = calls.get(at) else { return };
        self.restart();
        self.replay(&calls[..at]);
        self.begin_stretch();
        let before = self.machine.mark();
        let (time, block) = self.machine.now();
        let max_seconds = self.settings.max_time_delay;
        let max_blocks = self.settings.max_block_delay;
        let moment = Moment { time, block, max_seconds, max_blocks };
        let mut look = Look { calls, at, before, moment, compared: Vec::new(), tries: 0 };
        look.compared = self.compared(&look, call.clone()).1;
        let mut places = HashSet::new();
        for comparison in look.compared.clone() {
            if !comparison.is_open || !places.insert((comparison.code, comparison.offset)) {
                continue;
            }
            if self.is_spent(&look) || self.shared.is_stopped() {
                return;
            }
            if self.is_worth(&comparison) {
                self.turn(&mut look, call, &comparison);
            }
        }
    }

    /// Whether the call shows something new, and what it compares; learns what it writes.
    fn compared(&mut self, look: &Look<'_>, call: Call) -> (bool, Vec<Comparison>) {
        self.back(look);
        let probe = self.machine.probe_mut();
        probe.notes = true;
        probe.comparisons.clear();
        probe.values.clear();
        let is_new = self.step(call);
        let probe = self.machine.probe_mut();
        probe.notes = false;
        for value in std::mem::take(&mut probe.values) {
            self.inputs.dictionary.learn(value);
        }
        (is_new, std::mem::take(&mut self.machine.probe_mut().comparisons))
    }

    /// To where the look began.
    fn back(&mut self, look: &Look<'_>) {
        self.machine.rewind(&look.before);
        self.truncate(look.at);
    }

    /// Comparisons that were tried in vain often are tried less often.
    fn is_worth(&mut self, comparison: &Comparison) -> bool {
        let effort = self.corpus.efforts.entry((comparison.code, comparison.offset)).or_default();
        let factor = *effort / PATIENCE;
        factor == 0 || self.inputs.rng.u32(0..=factor) == 0
    }

    /// Counts a try that costs so many calls.
    fn spend(&mut self, look: &mut Look<'_>, comparison: &Comparison, calls: usize) {
        look.tries += calls;
        *self.corpus.efforts.entry((comparison.code, comparison.offset)).or_default() += 1;
    }

    /// True if the look has cost enough.
    fn is_spent(&self, look: &Look<'_>) -> bool {
        look.tries >= MAX_TRIES || self.is_overdue()
    }

    fn turn(&mut self, look: &mut Look<'_>, call: &Call, comparison: &Comparison) {
        let slots = slots::slots(self.target, call, look.moment);
        let mut is_new = false;
        for (slot, number) in &slots {
            if let Some(candidates) = solve::direct(comparison, *number) {
                for candidate in candidates {
                    is_new |= self.attempt(look, call, comparison, *slot, candidate);
                }
                if !is_new {
                    is_new |= self.repair(look, call, comparison, *slot, candidates[0]);
                }
            }
        }
        if is_new || self.turn_earlier(look, comparison) {
            return;
        }
        for (slot, number) in slots {
            if self.is_spent(look) {
                return;
            }
            if slot.is_number() {
                self.turn_by_line(look, call, comparison, slot, number);
            }
        }
    }

    /// What turns this comparison round may have turned another one, before it, that was right. That one is turned back
    /// by another number of the call.
    fn repair(
        &mut self,
        look: &mut Look<'_>,
        call: &Call,
        comparison: &Comparison,
        slot: Slot,
        number: U256,
    ) -> bool {
        let changed = slots::with(self.target, call, look.moment, slot, number);
        let Some(changed) = changed.filter(|_| !self.is_spent(look)) else { return false };
        look.tries += 1;
        let (_, compared) = self.compared(look, changed.clone());
        let turned =
            look.compared.iter().zip(&compared).find(|(was, is)| was.outcome != is.outcome);
        let Some(turned) = turned.map(|(_, is)| *is) else { return false };
        if (turned.code, turned.offset) == (comparison.code, comparison.offset) {
            return false;
        }
        let mut is_new = false;
        for (other, number) in slots::slots(self.target, &changed, look.moment) {
            if other != slot
                && let Some([exact, ..]) = solve::direct(&turned, number)
            {
                is_new |= self.attempt(look, &changed, comparison, other, exact);
            }
        }
        is_new
    }

    /// Runs the call with another number; true if it went where none went before.
    fn attempt(
        &mut self,
        look: &mut Look<'_>,
        call: &Call,
        comparison: &Comparison,
        slot: Slot,
        number: U256,
    ) -> bool {
        let Some(changed) = slots::with(self.target, call, look.moment, slot, number) else {
            return false;
        };
        self.spend(look, comparison, 1);
        self.back(look);
        self.step(changed)
    }

    /// Steps the number by one, takes the comparison for linear in it, and goes to where the line leads. Where it was no
    /// line, the same again from there: so roots and quotients are found, too.
    fn turn_by_line(
        &mut self,
        look: &mut Look<'_>,
        call: &Call,
        comparison: &Comparison,
        slot: Slot,
        mut number: U256,
    ) {
        let mut here = *comparison;
        let mut slope = None;
        for _ in 0..MAX_BENDS {
            let stepped = number.wrapping_add(U256::ONE);
            let Some((_, Some(after))) = self.probe(look, call, comparison, slot, stepped) else {
                return;
            };
            let solutions = solve::linear(&here, &after, number);
            let Some((&first, others)) = solutions.split_first() else {
                return self.turn_from_afar(look, call, comparison, slot, (number, here));
            };
            for &other in others {
                if self.attempt(look, call, comparison, slot, other) {
                    return;
                }
            }
            let Some((is_new, there)) = self.probe(look, call, comparison, slot, first) else {
                return;
            };
            let now = solve::slope(&here, &after);
            let is_bent = slope.replace(now) != Some(now);
            let goes_on = !is_new && is_bent && !self.is_spent(look);
            let Some(there) = there.filter(|_| goes_on) else {
                return;
            };
            (here, number) = (there, first);
        }
    }

    /// Where a step of one changes nothing, a long one may: the numbers between two distant ones are closed in on. This
    /// costs a call for every number that has no influence at all, so it is for when nothing else helps.
    fn turn_from_afar(
        &mut self,
        look: &mut Look<'_>,
        call: &Call,
        comparison: &Comparison,
        slot: Slot,
        mut here: (U256, Comparison),
    ) {
        if !self.is_stuck() {
            return;
        }
        let mut next = (here.0 >> 1_usize) ^ FAR;
        for _ in 0..MAX_BENDS {
            if self.is_spent(look) {
                return;
            }
            let Some((false, Some(there))) = self.probe(look, call, comparison, slot, next) else {
                return;
            };
            let there = (next, there);
            let Some(root) = solve::secant((here.0, &here.1), (there.0, &there.1)) else { return };
            if root == next || root == here.0 {
                return;
            }
            (here, next) = (there, root);
        }
    }

    /// Runs the call with another number: whether it went where none went before, and what the comparison was then.
    fn probe(
        &mut self,
        look: &mut Look<'_>,
        call: &Call,
        comparison: &Comparison,
        slot: Slot,
        number: U256,
    ) -> Option<(bool, Option<Comparison>)> {
        let changed = slots::with(self.target, call, look.moment, slot, number)?;
        self.spend(look, comparison, 1);
        let (is_new, comparisons) = self.compared(look, changed);
        let place = (comparison.code, comparison.offset);
        let there = comparisons.into_iter().find(|other| (other.code, other.offset) == place);
        Some((is_new, there))
    }

    /// A number may have been stored by an earlier call; true if changing it there showed something new.
    fn turn_earlier(&mut self, look: &mut Look<'_>, comparison: &Comparison) -> bool {
        let mut found = false;
        for at in (look.at.saturating_sub(REACH)..look.at).rev() {
            let call = &look.calls[at];
            if self.is_overdue() {
                return found;
            }
            for (slot, number) in slots::slots(self.target, call, look.moment) {
                // Zero and one are everywhere.
                if !matches!(slot, Slot::Word(_) | Slot::Value) || number <= U256::ONE {
                    continue;
                }
                let Some(candidates) = solve::direct(comparison, number) else { continue };
                for candidate in candidates {
                    let changed = slots::with(self.target, call, look.moment, slot, candidate);
                    if let Some(changed) = changed {
                        found |= self.attempt_earlier(look, comparison, at, changed);
                    }
                }
            }
        }
        found
    }

    /// Runs everything again with another call at `at`; true if that showed something new.
    fn attempt_earlier(
        &mut self,
        look: &mut Look<'_>,
        comparison: &Comparison,
        at: usize,
        changed: Call,
    ) -> bool {
        let calls = 1 + look.at - at;
        self.spend(look, comparison, calls);
        self.restart();
        self.replay(&look.calls[..at]);
        let mut is_new = self.step(changed);
        for call in &look.calls[at + 1..=look.at] {
            is_new |= self.step(call.clone());
        }
        // The mark of the look lies in a past that no longer is.
        self.restart();
        self.replay(&look.calls[..look.at]);
        look.before = self.machine.mark();
        is_new
    }
}

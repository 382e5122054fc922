//! Hill climbing for optimization tests: changes one number of one call at a time, in steps that double while they help.

use alloy_primitives::U256;

use super::input_slots::{self, CallTiming, InputSlot};
use super::worker::FuzzWorker;
use crate::call::SequenceCall;

/// Maximum steps in one direction.
const MAX_STEPS: usize = 64;

impl FuzzWorker<'_> {
    /// Tries to increase the result of a test by changing one number of its best sequence.
    pub(super) fn climb_best_sequence(&mut self) {
        let Some((test, entry)) = self.corpus.pool.pick_best(&mut self.inputs.rng) else { return };
        let calls = entry.calls.clone();
        if calls.is_empty() {
            return;
        }
        let at = self.inputs.rng.usize(0..calls.len());
        if !self.should_vary_call(&calls[at]) {
            return;
        }
        self.restart_sequence();
        self.replay_calls(&calls[..at]);
        let (time, block) = self.machine.now();
        let moment = CallTiming {
            time,
            block,
            max_seconds: self.settings.max_time_delay,
            max_blocks: self.settings.max_block_delay,
        };
        let slots = input_slots::list_slots(self.target, &calls[at], moment);
        if slots.is_empty() {
            return;
        }
        let (slot, number) = slots[self.inputs.rng.usize(0..slots.len())];
        let up = |number: U256, step: U256| number.wrapping_add(step);
        let down = |number: U256, step: U256| number.wrapping_sub(step);
        let climb = HillClimb { test, calls: &calls, at, moment, slot };
        if !self.climb_direction(&climb, number, up) {
            self.climb_direction(&climb, number, down);
        }
    }

    /// Steps in one direction while the result improves. Returns true if it improved at all.
    fn climb_direction(
        &mut self,
        climb: &HillClimb<'_>,
        mut number: U256,
        go: impl Fn(U256, U256) -> U256,
    ) -> bool {
        let mut step = U256::ONE;
        let mut has_helped = false;
        for _ in 0..MAX_STEPS {
            let next = go(number, step);
            if self.try_number(climb, next) {
                has_helped = true;
                number = next;
                step <<= 1_usize;
            } else if step > U256::ONE {
                step = U256::ONE;
            } else {
                break;
            }
        }
        has_helped
    }

    /// Runs the sequence with another number in the slot. Returns true if the test reached a new maximum.
    fn try_number(&mut self, climb: &HillClimb<'_>, number: U256) -> bool {
        let call = &climb.calls[climb.at];
        let changed = input_slots::with_slot(self.target, call, climb.moment, climb.slot, number);
        let Some(changed) = changed.filter(|_| !self.is_at_limit()) else { return false };
        let before = self.tests.best.get(&climb.test).map(|(best, _)| *best);
        self.restart_sequence();
        self.replay_calls(&climb.calls[..climb.at]);
        self.run_call(changed);
        for call in &climb.calls[climb.at + 1..] {
            self.run_call(call.clone());
        }
        self.tests.best.get(&climb.test).map(|(best, _)| *best) > before
    }
}

/// The slot that is being changed, and its sequence.
struct HillClimb<'a> {
    test: usize,
    calls: &'a [SequenceCall],
    at: usize,
    moment: CallTiming,
    slot: InputSlot,
}

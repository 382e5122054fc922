//! Makes the numbers larger that tests return: one number of one call at a time, in steps that grow as long as they help.

use alloy_primitives::U256;

use super::slots::{self, Moment, Slot};
use super::worker::Worker;
use crate::call::Call;

/// Steps in one direction.
const MAX_STEPS: usize = 64;

impl Worker<'_> {
    /// Changes one number of the best sequence of a test.
    pub(super) fn climb(&mut self) {
        let Some((test, entry)) = self.corpus.pool.pick_best(&mut self.inputs.rng) else { return };
        let calls = entry.calls.clone();
        if calls.is_empty() {
            return;
        }
        let at = self.inputs.rng.usize(0..calls.len());
        if !self.is_wanted(&calls[at]) {
            return;
        }
        self.restart();
        self.replay(&calls[..at]);
        let (time, block) = self.machine.now();
        let moment = Moment {
            time,
            block,
            max_seconds: self.settings.max_time_delay,
            max_blocks: self.settings.max_block_delay,
        };
        let slots = slots::slots(self.target, &calls[at], moment);
        if slots.is_empty() {
            return;
        }
        let (slot, number) = slots[self.inputs.rng.usize(0..slots.len())];
        let up = |number: U256, step: U256| number.wrapping_add(step);
        let down = |number: U256, step: U256| number.wrapping_sub(step);
        let hill = Hill { test, calls: &calls, at, moment, slot };
        if !self.walk(&hill, number, up) {
            self.walk(&hill, number, down);
        }
    }

    /// Goes one way while it helps; true if it helped at all.
    fn walk(&mut self, hill: &Hill<'_>, mut number: U256, go: impl Fn(U256, U256) -> U256) -> bool {
        let mut step = U256::ONE;
        let mut has_helped = false;
        for _ in 0..MAX_STEPS {
            let next = go(number, step);
            if self.try_number(hill, next) {
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

    fn try_number(&mut self, hill: &Hill<'_>, number: U256) -> bool {
        let call = &hill.calls[hill.at];
        let changed = slots::with(self.target, call, hill.moment, hill.slot, number);
        let Some(changed) = changed.filter(|_| !self.is_at_limit()) else { return false };
        let before = self.tests.best.get(&hill.test).map(|(best, _)| *best);
        self.restart();
        self.replay(&hill.calls[..hill.at]);
        self.step(changed);
        for call in &hill.calls[hill.at + 1..] {
            self.step(call.clone());
        }
        self.tests.best.get(&hill.test).map(|(best, _)| *best) > before
    }
}

/// Where one climbs.
struct Hill<'a> {
    test: usize,
    calls: &'a [Call],
    at: usize,
    moment: Moment,
    slot: Slot,
}

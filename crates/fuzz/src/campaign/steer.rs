//! What somebody wants of a worker: sequences that they thought of, and functions that they find important.

use std::sync::Arc;

use super::commands::{self, Command, Injection};
use super::pool::Entry;
use super::worker::Worker;
use crate::call::Call;

/// Changed copies of a sequence that somebody injected.
const VARIANTS: usize = 16;

/// While functions are preferred, one in so many calls that are known already may be of another function.
const OTHERS: u8 = 10;

/// While functions are preferred, new calls for each known one that leads to where they begin.
const NEW_FOR_KNOWN: u64 = 9;

impl Worker<'_> {
    /// Does what it was told.
    pub(super) fn obey(&mut self, command: &Command) {
        commands::apply(command, &mut self.inputs.choice.priorities);
        if let Command::Inject(injection) = command {
            self.inject(injection);
        }
    }

    /// Runs a sequence as it was written, and then changed copies of it. All holes are filled anew each time.
    fn inject(&mut self, injection: &Injection) {
        self.begin_stretch();
        self.restart();
        self.sequence.is_injecting = true;
        for step in &injection.steps {
            if self.shared.is_stopped() {
                break;
            }
            let call = self.generator().fill(step, injection.sender, injection.value);
            self.step(call);
        }
        self.sequence.is_injecting = false;
        self.keep_injected();
        for _ in 0..VARIANTS {
            self.restart();
            for step in &injection.steps {
                if self.is_at_limit() {
                    return;
                }
                let mut call = self.generator().fill(step, injection.sender, injection.value);
                if self.inputs.rng.bool() {
                    self.generator().mutate(&mut call);
                }
                self.step(call);
            }
        }
    }

    /// Goes on from what was injected later, too, whether or not it showed anything. The corpus has only what did.
    fn keep_injected(&mut self) {
        if self.sequence.calls.is_empty() {
            return;
        }
        let (calls, gas) = (self.sequence.calls.clone(), self.sequence.gas.clone());
        let entry = Arc::new(Entry { calls, gas, edges: Vec::new() });
        self.corpus.pool.add(entry.clone());
        self.corpus.unexamined.push_back(entry);
    }

    /// True if some functions are to be called more often than others.
    pub(super) fn is_steered(&self) -> bool {
        !self.inputs.choice.priorities.is_empty()
    }

    /// Whether a known call is worth being looked into, changed or repeated: all are, unless some functions are preferred.
    pub(super) fn is_wanted(&mut self, call: &Call) -> bool {
        !self.is_steered()
            || call.function().is_some_and(|it| self.inputs.choice.priorities.contains(&it))
            || self.inputs.rng.u8(0..OTHERS) == 0
    }

    /// Goes to a point of a known sequence, and from there with new calls only, until there are enough of these.
    pub(super) fn go_on_steered(&mut self, entry: &Entry) {
        // There is room for a new call at least.
        let max = self.settings.sequence_length.get() - 1;
        let cut = self.inputs.rng.usize(0..=entry.calls.len().min(max));
        self.restart();
        self.replay(&entry.calls[..cut]);
        self.begin_stretch();
        let mark = self.machine.mark();
        let enough = self.progress.calls + NEW_FOR_KNOWN * cut as u64;
        loop {
            self.tail_steered(entry, cut);
            if self.progress.calls >= enough || self.is_at_limit() {
                return;
            }
            self.machine.rewind(&mark);
            self.truncate(cut);
        }
    }

    /// One way to go on: a known call of a preferred function, changed, or not; then new ones.
    fn tail_steered(&mut self, entry: &Entry, cut: usize) {
        let near = entry.calls[..cut].last().or(entry.calls.first()).cloned();
        if let Some(mut again) = near
            && self.inputs.rng.bool()
            && self.is_wanted(&again)
        {
            self.generator().mutate(&mut again);
            self.step(again);
        }
        self.wander_a_little(self.settings.sequence_length.get());
    }
}

//! Applies commands in a worker: injected sequences and prioritized functions.

use std::sync::Arc;

use super::commands::{self, CampaignCommand, SequenceInjection};
use super::pool::CorpusEntry;
use super::worker::FuzzWorker;
use crate::call::SequenceCall;

/// Mutated copies that are run of an injected sequence.
const VARIANTS: usize = 16;

/// While functions are prioritized, one in this many known calls may be of another function.
const OTHER_FUNCTION_ODDS: u8 = 10;

/// While functions are prioritized, new calls for each replayed one.
const NEW_CALLS_PER_REPLAYED: u64 = 9;

impl FuzzWorker<'_> {
    /// Applies a command.
    pub(super) fn apply_command(&mut self, command: &CampaignCommand) {
        commands::apply_to_priorities(command, &mut self.inputs.choice.priorities);
        if let CampaignCommand::Inject(injection) = command {
            self.inject_sequence(injection);
        }
    }

    /// Runs an injected sequence as written, then mutated copies of it. Holes are filled anew each time.
    fn inject_sequence(&mut self, injection: &SequenceInjection) {
        self.begin_stretch();
        self.restart_sequence();
        self.sequence.is_injecting = true;
        for step in &injection.steps {
            if self.shared.is_stopped() {
                break;
            }
            let call = self.new_generator().fill_step(step, injection.sender, injection.value);
            self.run_call(call);
        }
        self.sequence.is_injecting = false;
        self.keep_injected();
        for _ in 0..VARIANTS {
            self.restart_sequence();
            for step in &injection.steps {
                if self.is_at_limit() {
                    return;
                }
                let mut call =
                    self.new_generator().fill_step(step, injection.sender, injection.value);
                if self.inputs.rng.bool() {
                    self.new_generator().mutate_call(&mut call);
                }
                self.run_call(call);
            }
        }
    }

    /// Adds the injected sequence to the pool, so that it is extended later even if it reached no new branches.
    ///
    /// The shared corpus receives it only if it did.
    fn keep_injected(&mut self) {
        if self.sequence.calls.is_empty() {
            return;
        }
        let (calls, gas) = (self.sequence.calls.clone(), self.sequence.gas.clone());
        let entry = Arc::new(CorpusEntry { calls, gas, edges: Vec::new() });
        self.corpus.pool.add(entry.clone());
        self.corpus.unexamined.push_back(entry);
    }

    /// Returns true if some functions are prioritized.
    pub(super) fn has_priorities(&self) -> bool {
        !self.inputs.choice.priorities.is_empty()
    }

    /// Returns true if a known call should be examined, mutated or repeated.
    ///
    /// Without priorities this is always true; otherwise mostly for prioritized functions.
    pub(super) fn should_vary_call(&mut self, call: &SequenceCall) -> bool {
        !self.has_priorities()
            || call.function().is_some_and(|it| self.inputs.choice.priorities.contains(&it))
            || self.inputs.rng.u8(0..OTHER_FUNCTION_ODDS) == 0
    }

    /// Replays a known sequence up to some point and continues with new calls, until there are enough of them.
    pub(super) fn extend_entry_steered(&mut self, entry: &CorpusEntry) {
        // Leaves room for at least one new call.
        let max = self.settings.sequence_length.get() - 1;
        let cut = self.inputs.rng.usize(0..=entry.calls.len().min(max));
        self.restart_sequence();
        self.replay_calls(&entry.calls[..cut]);
        self.begin_stretch();
        let mark = self.machine.checkpoint();
        let enough = self.progress.calls + NEW_CALLS_PER_REPLAYED * cut as u64;
        loop {
            self.run_tail_steered(entry, cut);
            if self.progress.calls >= enough || self.is_at_limit() {
                return;
            }
            self.machine.rewind(&mark);
            self.truncate_sequence(cut);
        }
    }

    /// Runs one continuation: possibly a mutated known call, then new calls.
    fn run_tail_steered(&mut self, entry: &CorpusEntry, cut: usize) {
        let near = entry.calls[..cut].last().or(entry.calls.first()).cloned();
        if let Some(mut again) = near
            && self.inputs.rng.bool()
            && self.should_vary_call(&again)
        {
            self.new_generator().mutate_call(&mut again);
            self.run_call(again);
        }
        self.run_some_new_calls(self.settings.sequence_length.get());
    }
}

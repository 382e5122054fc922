//! Shrinks a failing sequence: fewer calls first, then simpler ones.
//!
//! A candidate is accepted if the same test still fails at the same site. The passes repeat until none of them improves
//! the sequence, or the tries are used up. Shrinking proceeds one try at a time, so that a worker can interleave other work.
//! This module only proposes candidates; the worker executes them.

mod simplify;

use alloy_primitives::Address;

use crate::abi::{AbiType, AbiValue, clamp_to_type};
use crate::call::{CallPayload, SequenceCall};
use crate::target::FuzzTarget;

/// Maximum length of sequences from which any two calls are removed together, because one call may undo another.
const MAX_PAIRS: usize = 12;

/// Shrinks one sequence, candidate by candidate.
#[derive(Clone, Debug)]
pub(super) struct SequenceShrinker {
    best: Vec<SequenceCall>,
    candidates: std::vec::IntoIter<ShrinkCandidate>,
    /// Calls that the current pass removes at once; 0 in the pass that simplifies calls.
    chunk: usize,
    /// The sequence has shrunk since the last full cycle of passes.
    has_improved: bool,
    tries_left: u32,
    first_sender: Address,
}

/// A change to try.
#[derive(Clone, Debug)]
enum ShrinkCandidate {
    /// Removes these calls. With `keep_delay`, their delays are added to the next call.
    Remove { at: usize, count: usize, keep_delay: bool },
    /// Removes these two calls.
    RemoveBoth { first: usize, second: usize },
    /// Replaces two calls of the same function by one, with the sums of their numbers.
    Merge { first: usize, second: usize },
    /// Replaces one account by another in senders and arguments.
    ReplaceAccount { from: Address, to: Address },
    /// Replaces one call.
    ReplaceCall { at: usize, call: SequenceCall },
}

impl SequenceShrinker {
    pub(super) fn new(calls: Vec<SequenceCall>, tries: u32, first_sender: Address) -> Self {
        let chunk = calls.len().div_ceil(2);
        let mut shrinker = Self {
            best: calls,
            candidates: Vec::new().into_iter(),
            chunk,
            has_improved: false,
            tries_left: tries,
            first_sender,
        };
        shrinker.candidates = shrinker.list_removals(chunk);
        shrinker
    }

    pub(super) fn best(&self) -> &[SequenceCall] {
        &self.best
    }

    /// Returns the next sequence to try, or `None` when shrinking is finished.
    pub(super) fn next_candidate(&mut self, target: &FuzzTarget) -> Option<Vec<SequenceCall>> {
        loop {
            if self.tries_left == 0 {
                return None;
            }
            match self.candidates.next() {
                Some(candidate) => {
                    let Some(calls) = self.apply_candidate(&candidate, target) else { continue };
                    self.tries_left -= 1;
                    return Some(calls);
                }
                None => self.start_next_pass(target)?,
            }
        }
    }

    /// Accepts the last candidate, which still fails, and continues from it.
    pub(super) fn accept_candidate(&mut self, calls: Vec<SequenceCall>, target: &FuzzTarget) {
        self.best = calls;
        self.has_improved = true;
        self.candidates = if self.chunk > 0 {
            self.list_removals(self.chunk)
        } else {
            self.list_simplifications(target)
        };
    }

    fn start_next_pass(&mut self, target: &FuzzTarget) -> Option<()> {
        if self.chunk > 1 {
            self.chunk = self.chunk.div_ceil(2).min(self.chunk - 1);
            self.candidates = self.list_removals(self.chunk);
        } else if self.chunk == 1 {
            self.chunk = 0;
            self.candidates = self.list_simplifications(target);
        } else if self.has_improved {
            self.has_improved = false;
            self.chunk = self.best.len().div_ceil(4).max(1);
            self.candidates = self.list_removals(self.chunk);
        } else {
            return None;
        }
        Some(())
    }

    fn list_removals(&self, count: usize) -> std::vec::IntoIter<ShrinkCandidate> {
        let mut removals = Vec::new();
        let mut at = 0;
        while at < self.best.len() {
            let count = count.min(self.best.len() - at);
            let waits = self.best[at..at + count].iter().any(|call| !call.delay.is_zero());
            removals.push(ShrinkCandidate::Remove { at, count, keep_delay: false });
            if waits && at + count < self.best.len() {
                removals.push(ShrinkCandidate::Remove { at, count, keep_delay: true });
            }
            at += count;
        }
        removals.into_iter()
    }

    /// Returns the pairs of calls to remove together or to merge.
    fn list_pairs(&self) -> Vec<ShrinkCandidate> {
        let length = self.best.len();
        let mut found = Vec::new();
        for first in 0..length {
            for second in first + 1..length {
                if length <= MAX_PAIRS && second > first + 1 {
                    found.push(ShrinkCandidate::RemoveBoth { first, second });
                }
                let (a, b) = (&self.best[first], &self.best[second]);
                let is_near = second == first + 1 || length <= MAX_PAIRS;
                if is_near && a.function().is_some() && a.function() == b.function() {
                    found.push(ShrinkCandidate::Merge { first, second });
                }
            }
        }
        found
    }

    fn list_simplifications(&self, target: &FuzzTarget) -> std::vec::IntoIter<ShrinkCandidate> {
        let mut found = self.list_pairs();
        let mut senders: Vec<Address> = self.best.iter().map(|call| call.from).collect();
        senders.sort_unstable();
        senders.dedup();
        let to = self.first_sender;
        let others = senders.into_iter().filter(|sender| *sender != to);
        found.extend(others.map(|from| ShrinkCandidate::ReplaceAccount { from, to }));
        for (at, call) in self.best.iter().enumerate() {
            let simpler = simplify::simplify_call(target, call, self.first_sender);
            found.extend(simpler.into_iter().map(|call| ShrinkCandidate::ReplaceCall { at, call }));
        }
        found.into_iter()
    }

    /// Returns the changed sequence, or `None` if the change cannot be applied.
    fn apply_candidate(
        &self,
        candidate: &ShrinkCandidate,
        target: &FuzzTarget,
    ) -> Option<Vec<SequenceCall>> {
        let mut calls = self.best.clone();
        match candidate {
            ShrinkCandidate::Remove { at, count, keep_delay } => {
                let removed: Vec<SequenceCall> = calls.drain(*at..*at + *count).collect();
                if *keep_delay && let Some(next) = calls.get_mut(*at) {
                    for call in removed {
                        next.delay.seconds = next.delay.seconds.saturating_add(call.delay.seconds);
                        next.delay.blocks = next.delay.blocks.saturating_add(call.delay.blocks);
                    }
                }
            }
            ShrinkCandidate::RemoveBoth { first, second } => {
                calls.remove(*second);
                calls.remove(*first);
            }
            ShrinkCandidate::Merge { first, second } => {
                let removed = calls.remove(*first);
                let kept = &mut calls[*second - 1];
                *kept = merge_calls(target, &removed, kept)?;
            }
            ShrinkCandidate::ReplaceAccount { from, to } => {
                let (from, to) = (*from, *to);
                let (old, new) = (AbiValue::from_address(from), AbiValue::from_address(to));
                for call in &mut calls {
                    if call.from == from {
                        call.from = to;
                    }
                    if let CallPayload::Function { args, .. } = &mut call.payload {
                        args.iter_mut()
                            .filter(|arg| **arg == old)
                            .for_each(|arg| *arg = new.clone());
                    }
                }
            }
            ShrinkCandidate::ReplaceCall { at, call } => calls[*at] = call.clone(),
        }
        Some(calls)
    }
}

/// Returns one call for two of the same function: numbers are added, all other arguments must be equal.
///
/// Returns `None` if the arguments differ or a sum overflows.
fn merge_calls(
    target: &FuzzTarget,
    first: &SequenceCall,
    second: &SequenceCall,
) -> Option<SequenceCall> {
    let (CallPayload::Function { function, args }, CallPayload::Function { args: others, .. }) =
        (&first.payload, &second.payload)
    else {
        return None;
    };
    let types = &target.function(*function).inputs;
    let mut sums = Vec::with_capacity(args.len());
    for ((ty, a), b) in types.iter().zip(args).zip(others) {
        sums.push(match (ty, a, b) {
            (AbiType::Uint(_) | AbiType::Int(_), AbiValue::Word(a), AbiValue::Word(b)) => {
                let sum = a.wrapping_add(*b);
                // A sum outside the range of the type would be truncated to an unrelated number.
                if clamp_to_type(ty, sum) != sum || matches!(ty, AbiType::Uint(256)) && sum < *a {
                    return None;
                }
                AbiValue::Word(sum)
            }
            _ if a == b => a.clone(),
            _ => return None,
        });
    }
    Some(SequenceCall {
        payload: CallPayload::Function { function: *function, args: sums },
        value: first.value.checked_add(second.value)?,
        ..second.clone()
    })
}

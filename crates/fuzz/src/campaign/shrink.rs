//! Makes a failing sequence small: fewer calls, then simpler ones.
//!
//! A candidate counts if the same test still fails at the same place. The passes are repeated until none of them finds
//! anything, or the tries are used up. It goes try by try, so that a worker can do other things in between.

mod simpler;

use alloy_primitives::Address;

use crate::abi::{Type, Value, clamp};
use crate::call::{Call, What};
use crate::target::Target;

/// Sequences up to this length are tried without any two of their calls: one may undo the other.
const MAX_PAIRS: usize = 12;

/// A sequence on its way to becoming small.
#[derive(Clone, Debug)]
pub(super) struct Shrinker {
    best: Vec<Call>,
    candidates: std::vec::IntoIter<Candidate>,
    /// How many calls the next pass takes away at once; 0 when calls are made simpler.
    chunk: usize,
    /// Something became smaller since the last time that everything was tried.
    has_improved: bool,
    tries_left: u32,
    first_sender: Address,
}

/// Something to try.
#[derive(Clone, Debug)]
enum Candidate {
    /// Without these calls; what they waited for is waited for later.
    Remove { at: usize, count: usize, keep_wait: bool },
    /// Without these two.
    RemoveBoth { first: usize, second: usize },
    /// One call of the same function instead of two, with the sums of their numbers.
    Merge { first: usize, second: usize },
    /// One account instead of another, wherever it stands.
    Rename { from: Address, to: Address },
    /// With this call instead.
    Replace { at: usize, call: Call },
}

impl Shrinker {
    pub(super) fn new(calls: Vec<Call>, tries: u32, first_sender: Address) -> Self {
        let chunk = calls.len().div_ceil(2);
        let mut shrinker = Self {
            best: calls,
            candidates: Vec::new().into_iter(),
            chunk,
            has_improved: false,
            tries_left: tries,
            first_sender,
        };
        shrinker.candidates = shrinker.removals(chunk);
        shrinker
    }

    pub(super) fn best(&self) -> &[Call] {
        &self.best
    }

    /// The next sequence to try; None when nothing is left.
    pub(super) fn next(&mut self, target: &Target) -> Option<Vec<Call>> {
        loop {
            if self.tries_left == 0 {
                return None;
            }
            match self.candidates.next() {
                Some(candidate) => {
                    let Some(calls) = self.apply(&candidate, target) else { continue };
                    self.tries_left -= 1;
                    return Some(calls);
                }
                None => self.next_pass(target)?,
            }
        }
    }

    /// The sequence that was tried last still fails: go on from it.
    pub(super) fn accept(&mut self, calls: Vec<Call>, target: &Target) {
        self.best = calls;
        self.has_improved = true;
        self.candidates =
            if self.chunk > 0 { self.removals(self.chunk) } else { self.simplifications(target) };
    }

    fn next_pass(&mut self, target: &Target) -> Option<()> {
        if self.chunk > 1 {
            self.chunk = self.chunk.div_ceil(2).min(self.chunk - 1);
            self.candidates = self.removals(self.chunk);
        } else if self.chunk == 1 {
            self.chunk = 0;
            self.candidates = self.simplifications(target);
        } else if self.has_improved {
            self.has_improved = false;
            self.chunk = self.best.len().div_ceil(4).max(1);
            self.candidates = self.removals(self.chunk);
        } else {
            return None;
        }
        Some(())
    }

    fn removals(&self, count: usize) -> std::vec::IntoIter<Candidate> {
        let mut removals = Vec::new();
        let mut at = 0;
        while at < self.best.len() {
            let count = count.min(self.best.len() - at);
            let waits = self.best[at..at + count].iter().any(|call| !call.delay.is_none());
            removals.push(Candidate::Remove { at, count, keep_wait: false });
            if waits && at + count < self.best.len() {
                removals.push(Candidate::Remove { at, count, keep_wait: true });
            }
            at += count;
        }
        removals.into_iter()
    }

    /// Pairs of calls that can go together, or become one.
    fn pairs(&self) -> Vec<Candidate> {
        let length = self.best.len();
        let mut found = Vec::new();
        for first in 0..length {
            for second in first + 1..length {
                if length <= MAX_PAIRS && second > first + 1 {
                    found.push(Candidate::RemoveBoth { first, second });
                }
                let (a, b) = (&self.best[first], &self.best[second]);
                let is_near = second == first + 1 || length <= MAX_PAIRS;
                if is_near && a.function().is_some() && a.function() == b.function() {
                    found.push(Candidate::Merge { first, second });
                }
            }
        }
        found
    }

    fn simplifications(&self, target: &Target) -> std::vec::IntoIter<Candidate> {
        let mut found = self.pairs();
        let mut senders: Vec<Address> = self.best.iter().map(|call| call.from).collect();
        senders.sort_unstable();
        senders.dedup();
        let to = self.first_sender;
        let others = senders.into_iter().filter(|sender| *sender != to);
        found.extend(others.map(|from| Candidate::Rename { from, to }));
        for (at, call) in self.best.iter().enumerate() {
            let simpler = simpler::calls(target, call, self.first_sender);
            found.extend(simpler.into_iter().map(|call| Candidate::Replace { at, call }));
        }
        found.into_iter()
    }

    /// None if the candidate is no sequence.
    fn apply(&self, candidate: &Candidate, target: &Target) -> Option<Vec<Call>> {
        let mut calls = self.best.clone();
        match candidate {
            Candidate::Remove { at, count, keep_wait } => {
                let removed: Vec<Call> = calls.drain(*at..*at + *count).collect();
                if *keep_wait && let Some(next) = calls.get_mut(*at) {
                    for call in removed {
                        next.delay.seconds = next.delay.seconds.saturating_add(call.delay.seconds);
                        next.delay.blocks = next.delay.blocks.saturating_add(call.delay.blocks);
                    }
                }
            }
            Candidate::RemoveBoth { first, second } => {
                calls.remove(*second);
                calls.remove(*first);
            }
            Candidate::Merge { first, second } => {
                let removed = calls.remove(*first);
                let kept = &mut calls[*second - 1];
                *kept = merged(target, &removed, kept)?;
            }
            Candidate::Rename { from, to } => {
                let (from, to) = (*from, *to);
                let (old, new) = (Value::address(from), Value::address(to));
                for call in &mut calls {
                    if call.from == from {
                        call.from = to;
                    }
                    if let What::Function { args, .. } = &mut call.what {
                        args.iter_mut()
                            .filter(|arg| **arg == old)
                            .for_each(|arg| *arg = new.clone());
                    }
                }
            }
            Candidate::Replace { at, call } => calls[*at] = call.clone(),
        }
        Some(calls)
    }
}

/// One call for two of the same function: numbers are added up, everything else must be equal.
fn merged(target: &Target, first: &Call, second: &Call) -> Option<Call> {
    let (What::Function { function, args }, What::Function { args: others, .. }) =
        (&first.what, &second.what)
    else {
        return None;
    };
    let types = &target.function(*function).inputs;
    let mut sums = Vec::with_capacity(args.len());
    for ((ty, a), b) in types.iter().zip(args).zip(others) {
        sums.push(match (ty, a, b) {
            (Type::Uint(_) | Type::Int(_), Value::Word(a), Value::Word(b)) => {
                let sum = a.wrapping_add(*b);
                // What has no room in the type would be another number altogether.
                if clamp(ty, sum) != sum || matches!(ty, Type::Uint(256)) && sum < *a {
                    return None;
                }
                Value::Word(sum)
            }
            _ if a == b => a.clone(),
            _ => return None,
        });
    }
    Some(Call {
        what: What::Function { function: *function, args: sums },
        value: first.value.checked_add(second.value)?,
        ..second.clone()
    })
}

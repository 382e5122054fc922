//! What somebody who watches tells the workers to do.
//!
//! A command takes effect in all workers at the beginning of the same round, which none of them has begun when it is
//! given. So it is known before it takes effect when that will be, and a campaign can be repeated with its commands.

use std::sync::{Mutex, PoisonError};

use crate::call::Call;
use crate::target::FunctionId;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run these calls, then others like them.
    Inject(Vec<Call>),
    /// Call this function more often.
    Prioritize(FunctionId),
    /// Call no function more often than others.
    ClearPriorities,
}

/// The commands of a campaign, by round.
#[derive(Debug)]
pub(super) struct Commands {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    given: Vec<(u64, Command)>,
    /// The round that each worker is in.
    rounds: Vec<u64>,
}

impl Commands {
    pub(super) fn new(workers: usize, given: Vec<(u64, Command)>) -> Self {
        Self { inner: Mutex::new(Inner { given, rounds: vec![0; workers] }) }
    }

    /// Gives a command; `note` is told the round before any worker can see it.
    pub(super) fn give<E>(
        &self,
        command: Command,
        note: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let round = inner.rounds.iter().max().copied().unwrap_or(0) + 1;
        note(round)?;
        inner.given.push((round, command));
        Ok(round)
    }

    /// The worker begins a round: what it is to do then.
    pub(super) fn begin(&self, worker: usize, round: u64) -> Vec<Command> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.rounds[worker] = round;
        let now = inner.given.iter().filter(|(at, _)| *at == round);
        now.map(|(_, command)| command.clone()).collect()
    }

    /// The last that were given, the newest first, with the rounds in which they take effect.
    pub(super) fn last(&self, count: usize) -> Vec<(u64, Command)> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.given.iter().rev().take(count).cloned().collect()
    }

    /// The round that each worker is in.
    pub(super) fn rounds(&self) -> Vec<u64> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).rounds.clone()
    }
}

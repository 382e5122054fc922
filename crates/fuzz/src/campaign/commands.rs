//! What somebody who watches tells the workers to do.
//!
//! A command takes effect in all workers at the beginning of the same round, which none of them has begun when it is
//! given. So it is known before it takes effect when that will be, and a campaign can be repeated with its commands.

use alloy_primitives::{Address, U256};
use parking_lot::Mutex;

use crate::script::Step;
use crate::target::FunctionId;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run these calls, then others like them.
    Inject(Injection),
    /// Call this function more often.
    Prioritize(FunctionId),
    /// Call no function more often than others.
    ClearPriorities,
}

/// A sequence that somebody thought of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    pub steps: Vec<Step>,
    /// Who makes the calls.
    pub sender: Address,
    /// Wei that go with each call of a function that takes some.
    pub value: U256,
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
        let mut inner = self.inner.lock();
        let round = inner.next();
        note(round)?;
        inner.given.push((round, command));
        Ok(round)
    }

    /// The worker begins a round: what it is to do then.
    pub(super) fn begin(&self, worker: usize, round: u64) -> Vec<Command> {
        let mut inner = self.inner.lock();
        inner.rounds[worker] = round;
        let now = inner.given.iter().filter(|(at, _)| *at == round);
        now.map(|(_, command)| command.clone()).collect()
    }

    /// The functions that are called more often, as far as commands have taken effect or are about to.
    pub(super) fn priorities(&self) -> Vec<FunctionId> {
        let inner = self.inner.lock();
        let next = inner.next();
        let mut given: Vec<_> = inner.given.iter().filter(|(round, _)| *round <= next).collect();
        // Those of an earlier campaign and those of now may come in any order.
        given.sort_by_key(|(round, _)| *round);
        let mut priorities = Vec::new();
        for (_, command) in given {
            apply(command, &mut priorities);
        }
        priorities
    }

    /// The last that were given, the newest first, with the rounds in which they take effect.
    pub(super) fn last(&self, count: usize) -> Vec<(u64, Command)> {
        self.inner.lock().given.iter().rev().take(count).cloned().collect()
    }

    /// The round that each worker is in.
    pub(super) fn rounds(&self) -> Vec<u64> {
        self.inner.lock().rounds.clone()
    }
}

impl Inner {
    /// The first round that no worker has begun.
    fn next(&self) -> u64 {
        self.rounds.iter().max().copied().unwrap_or(0) + 1
    }
}

/// What a command makes of the functions that are called more often.
pub(super) fn apply(command: &Command, priorities: &mut Vec<FunctionId>) {
    match command {
        Command::Inject(_) => {}
        Command::Prioritize(function) if priorities.contains(function) => {}
        Command::Prioritize(function) => priorities.push(*function),
        Command::ClearPriorities => priorities.clear(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priorities_are_what_the_commands_make_them() {
        let [one, two, three] = [1, 2, 3].map(FunctionId);
        // One of an earlier campaign, and one whose time has not come.
        let earlier = vec![(1, Command::Prioritize(one)), (50, Command::Prioritize(three))];
        let commands = Commands::new(2, earlier);
        assert_eq!(commands.priorities(), [one]);
        for command in [two, one, two].map(Command::Prioritize) {
            let given: Result<u64, ()> = commands.give(command, |_| Ok(()));
            assert_eq!(given, Ok(1));
        }
        assert_eq!(commands.priorities(), [one, two]);
        commands.begin(1, 49);
        assert_eq!(commands.priorities(), [one, two, three]);
        let given: Result<u64, ()> = commands.give(Command::ClearPriorities, |_| Ok(()));
        assert_eq!((given, commands.priorities()), (Ok(50), Vec::new()));
    }

    #[test]
    fn what_cannot_be_noted_is_not_done() {
        let commands = Commands::new(1, Vec::new());
        let given = commands.give(Command::ClearPriorities, |_| Err("the disk is full"));
        assert_eq!(given, Err("the disk is full"));
        assert!(commands.begin(0, 1).is_empty());
    }
}

//! Commands that steer the workers.
//!
//! A command takes effect in all workers at the start of the same round, one that no worker has begun when the command is
//! issued. The round is therefore known in advance, and a campaign can be repeated together with its commands.

use alloy_primitives::{Address, U256};
use parking_lot::Mutex;

use crate::script::ScriptStep;
use crate::target::FunctionId;

/// A command to all workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CampaignCommand {
    /// Run these calls, then mutated copies of them.
    Inject(SequenceInjection),
    /// Call this function more often.
    Prioritize(FunctionId),
    /// Stop prioritizing functions.
    ClearPriorities,
}

/// A user-written sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceInjection {
    pub steps: Vec<ScriptStep>,
    /// Sender of all calls.
    pub sender: Address,
    /// Wei sent with each call of a payable function.
    pub value: U256,
}

/// The commands of a campaign, by round.
#[derive(Debug)]
pub(super) struct CommandSchedule {
    inner: Mutex<CommandScheduleState>,
}

#[derive(Debug)]
struct CommandScheduleState {
    issued: Vec<(u64, CampaignCommand)>,
    /// Current round of each worker.
    rounds: Vec<u64>,
}

impl CommandSchedule {
    pub(super) fn new(workers: usize, issued: Vec<(u64, CampaignCommand)>) -> Self {
        Self { inner: Mutex::new(CommandScheduleState { issued, rounds: vec![0; workers] }) }
    }

    /// Issues a command and returns the round in which it takes effect.
    ///
    /// `note` is called with the round before any worker can see the command. If it fails, the command is not issued.
    pub(super) fn issue<E>(
        &self,
        command: CampaignCommand,
        note: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut inner = self.inner.lock();
        let round = inner.next_round();
        note(round)?;
        inner.issued.push((round, command));
        Ok(round)
    }

    /// Notes that a worker begins a round, and returns the commands that take effect in it.
    pub(super) fn begin_round(&self, worker: usize, round: u64) -> Vec<CampaignCommand> {
        let mut inner = self.inner.lock();
        inner.rounds[worker] = round;
        let now = inner.issued.iter().filter(|(at, _)| *at == round);
        now.map(|(_, command)| command.clone()).collect()
    }

    /// Returns the prioritized functions, including commands that take effect in the next round.
    pub(super) fn priorities(&self) -> Vec<FunctionId> {
        let inner = self.inner.lock();
        let next = inner.next_round();
        let mut issued: Vec<_> = inner.issued.iter().filter(|(round, _)| *round <= next).collect();
        // Commands of an earlier campaign and new ones may be interleaved.
        issued.sort_by_key(|(round, _)| *round);
        let mut priorities = Vec::new();
        for (_, command) in issued {
            apply_to_priorities(command, &mut priorities);
        }
        priorities
    }

    /// Returns the last issued commands, newest first, with the rounds in which they take effect.
    pub(super) fn last_commands(&self, count: usize) -> Vec<(u64, CampaignCommand)> {
        self.inner.lock().issued.iter().rev().take(count).cloned().collect()
    }

    /// Returns the current round of each worker.
    pub(super) fn rounds(&self) -> Vec<u64> {
        self.inner.lock().rounds.clone()
    }
}

impl CommandScheduleState {
    /// Returns the first round that no worker has begun.
    fn next_round(&self) -> u64 {
        self.rounds.iter().max().copied().unwrap_or(0) + 1
    }
}

/// Applies a command to the list of prioritized functions.
pub(super) fn apply_to_priorities(command: &CampaignCommand, priorities: &mut Vec<FunctionId>) {
    match command {
        CampaignCommand::Inject(_) => {}
        CampaignCommand::Prioritize(function) if priorities.contains(function) => {}
        CampaignCommand::Prioritize(function) => priorities.push(*function),
        CampaignCommand::ClearPriorities => priorities.clear(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_follow_issued_commands() {
        let [one, two, three] = [1, 2, 3].map(FunctionId);
        // One from an earlier campaign, and one of a later round.
        let earlier =
            vec![(1, CampaignCommand::Prioritize(one)), (50, CampaignCommand::Prioritize(three))];
        let commands = CommandSchedule::new(2, earlier);
        assert_eq!(commands.priorities(), [one]);
        for command in [two, one, two].map(CampaignCommand::Prioritize) {
            let given: Result<u64, ()> = commands.issue(command, |_| Ok(()));
            assert_eq!(given, Ok(1));
        }
        assert_eq!(commands.priorities(), [one, two]);
        commands.begin_round(1, 49);
        assert_eq!(commands.priorities(), [one, two, three]);
        let given: Result<u64, ()> = commands.issue(CampaignCommand::ClearPriorities, |_| Ok(()));
        assert_eq!((given, commands.priorities()), (Ok(50), Vec::new()));
    }

    #[test]
    fn command_is_not_issued_when_note_fails() {
        let commands = CommandSchedule::new(1, Vec::new());
        let given = commands.issue(CampaignCommand::ClearPriorities, |_| Err("the disk is full"));
        assert_eq!(given, Err("the disk is full"));
        assert!(commands.begin_round(0, 1).is_empty());
    }
}

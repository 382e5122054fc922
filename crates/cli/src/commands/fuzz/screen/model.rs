//! What the screen shows: plain values, made of a campaign by `collect` at one moment. Its texts are safe for a terminal.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) title: String,
    pub(super) state: State,
    pub(super) elapsed: Duration,
    pub(super) calls: u64,
    pub(super) limit: u64,
    /// Calls in a second, lately.
    pub(super) rate: u64,
    /// Outcomes of branches that ran.
    pub(super) branches: usize,
    /// Sequences that are kept to start from.
    pub(super) corpus: usize,
    pub(super) history: Vec<Point>,
    pub(super) tests: Vec<Test>,
    /// The calls of the selected test, as far as they are shown.
    pub(super) reproducer: Vec<String>,
    pub(super) workers: Vec<Worker>,
    /// The newest first.
    pub(super) events: Vec<Event>,
    /// Where agents reach the campaign, if they do.
    pub(super) agents: Option<String>,
    /// What an agent told the campaign to do, the newest first.
    pub(super) commands: Vec<Given>,
    /// Something that a person should know.
    pub(super) trouble: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Running,
    Paused,
    /// No new calls; failures are made small.
    Stopping,
}

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: Duration,
    pub(super) branches: usize,
    /// Calls in a second since the point before.
    pub(super) rate: u64,
}

/// A test, or one of the ways in which it failed.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) name: String,
    /// Where it failed, as `path:line`.
    pub(super) place: Option<String>,
    pub(super) outcome: Outcome,
    /// Calls that it takes to fail, or to reach the number.
    pub(super) calls: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passing,
    /// It failed, and what breaks it is made smaller.
    Shrinking,
    Falsified,
    /// The largest number so far; None if there was none.
    Best(Option<String>),
}

impl Outcome {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Shrinking | Self::Falsified)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) calls: u64,
    pub(super) round: u64,
    pub(super) doing: Doing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Fuzzing,
    /// It fuzzes and makes a failure smaller.
    Shrinking,
    Paused,
    /// Why.
    Ended(String),
}

#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: Duration,
    pub(super) worker: usize,
    pub(super) text: String,
}

/// A command of an agent.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// When it takes effect.
    pub(super) round: u64,
    pub(super) text: String,
}

impl Model {
    pub(super) fn failed(&self) -> usize {
        self.tests.iter().filter(|test| test.outcome.is_failure()).count()
    }
}
